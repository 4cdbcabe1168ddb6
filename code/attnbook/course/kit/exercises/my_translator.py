"""The reader's Transformer, trained by the reader's step, translates."""

from collections.abc import Callable, Iterator, Sequence
from itertools import count, islice
from typing import NamedTuple

import torch
from torch import Tensor

from attnbook.core.vocabulary import PAD
from attnbook.course.kit.exercises.my_transformer import my_part
from attnbook.data.batching import Batch, IdPair, id_batch
from attnbook.data.subwords import Subwords
from attnbook.nn.layers import TransformerConfig
from attnbook.toy.data import SOURCE, TARGET, held_out_pairs, toy_batches
from attnbook.toy.models import SIZES
from attnbook.toy.training import LEARNING_RATE
from attnbook.translation.bleu_score import corpus_bleu
from attnbook.translation.configs import CPU
from attnbook.translation.corpora import cut_updates, encode_pairs, load_texts
from attnbook.translation.translator import SHIPPED

NEW = 20
"""Unseen sentences of the toy language that are translated at the end."""
NEW_CAPTIONS = 200


class Language(NamedTuple):
    """What is to be learned, and what of it isn't the reader's."""

    encode: Callable[[str], list[int]]
    decode: Callable[[Sequence[int]], str]
    config: TransformerConfig
    batches: Iterator[Batch]
    warmup: int
    steps: int
    score: Callable[[Callable[[list[str]], list[str]]], str]


def my_translator(
    steps: int | None = None, captions: bool = False
) -> Callable[[str], str]:
    """Train the model of ``my_transformer.py`` on the toy language, in half a minute.

    ::

        translate = my_translator()
        translate("the cat paints an old child")

    The Transformer, its training and its greedy decoding are the reader's, where they
    are saved; a line for each says whose it is.

    Args:
        steps: Number of updates; by default 300 on the toy language, and 2,000 on
            captions.
        captions: Whether to train on Multi30k, whose captions are downloaded, with the
            sizes of the translator of chapter 12. The subwords and the batches of
            similar length are the package's.

    Returns:
        A function that translates a sentence. A word that is not in
        ``attnbook.toy.SOURCE.words`` is a ValueError for the toy language.

    Raises:
        ValueError: If the number of steps is none.
    """
    if steps is not None and (not isinstance(steps, int) or steps < 1):
        raise ValueError(
            f"steps is {steps!r}: give the number of updates, such as 300; what comes "
            "back takes the sentences"
        )
    transformer, greedy = my_part("Transformer"), my_part("greedy")
    label_smoothing_loss, train_step = my_part("training")
    language = _captions() if captions else _toy()
    steps = steps or language.steps

    def loss(logits: Tensor, targets: Tensor) -> Tensor:
        return label_smoothing_loss(logits, targets).sum() / (targets != PAD).sum()

    def translate_all(texts: list[str]) -> list[str]:
        src = id_batch([IdPair(language.encode(text), []) for text in texts]).src
        with torch.no_grad():
            return [*map(language.decode, greedy(model, src, max_len=50).tolist())]

    def translate(text: str) -> str:
        if not isinstance(text, str):
            raise ValueError(f"{text!r} is no sentence: give its words as one string")
        return translate_all([text])[0]

    torch.manual_seed(0)
    model = transformer(language.config)
    optimizer = torch.optim.Adam(model.parameters())
    for step, batch in enumerate(islice(language.batches, steps)):
        rate = LEARNING_RATE * min((step + 1) / language.warmup, 1 - step / steps)
        optimizer.param_groups[0]["lr"] = rate
        found = train_step(model, optimizer, batch, loss)
        if captions and (step + 1) % 250 == 0:
            print(f"{step + 1} of {steps} updates: loss {found:.2f}", flush=True)
    model.eval()
    print(f"After {steps} steps {language.score(translate_all)}.")
    return translate


def _toy() -> Language:
    """The toy language, sentences of one and of two clauses."""

    def score(translate: Callable[[list[str]], list[str]]) -> str:
        new = held_out_pairs(clauses=1, number=NEW)
        outputs = translate([" ".join(pair.source) for pair in new])
        right = sum(
            output.split() == [*pair.target]
            for output, pair in zip(outputs, new, strict=True)
        )
        return f"{right} of {len(new)} new sentences are right"

    return Language(
        lambda text: SOURCE.encode(text.split()),
        lambda ids: " ".join(TARGET.decode(ids)),
        TransformerConfig(len(SOURCE), len(TARGET), **SIZES, norm_first=True),
        toy_batches(0, clauses=(1, 2)),
        *(1, 300, score),
    )


def _captions() -> Language:
    """English captions and German ones, cut into the shipped translator's subwords."""
    subwords = Subwords.load(SHIPPED / "subwords.json")
    pairs = encode_pairs(subwords, load_texts(CPU, "train"))
    new = [side[:NEW_CAPTIONS] for side in load_texts(CPU, "val")]

    def score(translate: Callable[[list[str]], list[str]]) -> str:
        bleu = corpus_bleu(translate(new[0]), new[1]).bleu
        return f"BLEU is {bleu:.1f} on {len(new[0])} new captions"

    names = ("d_model", "n_heads", "n_layers", "d_ff", "dropout", "norm_first")
    sizes = {name: getattr(CPU, name) for name in names}
    epochs = (cut_updates(pairs, CPU, 1, epoch) for epoch in count())
    return Language(
        subwords.encode,
        subwords.decode,
        TransformerConfig(len(subwords), **sizes),
        (id_batch(batch) for epoch in epochs for [batch] in epoch),
        *(200, 2000, score),
    )
