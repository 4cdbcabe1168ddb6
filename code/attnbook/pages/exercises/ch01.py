"""Exercises of chapter 1."""

from __future__ import annotations

from functools import partial

import torch
from torch import Tensor

from attnbook.core.vocabulary import BOS, EOS
from attnbook.pages.exercises.checking import register, wrong
from attnbook.pages.exercises.inputs import drawn

register(
    "ex1_all_but_the_verb",
    reference=(1 / 8, 1 / 64),
    hint="Every clause has one verb, out of eight; the guesses are independent.",
    mistakes=wrong(
        (1 / 8, 1 / 8),
        "Two clauses have two verbs, and both must be right.",
        (1 / 8, 2 / 8),
        "Two guesses must both be right: multiply.",
        (7 / 8, 49 / 64),
        "Those are the shares that it gets wrong at each verb.",
    ),
)


def _sentences() -> list[tuple[list[int]]]:
    return [([7],), ([5, 9, 4],), ([12, 12, 30, 6, 8],)]


register(
    "ex1_shift",
    reference=lambda words: ([BOS, *words], [*words, EOS]),
    inputs=_sentences,
    hint="Two lists: read BOS and the words, say the words and EOS.",
    mistakes=wrong(
        lambda words: ([BOS, *words, EOS], [BOS, *words, EOS]),
        "Both are the same: the decoder would read the very word it is to say.",
        lambda words: ([BOS, *words], [*words]),
        "Nothing tells the decoder when to stop: EOS is missing from the output.",
        lambda words: ([*words], [*words, EOS]),
        "The first word is to be said before any is read: BOS is missing.",
        lambda words: ([*words, EOS], [BOS, *words]),
        "The two have changed places.",
    ),
)


def _states_and_lengths() -> list[tuple[Tensor, Tensor]]:
    short, long = torch.tensor([3, 1]), torch.tensor([2, 5, 4])
    return drawn(((2, 3, 4), short), ((3, 5, 2), long))


def _real(states: Tensor, lengths: Tensor) -> Tensor:
    return (torch.arange(states.shape[1]) < lengths[:, None])[..., None]


register(
    "ex1_last_state",
    reference=lambda states, lengths: states[torch.arange(len(states)), lengths - 1],
    inputs=_states_and_lengths,
    hint="Row i ends at place lengths[i] - 1; index with two tensors at once.",
    mistakes=wrong(
        lambda states, lengths: states[:, -1],
        "You take the last column. In a short sentence that is a pad.",
        lambda states, lengths: states[
            torch.arange(len(states)), lengths.clamp(max=states.shape[1] - 1)
        ],
        "One place too far: counting begins at 0.",
    ),
)

register(
    "ex1_mean_state",
    reference=lambda states, lengths: (
        (states * _real(states, lengths)).sum(1) / lengths[:, None]
    ),
    inputs=_states_and_lengths,
    hint="Sum over the real places only, and divide by each sentence's own length.",
    mistakes=wrong(
        lambda states, lengths: states.mean(1),
        "You divide by S and sum over pads: batch mates change the result.",
        lambda states, lengths: (states * _real(states, lengths)).mean(1),
        "The sum is right, but it is divided by S and not by the real length.",
        lambda states, lengths: states.sum(1) / lengths[:, None],
        "The pads are still in the sum.",
    ),
)


def _decoders() -> list[tuple]:
    """Steps of tiny made-up decoders, whose state is the list of words to come."""

    def step(word, to_come):
        """Go on only from the word said last, given with the state it led to."""
        if word == to_come[0]:
            best, to_come = (to_come[1:] or [EOS])[0], to_come[1:] or [EOS]
        else:
            best = 9 if word == BOS else 8
        return [1.0 if i == best else 0.1 * (i == 3) for i in range(10)], to_come

    return [
        (step, [BOS, 5, 6, EOS], 9),
        (step, [BOS, EOS], 9),
        (step, [BOS, 4, 4, 5, 6, 7], 3),
    ]


def _greedy(step, state, max_len, first=BOS, keep_eos=False, feed=True, carry=True):
    """Decode, rightly or, by its last four arguments, with one mistake."""
    word, said = first, []
    while len(said) < max_len:
        scores, new = step(word if feed else BOS, state)
        state = new if carry else state
        word = scores.index(max(scores))
        if word == EOS and not keep_eos:
            break
        said.append(word)
        if word == EOS:
            break
    return said


register(
    "ex1_greedy",
    reference=_greedy,
    inputs=_decoders,
    hint="Start from BOS; take the index of the largest score; stop at EOS or max_len.",
    mistakes=wrong(
        partial(_greedy, keep_eos=True),
        "EOS is in your output: it says that the sentence is over, and is no word.",
        partial(_greedy, feed=False),
        "The decoder is given BOS each time; give it the word it has just said.",
        partial(_greedy, carry=False),
        "You feed the word back, but not the new state that step returned.",
        partial(_greedy, first=EOS),
        "The first word to be read is BOS.",
        lambda step, state, max_len: _greedy(step, state, 9),
        "You go on until EOS; stop after max_len words at the latest.",
    ),
)
