"""The reader's Transformer, trained by the reader's step, translates."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice

import torch
from torch import Tensor

from attnbook.core.vocabulary import PAD
from attnbook.course.kit.exercises.my_transformer import my_part
from attnbook.data.batching import IdPair, id_batch
from attnbook.nn.layers import TransformerConfig
from attnbook.toy.data import SOURCE, TARGET, held_out_pairs, toy_batches
from attnbook.toy.models import SIZES
from attnbook.toy.training import LEARNING_RATE


def my_translator(steps: int = 300) -> Callable[[str], str]:
    """Train the model of ``my_transformer.py`` on the toy language, in half a minute.

    ::

        translate = my_translator()
        translate("the cat paints an old child")

    The Transformer, its training and its greedy decoding are the reader's, where they
    are saved; a line for each says whose it is.

    Args:
        steps: Number of updates, each by 64 sentences of one or two clauses.

    Returns:
        A function that translates a sentence of the toy language. A word that is not
        in ``attnbook.toy.SOURCE.words`` is a ValueError.

    Raises:
        ValueError: If the number of steps is none.
    """
    if not isinstance(steps, int) or steps < 1:
        raise ValueError(
            f"steps is {steps!r}: give the number of updates, such as 300; what comes "
            "back takes the sentences"
        )
    transformer, greedy = my_part("Transformer"), my_part("greedy")
    label_smoothing_loss, train_step = my_part("training")

    def loss(logits: Tensor, targets: Tensor) -> Tensor:
        return label_smoothing_loss(logits, targets).sum() / (targets != PAD).sum()

    def translate(text: str) -> str:
        if not isinstance(text, str):
            raise ValueError(f"{text!r} is no sentence: give its words as one string")
        src = id_batch([IdPair(SOURCE.encode(text.split()), [])]).src
        return " ".join(TARGET.decode(greedy(model, src, max_len=30)[0].tolist()))

    torch.manual_seed(0)
    config = TransformerConfig(len(SOURCE), len(TARGET), **SIZES, norm_first=True)
    model = transformer(config)
    optimizer = torch.optim.Adam(model.parameters())
    for step, batch in enumerate(islice(toy_batches(0, clauses=(1, 2)), steps)):
        optimizer.param_groups[0]["lr"] = LEARNING_RATE * (1 - step / steps)
        train_step(model, optimizer, batch, loss)
    model.eval()
    new = held_out_pairs(clauses=1, number=20)
    right = sum(translate(" ".join(x.source)).split() == [*x.target] for x in new)
    print(f"After {steps} steps {right} of {len(new)} new sentences are right.")
    return translate
