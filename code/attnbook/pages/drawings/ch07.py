"""The drawing of chapter 7: at which places of attention order can enter."""

from __future__ import annotations

from attnbook.pages.drawings.diagram import KEY, QUERY, VALUE, Diagram

WAYS_IN = (
    "From top to bottom: word vectors X, then queries, keys and values, then "
    "scores of queries and keys, then weights, with which the values are read. "
    "Three dashed arrows come in from the left: sinusoidal and learned codes at "
    "the word vectors, before queries, keys and values part; rotary at queries "
    "and keys; relative at the scores."
)


def ways_in() -> Diagram:
    """Attention from the word vectors to the weights, with the ways for positions."""
    d = Diagram(500, 410, alt=WAYS_IN)
    words = d.box("word vectors $X$", 340, 40, width=150)
    q = d.box("$Q$", 260, 130, **QUERY)
    k = d.box("$K$", 340, 130, **KEY)
    v = d.box("$V$", 440, 130, **VALUE)
    scores = d.box("scores", 300, 245, width=84)
    weights = d.box("softmax", 300, 320, width=84)
    out = d.box("output", 440, 380, width=84)
    d.arrow(words, q, **QUERY)
    d.arrow(words, k, **KEY)
    d.arrow(words, v, **VALUE)
    d.arrow(q, scores, **QUERY)
    d.arrow(k, scores, **KEY)
    d.arrow(scores, weights)
    d.arrow(weights, (300, 380), out)
    d.arrow(v, out, **VALUE)
    d.bracket("", [q, k], 178)
    for name, what, y, tip in (
        ("sinusoidal, learned", "+ a vector", 40, words),
        ("rotary", "turns both", 178, (238, 178)),
        ("relative", "+ a number", 245, scores),
    ):
        d.text(name, 85, y - 11)
        d.text(what, 85, y + 11)
        d.arrow((172, y), tip, dashed=True)
    return d
