"""Exercises of chapter 9."""

from attnbook.course.kit.exercises.short_exercises import exercise


@exercise()
def ex9_what_moves() -> str:
    """Which vectors contain their position? Which positions may attend to which?

    "be" => "abe"
        Cross-attention sums over the memory's rows, in any order.
    "be" => "bce"
        Padding is masked, so it gets no weight.
    "be" => "bde"
        The causal mask hides the last target token from the first position.
    "be" => "bef"
        The heads' outputs are added up, each through its own rows of W^O.
    "be" => "ae"
        Source tokens get their positions before the encoder; the memory gets none.
    "be" => "b"
        The last position reads the last target token.
    "be" => "e"
        Each source token gets the encoding of its position, so the order matters.
    """
    return "be"


@exercise(
    lambda: [(10, 12, 4, 1, 2, 8), (35, 43, 64, 3, 1, 256), (50, 40, 6, 2, 5, 24)]
)
def ex9_parameters(
    v_source: int, v_target: int, d: int, n_encoder: int, n_decoder: int, d_ff: int
) -> int:
    """An attention has four matrices with biases, a norm 2 D numbers; an encoder layer
    has one attention and two norms, a decoder layer two and three.

    layers + 2 * norm => layers
        In pre-norm each stack ends with one more norm, of 2 D numbers.
    norm + output => norm
        The output has a table of its own here, and a bias.
    v_target * (d + 1) => v_target * d
        The output has a bias for each target word.
    v_target * (d + 1) => v_target
        The output doesn't share the target's table: count a matrix for each.
    (v_source + v_target) * d => v_target * d
        The source has a vocabulary, and a table, of its own.
    n_encoder * encoder => n_encoder * decoder
    n_decoder * decoder => n_decoder * encoder
        A layer of the decoder has more parameters than one of the encoder.
    4 * d * (d + 1) => 4 * d * d
        The biases of the attentions are missing.
    network + 2 * norm => network
    network + 3 * norm => network
        The norms of the layers are missing: two in the encoder's, three in the
        decoder's.
    2 * attention + network + 3 * norm => attention + network + 2 * norm
        A decoder layer has two attentions and three norms.
    """
    attention, norm = 4 * d * (d + 1), 2 * d
    network = 2 * d * d_ff + d_ff + d
    encoder = attention + network + 2 * norm
    decoder = 2 * attention + network + 3 * norm
    output = v_target * (d + 1)
    layers = n_encoder * encoder + n_decoder * decoder
    return (v_source + v_target) * d + layers + 2 * norm + output


@exercise(lambda: [(1, 1, 3, 2), (2, 4, 5, 7), (6, 8, 20, 10)])
def ex9_scores(n: int, h: int, s: int, t: int) -> int:
    """A matrix of scores has a row for each query and a column for each key. Which
    three attentions are there, and what are their queries and keys?

    + t * s =>
        Cross-attention is missing: T queries and S keys.
    t * t => t * (t + 1) // 2
        Masked scores are computed, too: count all T × T of them.
    n * h => n
        Each head has scores of its own.
    n * h => h
        Each layer has scores of its own.
    t * s => s * s
        In cross-attention the queries come from the target: T × S.
    """
    return n * h * (s * s + t * t + t * s)
