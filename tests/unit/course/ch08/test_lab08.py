"""Figures and tables of laboratory page 8: they show what was measured."""

from statistics import fmean

import pytest
import torch

from attnbook.core import results
from attnbook.course.ch08 import figures as ch08
from attnbook.course.ch08 import lab as lab08
from attnbook.course.ch08.experiment_layer_runs import WARM_UP_RATES
from attnbook.course.kit.html_tables import Spread
from attnbook.nn.residual import Residual
from attnbook.toy.deep_stacks import CONNECTIONS, Stack, gradient_norms, token_diversity

pytestmark = pytest.mark.usefixtures("as_in_the_pages")


# Deep stacks


def test_stacks_of_all_connections_have_the_same_weights():
    first = [*lab08.stack("none", 1.0).blocks.parameters()]
    for connection in CONNECTIONS:
        made = lab08.stack(connection, 0.5)
        assert made.connection == connection
        for one, other in zip(first, made.blocks.parameters(), strict=True):
            assert other.dtype == torch.float64
            assert torch.equal(0.5 * one, other)


def test_the_table_of_initialisations_shows_what_is_left():
    x, direction = lab08.inputs()
    assert direction.norm().item() == pytest.approx(1)
    groups = lab08.initialisation_table().groups
    assert [*groups] == [f"weights of variance {v}" for v in ("1/(3D)", "1/D", "4/D")]
    made = lab08.stack("pre-norm", 1.0)
    name, diversity, of_input, first, last = groups["weights of variance 1/D"][3]
    states = made(x)
    queries = [made.blocks[n].W_Q.weight for n in (0, -1)]
    found = torch.autograd.grad(states[-1], queries, direction)
    assert name == "pre-norm"
    assert diversity == pytest.approx(token_diversity(states[-1].detach()))
    assert of_input == f"{gradient_norms(made, x, direction)[0]:.2f}"
    assert [float(first), float(last)] == pytest.approx(
        [g.norm().item() for g in found], rel=0.06
    )


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (1e-5, "<\N{NO-BREAK SPACE}10⁻⁴"),
        (0.126, "0.13"),
        (11.3, "11"),
        (1394.6, "1,395"),
        (2e6, ">\N{NO-BREAK SPACE}10⁶"),
    ],
)
def test_small_and_large_numbers_are_only_bounded(number, text):
    assert lab08.power(number) == text


def test_the_stream_is_drawn_with_the_deviation_after_each_block():
    (ax,) = lab08.stream_figure().axes
    lines = {line.get_label(): line.get_ydata().tolist() for line in ax.get_lines()}
    x, _ = lab08.inputs()
    for connection in CONNECTIONS[1:]:
        wanted = [s.std().item() for s in lab08.stack(connection, 1.0)(x)]
        assert lines[connection] == pytest.approx(wanted)


def test_with_equal_queries_nothing_comes_back_through_the_scores():
    """Where the scores do not depend on the input, both gradients are the same."""
    torch.manual_seed(0)
    stack = Stack("residual", 3, d_model=8, n_heads=2).double()
    with torch.no_grad():
        for block in stack.blocks:
            block.W_Q.weight.zero_()
    x, direction = torch.randn(2, 2, 5, 8, dtype=torch.float64)
    direction = direction / direction.norm()
    found = lab08.gradient_through_values(stack, x, direction)
    assert found == pytest.approx(gradient_norms(stack, x, direction)[0])
    with torch.no_grad():
        for block in stack.blocks:
            torch.nn.init.normal_(block.W_Q.weight)
    found = lab08.gradient_through_values(stack, x, direction)
    assert found != pytest.approx(gradient_norms(stack, x, direction)[0])


# Stored runs


def test_table_of_networks_shows_every_seed(stored):
    runs = [
        {"task": task, "layers": kind, "n_layers": n, "seed": seed}
        | {"right": right + seed / 10, "loss": loss}
        for task, right in (("add_previous", 0.5), ("backwards", 0.1))
        for kind, n, loss in (("with", 2, [1, 0.09]), ("without", 4, [1, 0.2]))
        for seed in (0, 1)
    ]
    stored("feed_forward_needed", steps=400, runs=runs)
    one, other = lab08.feed_forward_table().rows()
    assert one[:2] == ("2 encoder layers", "400, 400")
    assert one[2] == pytest.approx((55, 50, 60))
    assert one[3] == "400, 400"
    assert one[4] == pytest.approx((15, 10, 20))
    assert other[:2] == (
        "4 without the network",
        ", ".join(2 * [">\N{NO-BREAK SPACE}400"]),
    )


def test_table_of_xor_counts_solved_runs(stored):
    runs = [
        {"heads": n, "network": network, "seed": seed, "loss": seed / 4}
        | {"right": 4 if n else 3 + seed}
        for n in (0, 1, 2, 4)
        for network in ("none", "linear", "ReLU")
        for seed in (0, 1)
    ]
    stored("xor_of_two_bits", steps=300, runs=runs)
    rows = lab08.xor_table().rows()
    assert rows[0] == ("equal weights", *3 * ("1 of 2", Spread(0.125, 0, 0.25)))
    assert rows[3][:2] == ("learned, 4 heads", "2 of 2")


