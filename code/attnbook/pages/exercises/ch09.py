"""Exercises of chapter 9."""

from __future__ import annotations

from attnbook.pages.exercises.checking import register, wrong

register(
    "ex9_what_moves",
    reference="be",
    hint="Which places can be told apart, and by what? Which may look at which?",
    mistakes=wrong(
        "abe",
        "A sum over keys does not care in which order they stand.",
        "bce",
        "No weight falls on a pad.",
        "bde",
        "The first place may not look at the last.",
        "bef",
        "What the heads found is summed, each with its own rows of W^O.",
        "ae",
        "Words get their positions before the encoder, the memory gets none.",
        "b",
        "The last place reads the last target word.",
        "e",
        "The source words stand at positions, and the order counts.",
    ),
)


def _parameters(v_source: int, v_target: int, d: int, n: int, d_ff: int) -> int:
    attention, norm = 4 * d * (d + 1), 2 * d
    network = 2 * d * d_ff + d_ff + d
    encoder = attention + network + 2 * norm
    decoder = 2 * attention + network + 3 * norm
    return (v_source + v_target) * d + n * (encoder + decoder) + 2 * norm


register(
    "ex9_parameters",
    reference=_parameters,
    inputs=lambda: [(10, 12, 4, 1, 8), (35, 43, 64, 2, 256), (50, 40, 6, 2, 24)],
    hint="An attention has four matrices with biases, a norm 2 D numbers; an encoder "
    "layer has one attention and two norms, a decoder layer two and three.",
    mistakes=wrong(
        lambda s, t, d, n, d_ff: _parameters(s, t, d, n, d_ff) - 4 * d,
        "In pre-norm each stack ends with one more norm, of 2 D numbers.",
        lambda s, t, d, n, d_ff: _parameters(s, t, d, n, d_ff) + t * d,
        "The output has the target's table: count that once.",
        lambda s, t, d, n, d_ff: _parameters(0, t, d, n, d_ff),
        "The source has a vocabulary, and a table, of its own.",
        lambda s, t, d, n, d_ff: _parameters(s, t, d, n, d_ff) - 12 * n * d,
        "The biases of the three attentions are missing.",
        lambda s, t, d, n, d_ff: _parameters(s, t, d, n, d_ff) - 10 * n * d,
        "The norms of the layers are missing: five in each pair of layers.",
        lambda s, t, d, n, d_ff: (
            _parameters(s, t, d, n, d_ff) - n * (4 * d * (d + 1) + 2 * d)
        ),
        "A decoder layer has two attentions and three norms.",
    ),
)
