"""The drawing of chapter 7: where positions can enter attention."""

from attnbook.course.kit.drawings.diagram import KEY, QUERY, VALUE, Diagram

WAYS_IN = (
    "From top to bottom: embeddings X, (T, D); then Q, K and V, (T, d_k) each; then "
    "scores and softmax, (T, T), and, together with V, the output. Three dashed arrows "
    "come in from the left: sinusoidal and learned encodings are added to X, rotary "
    "encodings rotate Q and K, a relative bias is added to the scores."
)


def ways_in() -> Diagram:
    """Attention from the embeddings to the output, with the ways in for positions."""
    d = Diagram(510, 420, alt=WAYS_IN)
    words = d.box("$X$  (T, D)", 350, 40, width=150)
    q = d.box("$Q$", 270, 135, **QUERY)
    k = d.box("$K$", 350, 135, **KEY)
    v = d.box("$V$", 450, 135, **VALUE)
    scores = d.box("scores  (T, T)", 310, 250, width=130)
    weights = d.box("softmax", 310, 325, width=130)
    out = d.box("output", 450, 388, width=84)
    d.arrow(words, q, **QUERY)
    d.arrow(words, k, **KEY)
    d.arrow(words, v, **VALUE)
    d.arrow(q, scores, **QUERY)
    d.arrow(k, scores, **KEY)
    d.arrow(scores, weights)
    d.arrow(weights, (310, 388), out)
    d.arrow(v, out, **VALUE)
    d.bracket("", [q, k], 183)
    for names, y, tip in (
        (("sinusoidal, learned", "$x_p$ + $PE(p)$"), 40, words),
        (("rotary", "rotate by $p ω_i$"), 183, (246, 183)),
        (("relative bias", "$e_{mn}$ + $b_{n−m}$"), 250, scores),
    ):
        for line, name in enumerate(names):
            d.text(name, 85, y - 11 + 22 * line)
        d.arrow((178, y), tip, dashed=True)
    return d
