"""Exercises of chapter 9."""

from attnbook.course.kit.exercises.checking import register, wrong

register(
    "ex9_what_moves",
    reference="be",
    hint="Which vectors contain their position? Which positions may attend to which?",
    mistakes=wrong(
        "abe",
        "Cross-attention sums over the memory's rows, in any order.",
        "bce",
        "Padding is masked, so it gets no weight.",
        "bde",
        "The causal mask hides the last target token from the first position.",
        "bef",
        "The heads' outputs are added up, each through its own rows of W^O.",
        "ae",
        "Source tokens get their positions before the encoder; the memory gets none.",
        "b",
        "The last position reads the last target token.",
        "e",
        "Each source token gets the encoding of its position, so the order matters.",
    ),
)


def _parameters(
    v_source: int, v_target: int, d: int, n_encoder: int, n_decoder: int, d_ff: int
) -> int:
    attention, norm = 4 * d * (d + 1), 2 * d
    network = 2 * d * d_ff + d_ff + d
    encoder = attention + network + 2 * norm
    decoder = 2 * attention + network + 3 * norm
    output = v_target * (d + 1)
    layers = n_encoder * encoder + n_decoder * decoder
    return (v_source + v_target) * d + layers + 2 * norm + output


register(
    "ex9_parameters",
    reference=_parameters,
    inputs=lambda: [
        (10, 12, 4, 1, 2, 8),
        (35, 43, 64, 3, 1, 256),
        (50, 40, 6, 2, 5, 24),
    ],
    hint="An attention has four matrices with biases, a norm 2 D numbers; an encoder "
    "layer has one attention and two norms, a decoder layer two and three.",
    mistakes=wrong(
        lambda s, t, d, e, n, d_ff: _parameters(s, t, d, e, n, d_ff) - 4 * d,
        "In pre-norm each stack ends with one more norm, of 2 D numbers.",
        lambda s, t, d, e, n, d_ff: _parameters(s, t, d, e, n, d_ff) - t * (d + 1),
        "The output has a table of its own here, and a bias.",
        lambda s, t, d, e, n, d_ff: _parameters(s, t, d, e, n, d_ff) - t,
        "The output has a bias for each target word.",
        lambda s, t, d, e, n, d_ff: _parameters(s, t, d, e, n, d_ff) - t * d,
        "The output doesn't share the target's table: count a matrix for each.",
        lambda s, t, d, e, n, d_ff: _parameters(0, t, d, e, n, d_ff),
        "The source has a vocabulary, and a table, of its own.",
        lambda s, t, d, e, n, d_ff: _parameters(s, t, d, n, e, d_ff),
        "A layer of the decoder has more parameters than one of the encoder.",
        lambda s, t, d, e, n, d_ff: (
            _parameters(s, t, d, e, n, d_ff) - 4 * d * (e + 2 * n)
        ),
        "The biases of the attentions are missing.",
        lambda s, t, d, e, n, d_ff: (
            _parameters(s, t, d, e, n, d_ff) - 2 * d * (2 * e + 3 * n)
        ),
        "The norms of the layers are missing: two in the encoder's, three in the "
        "decoder's.",
        lambda s, t, d, e, n, d_ff: (
            _parameters(s, t, d, e, n, d_ff) - n * (4 * d * (d + 1) + 2 * d)
        ),
        "A decoder layer has two attentions and three norms.",
    ),
)


def _scores(n: int, h: int, s: int, t: int) -> int:
    return n * h * (s * s + t * t + t * s)


register(
    "ex9_scores",
    reference=_scores,
    inputs=lambda: [(1, 1, 3, 2), (2, 4, 5, 7), (6, 8, 20, 10)],
    hint="A matrix of scores has a row for each query and a column for each key. Which "
    "three attentions are there, and what are their queries and keys?",
    mistakes=wrong(
        lambda n, h, s, t: n * h * (s * s + t * t),
        "Cross-attention is missing: T queries and S keys.",
        lambda n, h, s, t: n * h * (s * s + t * (t + 1) // 2 + t * s),
        "Masked scores are computed, too: count all T × T of them.",
        lambda n, h, s, t: n * (s * s + t * t + t * s),
        "Each head has scores of its own.",
        lambda n, h, s, t: h * (s * s + t * t + t * s),
        "Each layer has scores of its own.",
        lambda n, h, s, t: n * h * (s * s + t * t + s * s),
        "In cross-attention the queries come from the target: T × S.",
    ),
)
