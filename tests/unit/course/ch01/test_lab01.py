"""Figures and tables of laboratory page 1: what they show is what is stored."""

from statistics import fmean

import pytest
import torch

from attnbook.core import results
from attnbook.core.vocabulary import EOS
from attnbook.course.ch01 import lab as lab01
from attnbook.course.kit.exact_match import exact_match_table
from attnbook.course.kit.names import name_of
from attnbook.data.batching import pad
from attnbook.toy.baselines import accuracy_without_source, loss_knowing
from attnbook.toy.data import SOURCE, TARGET, held_out_pairs
from attnbook.toy.language import KINDS, NOUNS, translate_by_rule

pytestmark = pytest.mark.usefixtures("as_in_the_pages")


def rows(made):
    return {row[0]: row[1:] for row in made.rows()}


SHOWN = ("initial_state", "static_narrow", "static_last_wider", "one_way_reversed")


@pytest.mark.parametrize("name", SHOWN)
def test_tables_hold_mean_and_range_of_the_stored_runs(name):
    runs = results.load(name)["runs"]
    clauses = rows(lab01.clause_table(name))[name_of(name)]
    exact = rows(exact_match_table(name))[name_of(name)]
    for n in range(4):
        for cell, values in (
            (clauses[n], [100 * run["by_clause"][n] for run in runs]),
            (exact[n], [100 * run["exact"][str(n + 1)] for run in runs]),
        ):
            wanted = fmean(values), min(values), max(values)
            assert tuple(cell) == pytest.approx(wanted)


def test_clauses_stand_next_to_a_decoder_without_source():
    last = [*lab01.clause_table("static_last").rows()][-1]
    assert last[1:] == pytest.approx([100 * accuracy_without_source()] * 4)
    ax = lab01.clause_figure("initial_state", "static_last").axes[0]
    assert "token accuracy" in ax.get_ylabel()
    drawn = [line.get_ydata()[0] for line in ax.get_lines()]
    assert drawn[-1] == pytest.approx(last[1])


def test_parameters_are_those_of_the_stored_models():
    made = rows(lab01.parameters_table("static_last", "static_last_longer"))
    found = results.load("static_last_longer")
    wanted = found["parameters"], 2100, 3
    assert made[name_of("static_last_longer")] == wanted
    assert made[name_of("static_last")][1] == 700


def test_recall_table_holds_the_stored_shares():
    made = lab01.recall_table()
    assert [*made.groups] == [
        *("300 steps, one length", "1,500 steps, one length"),
        "1,500 steps, mixed lengths",
    ]
    for (steps, mixed), group in zip(
        ((300, False), (1500, False), (1500, True)), made.groups.values(), strict=True
    ):
        for kind, (_, *cells) in zip(("rnn", "gru"), group, strict=True):
            shares = lab01.recall_shares(kind, steps, mixed, "first")
            assert len(shares) == 3
            means = [fmean(column) for column in zip(*shares, strict=True)]
            assert [cell.mean for cell in cells] == pytest.approx(means)


def test_recall_figure_has_a_panel_for_each_training():
    one, mixed = lab01.recall_figure().axes
    assert all(min(line.get_ydata()) > 99 for line in mixed.get_lines())
    assert all(min(line.get_ydata()) < 10 for line in one.get_lines())


def test_the_loss_stands_next_to_what_is_reached_without_the_source():
    ax = lab01.loss_figure([3.0] * 100).axes[0]
    levels = sorted(line.get_ydata()[0] for line in ax.get_lines())
    assert levels == pytest.approx([loss_knowing(1), loss_knowing(0), 3.0])


def test_gradients_are_relative_to_the_last_position():
    norms = {name: torch.tensor([0.1, 1.0, 2.0]) for name in "abc"}
    line = lab01.gradient_figure(norms).axes[0].get_lines()[0]
    assert [*line.get_ydata()] == pytest.approx([1.0, 0.5, 0.05])


def test_the_kinds_of_words_are_told_apart():
    class KnowsNouns(torch.nn.Module):
        def forward(self, src, tgt_in):
            targets = [
                [*TARGET.encode(translate_by_rule(SOURCE.decode(row)).target), EOS]
                for row in src.tolist()
            ]
            ids = pad(targets)
            nouns = torch.tensor(TARGET.encode(list(NOUNS.values())))
            found = torch.where(torch.isin(ids, nouns), ids, torch.full_like(ids, EOS))
            return torch.nn.functional.one_hot(found, len(TARGET)).float()

    made = rows(lab01.kind_table(KnowsNouns(), held_out_pairs(1, 50)))
    wanted = {"adjective": 0, "determiner": 0, "noun": 100, "verb": 0}
    assert {kind: share for kind, (share,) in made.items()} == wanted


def test_contents_table_holds_mean_and_range_of_the_stored_changes():
    found = results.load("context_contents")
    made = [*lab01.contents_table().rows()]
    assert len(made) == 4 * found["clauses"]
    for name, clause, *cells in made:
        runs = [
            run["changes"] for run in found["runs"] if name_of(run["model"]) == name
        ]
        assert len(runs) == 5
        for kind, cell in zip(KINDS, cells, strict=True):
            values = [of[kind][clause - 1] for of in runs]
            wanted = fmean(values), min(values), max(values)
            assert tuple(cell) == pytest.approx(wanted)
