"""Bahdanau's translator when somebody else chooses what it reads, word by word."""

from collections.abc import Iterable, Sequence

import torch
from torch import Tensor

from attnbook.core.vocabulary import BOS, EOS
from attnbook.decoding.steps import token_log_probs
from attnbook.models.bahdanau import Bahdanau, BahdanauState
from attnbook.toy.data import SOURCE, TARGET
from attnbook.toy.language import AND_TARGET, Pair

ITS_OWN = {EOS, TARGET.encode([AND_TARGET])[0]}
"""Output tokens that render no source word: here the decoder attends by itself."""


def read_only(state: BahdanauState, positions: Tensor) -> BahdanauState:
    """The same state with a source of which only some positions can be read."""
    n = len(positions)
    states, keys, _ = state.source
    source = state.source._replace(
        states=states.expand(n, -1, -1), keys=keys.expand(n, -1, -1), mask=positions
    )
    return BahdanauState(state.s.expand(n, -1), source, state.weights)


@torch.no_grad()
def write_by_clicks(
    model: Bahdanau, source: Sequence[str], clicks: Iterable[int]
) -> list[str]:
    """Translate; at each step all weight is on the word clicked.

    Where the model's own attention would give the connective or the end, it does. The
    output also ends when there are no more clicks, and when it is far too long.
    """
    state = model.start(torch.tensor([[*SOURCE.encode(source), EOS]]))
    everything, output, clicks = state.source, [], iter(clicks)
    token = torch.tensor([BOS])
    while len(output) < 2 * len(source) + 8:
        logits, new = model.step(token, state)  # by its own attention
        if token_log_probs(logits).argmax().item() not in ITS_OWN:
            if (click := next(clicks, None)) is None:
                return output
            only = torch.arange(len(source) + 1)[None] == click
            logits, new = model.step(token, read_only(state, only))
        token = token_log_probs(logits).argmax(-1)
        state = new._replace(source=everything)
        if token.item() == EOS:
            return output
        output += TARGET.decode(token.tolist())
    return output


def aligned_clicks(pair: Pair) -> list[int]:
    """The clicks that translate a sentence: its alignment, without the connective."""
    return [j for j in pair.alignment if j is not None]
