"""Figures, drawing and exercises of appendix A3."""

import pytest
import torch

from attnbook.core import results
from attnbook.course.a3 import drawings
from attnbook.course.a3 import figures as a3
from attnbook.course.kit.exercises.checking import find


@pytest.fixture
def stored(monkeypatch):
    """Give the figures results of a test, by name."""

    def give(**made):
        monkeypatch.setattr(results, "load", made.__getitem__)

    return give


def test_the_sinks_table_begins_with_all_positions(stored):
    runs = [{"kept": 4, "window": 2.5, "sink": 2.25, "word": 2.75}]
    stored(sinks={"full": 1.5, "runs": runs})
    assert a3.sinks_table().rows() == [
        ("all positions", 1.5, None, None),
        ("4 positions", 2.5, 2.25, 2.75),
    ]


def test_both_kinds_are_drawn_by_width(stored, as_in_the_pages):
    runs = [
        {"kind": kind, "d_k": d_k, "accuracy": [least, 1.0]}
        for kind, least in {"softmax": 0.5, "linear": 0.25}.items()
        for d_k in (64, 4)
    ]
    stored(linear_state={"n": 12, "runs": runs})
    (ax,) = a3.state_figure().axes
    softmax, linear, chance = ax.get_lines()
    assert [*softmax.get_xdata()] == [*linear.get_xdata()] == [4, 64]
    assert [*softmax.get_ydata()] == [75, 75]
    assert [*linear.get_ydata()] == [62.5, 62.5]
    assert chance.get_ydata()[0] == 10


def test_encoders_are_compared_by_cost_and_match(stored):
    runs = {"runs": [{"exact": {"4": 0.5}}, {"exact": {"4": 0.75}}]}
    stored(transformer=runs, lite_transformer=runs, local_encoder=runs)
    plain, lite, local = a3.encoders_table().rows()
    assert plain[1] == (4 * 64 * 64 + 4 * 64) / 1e3
    assert lite[1] < local[1] < plain[1]
    assert lite[2] < plain[2]
    assert plain[3] == (62.5, 50, 75)


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


def test_models_of_two_orders_and_their_outputs(stored):
    runs = [
        {
            "model": name,
            "valid": i / 4,
            "right_words": 1.0,
            "examples": [["a cat sees the dog", f"output {i}"]] * 3,
        }
        for i, name in enumerate(a3.MODELS)
    ]
    stored(two_orders={"runs": runs})
    rows = a3.orders_table().rows()
    assert [row[1].mean for row in rows] == [0, 25, 50, 75]
    table = a3.orders_examples(number=1)
    subject_first, object_first, output = (row[1] for row in table.rows())
    assert sorted(subject_first.split()) == sorted(object_first.split())
    assert subject_first != object_first
    assert output == "output 2"


def test_the_drawing_shows_both_branches():
    svg = drawings.long_short()._repr_svg_()
    for label in ("multi-head", "gate", "convolution", "projection", "feed-forward"):
        assert label in svg


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
