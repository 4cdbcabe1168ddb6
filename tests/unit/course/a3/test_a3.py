"""Figures, drawing and exercises of appendix A3."""

import pytest
import torch
from notebook_cells import printed

from attnbook.core import results
from attnbook.course.a3 import figures as a3
from attnbook.course.kit.exercises.checking import find
from attnbook.toy.data import held_out_pairs
from attnbook.toy.language import translate_by_rule
from attnbook.toy.two_orders import valid_translations


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


def test_a_decay_is_attention_with_a_mask_that_decays():
    q, k, v, gamma = find("exa3_decay").inputs()[0]
    i = torch.arange(len(q))
    fading = (gamma ** (i[:, None] - i)).tril()
    wanted = ((q @ k.T) * fading) @ v
    assert torch.allclose(find("exa3_decay").reference(q, k, v, gamma), wanted)


def test_valid_translations_by_counting():
    right = find("exa3_valid").reference
    assert right([["a", "b"], ["b", "a"]]) == 0.5
    assert right([["a"] * 5, ["b"] * 5]) == 2 / 2**5


def test_guessing_an_order_at_each_position_would_succeed_in_a_tenth():
    right, chances = find("exa3_valid").reference, []
    for pair in held_out_pairs(1):
        source = " ".join(pair.source)
        chances.append(right([*valid_translations(translate_by_rule(source))]))
    assert round(100 * sum(chances) / len(chances)) == 10


@pytest.fixture(scope="module")
def sinks():
    return {(r["size"], r["keeps"]): r for r in results.load("sinks")["runs"]}


def test_bos_helps_even_averaged_but_not_without_its_values(sinks):
    sink, average, none, word, last = (
        sinks[6, keeps] for keeps in ("sink", "average", "no values", "word", "last")
    )
    assert average["loss"] - sink["loss"] < 0.001
    assert average["unchanged"] > word["unchanged"] == last["unchanged"]
    gain = sink["unchanged"] - last["unchanged"]
    assert none["unchanged"] - last["unchanged"] < gain / 4
    assert (last["loss"] - none["loss"]) / (last["loss"] - sink["loss"]) > 0.55


def test_bos_makes_an_end_less_probable_right_or_wrong(sinks):
    full, last, sink = sinks[None, "all"], sinks[6, "last"], sinks[6, "sink"]
    assert 4 < last["early_end"] / full["early_end"] < 5
    assert 0.5 < sink["early_end"] / last["early_end"] < 0.55
    assert sink["loss_end"] > full["loss_end"] > last["loss_end"]


def test_bos_does_not_replace_memory(sinks):
    assert sinks[6, "words"]["loss"] < sinks[6, "sink"]["loss"] - 0.15
    assert sinks[6, "words"]["unchanged"] > sinks[6, "sink"]["unchanged"]


def test_with_four_positions_the_lowest_loss_has_the_worst_bleu(sinks):
    four = {keeps: sinks[4, keeps] for keeps in ("last", "word", "sink")}
    assert min(four, key=lambda k: four[k]["loss"]) == "sink"
    assert min(four, key=lambda k: four[k]["bleu"]) == "sink"
    assert max(four, key=lambda k: four[k]["words"]) == "sink"


def test_bos_gets_hardly_more_than_an_equal_share():
    weights = results.load("sinks")["weights"]
    assert 1 < weights["sink"] / weights["equal"] < 1.2


def test_the_tables_of_sinks_show_each_run(sinks):
    shown = a3.sinks_table().groups
    assert [len(rows) for rows in shown.values()] == [1, 3, 3]
    (rows,) = a3.bos_table().groups.values()
    assert [row[-1] for row in rows] == [
        "talks", "silent", "silent", "talks", "talks", "silent"
    ]  # fmt: skip
    assert {*a3.KEPT, *a3.FROM_FULL_TO_SHORT} == {keeps for _, keeps in sinks}


# The page's own code, at its edges


@pytest.mark.parametrize("block", [1, 3, 64, 600])
@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64])
def test_linear_attention_of_the_page_in_any_type(dtype, block):
    """Its weights are positive, and sum to 1 however long the sequence."""
    attend, ones = printed("a3", "linear_attention"), torch.ones(520, 64, dtype=dtype)
    for x in (ones, -15 * ones, -40 * ones.float()):
        out = attend(x, x, ones.to(x), block)
        assert out.dtype == x.dtype
        assert torch.allclose(out, torch.ones_like(out), atol=1e-5)


def test_linear_attention_of_the_page_by_the_formula():
    attend = printed("a3", "linear_attention")
    g = torch.Generator().manual_seed(0)
    q, k, v = torch.randn(3, 7, 4, generator=g, dtype=torch.float64)
    q_features, k_features = (torch.where(x > 0, x + 1, x.exp()) for x in (q, k))
    for i in range(7):
        weights = k_features[: i + 1] @ q_features[i]
        wanted = weights @ v[: i + 1] / weights.sum()
        assert torch.allclose(attend(q, k, v, 3)[i], wanted, 1e-12, 1e-12)


@pytest.mark.filterwarnings("ignore:Using padding=.same")  # it copies even ones
@pytest.mark.parametrize("kernel_size", [1, 2, 3, 4, 9])
def test_a_branch_of_the_page_keeps_the_length(kernel_size):
    module = printed("a3", "LongShort")(8, 2, kernel_size)
    for length in (1, 2, 6):
        assert module(torch.ones(1, length, 8)).shape == (1, length, 8)
