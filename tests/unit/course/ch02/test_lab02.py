"""Laboratory page 2: its figures and tables show what is stored and measured."""

from statistics import fmean

import pytest
import torch
from compare import make_bahdanau
from drawn import cells

from attnbook.analysis import occlusion
from attnbook.analysis.learning_to_attend import AttentionSnapshot
from attnbook.core import results
from attnbook.course.ch02 import lab as lab02
from attnbook.toy.data import held_out_pairs
from attnbook.toy.metrics import attention_weights

pytestmark = pytest.mark.usefixtures("as_in_the_pages")


def test_states_are_shaded_where_they_moved():
    moved = torch.tensor([[4.0, 0.0], [1.0, 4.0]])
    fig = lab02.states_figure({"a": moved, "b": moved + 1}, ["old", "bird"])
    assert cells(fig.axes[0]).tolist() == [[1, 0], [0.5, 1]]
    texts = [[text.get_text() for text in ax.texts] for ax in fig.axes]
    assert texts == [["", "0", "", ""], [""] * 4]


# The plateau


def test_the_stored_snapshots_have_the_fields_of_today():
    assert tuple(results.load("plateau")["fields"]) == AttentionSnapshot._fields
    logs = lab02.plateau_logs()
    assert len(logs) == 5
    assert {tuple(s.step for s in log) for log in logs} == {tuple(range(0, 301, 10))}


def test_the_plateau_is_drawn_from_the_means_of_the_seeds():
    top, bottom = lab02.plateau_figure().axes
    logs = lab02.plateau_logs()
    uniform, own, oracle = (line.get_ydata() for line in top.get_lines())
    for drawn, field in ((uniform, "uniform"), (own, "loss"), (oracle, "oracle")):
        means = [fmean(getattr(s, field) for s in at) for at in zip(*logs, strict=True)]
        assert list(drawn) == pytest.approx(means)
    alignment = [100 * fmean(s.alignment for s in at) for at in zip(*logs, strict=True)]
    assert list(bottom.get_lines()[0].get_ydata()) == pytest.approx(alignment)


def test_the_plateau_ends_where_the_alignment_accuracy_rises():
    log = lab02.plateau_logs()[0]
    for share in (0.2, 0.5, 0.9):
        step = lab02.first_step(log, share)
        at = {snapshot.step: snapshot.alignment for snapshot in log}
        assert at[step] >= share > max(a for s, a in at.items() if s < step)
    made = lab02.plateau_table().rows()
    assert [row[0] for row in made] == [*"01234"]
    assert all(first < half < most for _, first, half, most, *_ in made)
    assert all(oracle < own for *_, own, _, oracle in made)


def test_the_gradient_is_listed_from_the_log():
    log = {snapshot.step: snapshot for snapshot in lab02.plateau_logs()[0]}
    made = lab02.descent_table().rows()
    assert [row[0] for row in made] == [*range(0, 201, 20)]
    for step, *numbers in made:
        s = log[step]
        shares = [100 * s.alignment, 100 * s.weight, 100 * s.steepest, s.descent]
        assert numbers == pytest.approx(shares)


# Seeds and lengths


def test_exact_match_and_alignment_are_the_stored_ones():
    runs = results.load("bahdanau")["runs"]
    for n, exact, aligned in lab02.alignment_table().rows():
        assert exact.mean == pytest.approx(
            100 * fmean(r["exact"][str(n)] for r in runs)
        )
        assert aligned.low == pytest.approx(100 * min(r["align"][str(n)] for r in runs))


def test_a_clause_counts_wherever_it_stands(monkeypatch):
    pairs = held_out_pairs(3, 2)
    one, two = (" ".join(pair.target).split(" ul ") for pair in pairs)
    outputs = [" ul ".join([one[2], one[0]]), " ul ".join([two[0], two[1], two[2]])]
    monkeypatch.setattr(
        lab02, "greedy_translations", lambda *_: [tuple(o.split()) for o in outputs]
    )
    found = lab02.clause_shares(make_bahdanau(), pairs)
    assert found == {"clauses": 2.5, "1": 1.0, "2": 0.5, "3": 1.0}


# Weights and effects


def test_a_dot_is_a_weight_and_what_is_lost_without_it():
    model, pairs = make_bahdanau(), held_out_pairs(1, 2)
    weights, drops = lab02.weights_and_drops(model, pairs)
    assert len(weights) == len(drops) == sum(len(pair.alignment) for pair in pairs)
    pair, j = pairs[0], pairs[0].alignment[1]
    assert weights[1] == pytest.approx(attention_weights(model, [pair])[0, 1, j].item())
    effect = occlusion.bahdanau_hiding_effects(model, pair)[1, j].item()
    assert drops[1] == pytest.approx(effect)
    dots = lab02.drop_figure(weights, drops).axes[0].collections[0].get_offsets()
    assert dots[1].tolist() == pytest.approx([100 * weights[1], drops[1]])


def test_runs_with_late_attention_are_listed_by_seed():
    stored = results.load("late_attention")["runs"]
    made = lab02.late_seeds_table().groups
    for rows, held in zip(made.values(), (0, 150), strict=True):
        runs = [run for run in stored if run["held"] == held]
        for row, run in zip(rows, runs, strict=True):
            assert row[0] == str(run["seed"])
            assert row[3] == run["hidden"][1]
            assert row[4] == f"{run['hidden'][0]:.2f}–{run['hidden'][2]:.2f}"


def test_a_peak_is_the_largest_weight_of_a_row():
    maps = [torch.tensor([[0.4, 0.6], [0.5, 0.5]]), torch.tensor([[0.1, 0.9]])]
    [row] = lab02.peak_table({"both": maps}).rows()
    assert row[:2] == ("both", 2)
    assert row[2:] == pytest.approx((200 / 3, 200 / 3), rel=1e-5)
