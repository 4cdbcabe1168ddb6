"""Figures, drawing and exercises of appendix A3."""

import torch

from attnbook.core import results
from attnbook.course.a3 import figures as a3
from attnbook.course.kit.exercises.checking import find


def test_lite_transformers_own_numbers(as_in_the_pages):
    sizes, bleu = a3.lite_figure().axes
    widths = [bar.get_width() for bar in sizes.patches]
    assert round(widths[0] / widths[1], 1) == 2.5
    assert round(widths[0] / widths[-1], 1) == 18.1  # 18.2 in the paper, unrounded
    lite, plain = ([*line.get_ydata()] for line in bleu.get_lines()[:2])
    # As the abstract says: 1.7 BLEU at 100M, 1.2 at 500M, 2.5 times less for 0.3.
    assert round(lite[0] - plain[0], 1) == 1.7
    assert round(lite[2] - plain[2], 1) == 1.2
    assert round(plain[-1] - lite[2], 1) == 0.3


def test_a_decay_is_attention_whose_mask_fades():
    q, k, v, gamma = find("exa3_decay").inputs()[0]
    i = torch.arange(len(q))
    fading = (gamma ** (i[:, None] - i)).tril()
    wanted = ((q @ k.T) * fading) @ v
    assert torch.allclose(find("exa3_decay").reference(q, k, v, gamma), wanted)


def test_valid_translations_by_counting():
    right = find("exa3_valid").reference
    assert right([["a", "b"], ["b", "a"]]) == 0.5
    assert right([["a"] * 5, ["b"] * 5]) == 2 / 2**5


def test_a_token_that_says_nothing_beats_a_word():
    runs = {(r["size"], r["keeps"]): r for r in results.load("sinks")["runs"]}
    silent, word, last = (runs[6, keeps] for keeps in ("average", "word", "last"))
    for other in (word, last):
        assert silent["loss"] < other["loss"]
        assert silent["unchanged"] > other["unchanged"]
    four = {keeps: runs[4, keeps] for keeps in ("last", "word", "sink")}
    assert min(four, key=lambda k: four[k]["loss"]) == "sink"
    assert min(four, key=lambda k: four[k]["bleu"]) == "sink"


def test_the_table_of_sinks_shows_each_run():
    shown = a3.sinks_table().groups
    assert [len(rows) for rows in shown.values()] == [1, 3, 4, 3]
