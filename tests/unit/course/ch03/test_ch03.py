"""Figures of chapter 3."""

import pytest
import torch

from attnbook.course.ch03 import figures as ch03
from attnbook.toy.language import translate_by_rule

pytestmark = pytest.mark.usefixtures("as_in_the_pages")


def test_stored_map_is_that_of_the_seed(stored):
    stored("luong_dot", runs=[{"seed": s, "map": [[0.5 + s / 10]]} for s in (0, 1)])
    assert ch03.stored_map("luong_dot", 1).tolist() == [[pytest.approx(0.6)]]


def test_each_seed_has_its_three_shares(stored):
    shares = {("dot", 0): (1, 0.99, 0), ("dot", 1): (0.9, 0.5, 0.25)}
    shares[("local-p", 0)] = (1, 0.85, 0.1)
    stored(
        "alignment_two_ways",
        runs=[
            {"model": m, "seed": s, "exact": e, "output": o, "input": i}
            for (m, s), (e, o, i) in shares.items()
        ],
    )
    ax = ch03.two_ways_figure().axes[0]
    joined = [line for line in ax.get_lines() if len(line.get_xdata()) == 3]
    drawn = [tuple(line.get_xdata()) for line in joined]
    assert drawn == [tuple(100 * x for x in found) for found in shares.values()]
    assert [round(line.get_ydata()[0]) for line in joined] == [0, 0, 1]
    assert [t.get_text() for t in ax.get_yticklabels()] == ["dot", "local-p"]
    marks = [line.get_marker() for line in ax.get_lines() if len(line.get_xdata()) == 1]
    assert marks == ["o", "D", "^"] * 3


def test_rows_of_verbs_show_their_weights_and_both_words():
    pair = translate_by_rule("the old farmer sees a bird and a dog hears this cat")
    weights = torch.rand(13, 13, generator=torch.Generator().manual_seed(0))
    one, two, bar = ch03.verb_rows_figure({"one": weights, "two": weights}, pair).axes
    verbs = [i for i, word in enumerate(pair.target) if word in ("mirat", "ozit")]
    drawn = torch.tensor(one.collections[0].get_array().data)
    torch.testing.assert_close(drawn, weights[verbs])
    frames = [(frame.get_x(), frame.get_y()) for frame in two.patches]
    # Grey: a and this, the sources of the inputs; orange: sees and hears.
    assert frames == [(4, 0), (10, 1), (3, 0), (9, 1)]
    assert [t.get_text() for t in one.get_yticklabels()] == ["mirat", "ozit"]
    words = [t.get_text() for t in two.get_xticklabels()]
    assert words == [*pair.source, "<eos>"]
    assert [ax.get_title("left") for ax in (one, two)] == ["one", "two"]
    assert bar.get_xlabel() == "attention weight"