def test_table_of_embeddings_shows_when_the_loss_is_small(stored):
    runs = [
        {"draw": "N(0, 1)", "scaled": True, "seed": 0, "loss": [2.0, 0.2, 0.09, 0.2]},
        {"draw": "N(0, 1)", "scaled": True, "seed": 1, "loss": [2.0, 0.2, 0.11, 0.1]},
        {"draw": "N(0, 1)", "scaled": False, "seed": 0, "loss": [0.05, 0.2, 0.1, 0.1]},
    ]
    stored("embedding_scale", steps=80, runs=runs)
    codes = {"draw": "N(0, 1/D)", "scaled": False, "codes": 1 / 8, "seed": 0}
    stored("embedding_proportion", steps=40, runs=[{**codes, "loss": [1.0, 0.05]}])
    rows = lab08.embedding_table().rows()
    assert [row[0] for row in rows] == [
        "N(0, 1), times √D",
        "N(0, 1), not scaled",
        "N(0, 1/D), not scaled",
    ]
    assert [row[1] for row in rows] == [8, 1, 0.125]
    assert [row[2] for row in rows] == pytest.approx([0.7071, 0.7071, 0.0884], abs=1e-4)
    assert [row[3] for row in rows] == ["60, >\N{NO-BREAK SPACE}80", "20", "40"]


def test_table_of_warm_ups_shows_means_of_the_last_steps(stored):
    runs = [
        {"rate": rate, "norm_first": first, "warm_up": n_warm, "seed": seed}
        | {"loss": [9.0] * 50 + [rate + 1 + first + n_warm / 100 + seed / 2] * 10}
        for rate in WARM_UP_RATES
        for first in (False, True)
        for n_warm in (0, 30)
        for seed in (0, 1)
    ]
    stored("warm_up", runs=runs)
    rows = iter(lab08.warm_up_table().rows())
    for rate in WARM_UP_RATES:
        post, pre = next(rows), next(rows)
        assert post[0] == "post-norm"
        found = [end - rate for row in (post, pre) for ends in row[1:] for end in ends]
        assert found[:6] == pytest.approx([1.25, 1, 1.5, 1.55, 1.3, 1.8])
        assert found[6:] == pytest.approx([2.25, 2, 2.5, 2.55, 2.3, 2.8])


def test_stored_runs_say_what_the_page_says():
    needed, soon = results.load("feed_forward_needed"), {}
    for run in needed["runs"]:
        model = run["task"], run["layers"], run["n_layers"]
        first = lab08.first_below(run["loss"], 0.1, needed["steps"])
        soon.setdefault(model, []).append(int(first.strip(">\N{NO-BREAK SPACE}")))
        assert run["right"] > (0.99 if run["task"] == "backwards" else 0.9)
        assert run["layers"] != "with" or run["right"] == 1
    for (task, kind, _), steps in soon.items():
        if task == "backwards":
            assert max(steps) <= 120
        else:
            assert max(steps) <= 220 if kind == "with" else min(steps) >= 300
    for run in results.load("embedding_scale")["runs"]:
        large = run["scaled"] and run["draw"] == "N(0, 1)"
        assert min(run["loss"]) > 2 if large else min(run["loss"][:8]) < 0.1
    for run in results.load("embedding_proportion")["runs"]:
        alike = run["scaled"]  # embeddings of 8 with positions of 8
        assert min(run["loss"][:9]) < 0.1 if alike else min(run["loss"]) > 2
    for run in results.load("xor_of_two_bits")["runs"]:
        if run["heads"] in (0, 1):
            solved = run["heads"] == 0 and run["network"] == "ReLU"
            assert (run["right"] == 4) is solved
        elif run["heads"] == 4:
            assert run["right"] == 4


def test_gradients_grow_in_post_norm_and_shrink_in_pre_norm():
    for norm_first, slope in ((False, 1), (True, -1)):
        gradients, moved = lab08.first_step(norm_first)
        assert len(gradients) == len(moved) == 8
        assert slope * (fmean(gradients[4:]) - fmean(gradients[:4])) > 0.1
        assert all(0.008 < step < 0.011 for step in moved)


# Norms


def test_the_unbiased_norm_is_too_small_by_its_share():
    for d, variance, _ in lab08.own_norm_table().rows():
        assert variance == pytest.approx((int(d) - 1) / int(d), abs=1e-3)


def test_only_epsilon_outside_the_root_lets_noise_through():
    rows = lab08.equal_features_table().rows()
    assert [row[1] for row in rows] == pytest.approx([0, 0, 1], abs=1e-4)
    assert rows[0][2] < 0.03
    assert rows[1][2] > 1


def test_sublayers_of_zeros_leave_the_stream_alone():
    """Section 8.10: without a mistake no feature is dropped."""
    torch.manual_seed(0)
    x = torch.randn(50, 1, 64)
    assert (Residual(64, dropout=0.3)(x, torch.zeros_like) != 0).all()


def test_the_chapters_runs_are_those_of_the_page():
    ends = [fmean(loss[-10:]) for loss in ch08.warm_up_runs(True, 0)]
    assert lab08.warm_up_table().rows()[3][1].mean == pytest.approx(fmean(ends))
