"""Figures, tables, drawing and exercises of chapter 5."""

import pytest
import torch
from drawn import cells
from matplotlib.colors import to_hex

from attnbook.analysis.bug_zoo import WrongSplit
from attnbook.analysis.leaks import influence
from attnbook.core import results
from attnbook.nn.multi_head import MultiHeadAttention, split_heads
from attnbook.pages.drawings import ch05 as ch05_drawings
from attnbook.pages.exercises import ch05 as ch05_exercises
from attnbook.pages.exercises.checking import find, verdict
from attnbook.pages.figures import ch05
from attnbook.toy.example import SENTENCE
from attnbook.toy.tasks import (
    TASK_VOCAB_SIZE,
    TaskBatch,
    previous_symbols,
    random_symbols,
)

pytestmark = pytest.mark.usefixtures("as_in_the_pages")


# The puzzle


def test_every_symbol_has_a_letter_of_its_own():
    assert len({*ch05.LETTERS}) == len(ch05.LETTERS) == TASK_VOCAB_SIZE
    assert ch05.spell(torch.tensor([0, 1, 16])) == "· a p"


def always(answers):
    """A model that knows the targets of one puzzle, and answers as it is told."""
    return lambda ids: torch.nn.functional.one_hot(answers, TASK_VOCAB_SIZE).float()


def test_shares_right_are_over_all_places_that_count(capsys):
    ids = random_symbols(4, 6, torch.Generator().manual_seed(0))
    puzzle = previous_symbols(ids)
    answers = puzzle.targets.clone()
    answers[:, 1, 0] = (
        TASK_VOCAB_SIZE - answers[:, 1, 0]
    )  # wrong at one of 5 places that count
    wrong = (answers != puzzle.targets)[:, 1, 0].float().mean().item()
    ch05.print_right("name", always(answers), TaskBatch(ids, puzzle.targets))
    line = capsys.readouterr().out
    assert line.split("%")[0].endswith(f"{100 - 100 * wrong / 5:.0f}")
    assert "the one before 100% right" in line


def test_looks_are_means_from_place_two_on(capsys):
    weights = torch.zeros(2, 2, 5, 5)
    for i in range(2, 5):
        weights[:, 0, i, i - 1] = 0.75
        weights[:, 0, i, i - 2] = 0.25
        weights[0, 1, i, i - 2] = 1.0  # in one sequence of two
    weights[:, :, 1, 0] = 1.0  # does not count
    ch05.print_looks(weights)
    assert capsys.readouterr().out.splitlines() == [
        "head 0:  75% one place back,  25% two places back",
        "head 1:   0% one place back,  50% two places back",
    ]


# Stored results


def test_table_of_heads_shows_every_seed(stored, capsys):
    runs = [
        {"heads": h, "seed": seed, "last": seed / 10, "before": h / 10}
        for h in (1, 2)
        for seed in (3, 4)
    ]
    stored("heads", runs=runs)
    ch05.print_heads_table()
    _, *rows = capsys.readouterr().out.splitlines()
    assert [row.split() for row in rows] == [
        ["1", "30", "40", "10", "10"],
        ["2", "30", "40", "20", "20"],
    ]


def test_table_of_splits_shows_means_over_places(stored, capsys):
    runs = [
        {"split": split, "length": 2, "seed": seed, "right": [share, share / 2]}
        for split, share in (("right", 1.0), ("wrong", 0.2))
        for seed in (0, 1)
    ]
    stored("wrong_split", runs=runs)
    ch05.print_split_table()
    _, *rows = capsys.readouterr().out.splitlines()
    assert [row.split() for row in rows] == [
        ["right", "2", "75", "75"],
        ["wrong", "2", "15", "15"],
    ]


def test_stored_runs_say_what_the_chapter_says():
    for run in results.load("heads")["runs"]:
        worse, better = sorted((run["last"], run["before"]))
        assert better > 0.99
        assert (worse < 0.2) == (run["heads"] == 1)
    for run in results.load("wrong_split")["runs"]:
        right = sum(run["right"]) / run["length"]
        assert (right > 0.99) if run["split"] == "right" else (right < 0.1)


# Figures


def test_maps_show_the_weights_of_all_heads():
    g = torch.Generator().manual_seed(0)
    weights = torch.rand(4, 6, 6, generator=g)
    ids = random_symbols(1, 6, g)[0]
    axes = ch05.maps_figure(weights, ids).axes
    assert [ax.get_title("left") for ax in axes] == [f"head {h}" for h in range(4)]
    for ax, shown in zip(axes, weights, strict=True):
        torch.testing.assert_close(cells(ax), shown)
        frames = {f.get_xy() for f in ax.patches}
        pairs = {(i - back, i) for back in (1, 2) for i in range(back, 6)}
        assert frames == pairs
        letters = [label.get_text() for label in ax.get_xticklabels()]
        assert letters == ch05.spell(ids).split()
    (alone,) = ch05.maps_figure(weights[:1], ids, columns=1).axes
    assert not alone.get_title("left")  # one head needs no number


def test_owners_are_those_of_the_real_split():
    t, d, h = 6, 4, 2
    x = torch.arange(t * d).view(1, t, d)
    heads = split_heads(x, h)[0]
    found = ch05.owners(t, d, h, transposed=True)
    for i in range(t):
        for j in range(d):
            head, place = found[i, j].tolist()
            assert x[0, i, j] in heads[head, place]
            assert (head, place) == (j // 2, i)


def test_wrong_owners_hold_whole_words():
    found = ch05.owners(6, 4, 2, transposed=False)
    assert found[:3, :, 0].eq(0).all()
    assert found[3:, :, 0].eq(1).all()
    assert found[:3, :, 1].tolist() == [[0, 0, 1, 1], [2, 2, 3, 3], [4, 4, 5, 5]]


def test_split_figure_colours_each_number_by_its_head():
    axes = ch05.split_figure(SENTENCE).axes
    for ax, transposed in zip(axes, (True, False), strict=True):
        cells = ch05.owners(6, 4, 2, transposed=transposed)
        for cell, text, (head, place) in zip(
            ax.patches, ax.texts, cells.flatten(0, 1).tolist(), strict=False
        ):
            colour = to_hex(cell.get_facecolor()).upper()
            assert colour == ch05.HEAD_COLOURS[head]
            assert text.get_text() == str(place)
        assert [text.get_text() for text in ax.texts[-2:]] == ["head 0", "head 1"]
    words = [label.get_text() for label in axes[0].get_yticklabels()]
    assert words == [*SENTENCE]


def test_influence_is_drawn_against_its_largest_entry():
    matrices = {"a": torch.tensor([[2.0, 0], [1, 4]]), "b": torch.eye(3)}
    axes = ch05.influence_figure(matrices).axes
    torch.testing.assert_close(cells(axes[0]), torch.tensor([[0.5, 0], [0.25, 1]]))
    assert [ax.get_title("left") for ax in axes] == ["a", "b"]


def test_drawing_names_the_shapes():
    svg = ch05_drawings.multi_head()._repr_svg_()
    for shape in ("(B, T, D)", "(B, T, D/H)"):
        assert shape in svg


# Exercises


@pytest.mark.parametrize(("length", "n_heads"), [(12, 4), (12, 2), (8, 8), (6, 1)])
def test_reach_in_the_exercise_is_that_of_the_wrong_layer(length, n_heads):
    torch.manual_seed(0)
    layer, x = WrongSplit(8 * n_heads, n_heads), torch.randn(1, length, 8 * n_heads)
    matrix = influence(lambda x: layer(x, x, x), x)
    reach = find("ex5_wrong_reach").reference
    for i in range(length):
        assert matrix[i].nonzero().flatten().tolist() == reach(i, length, n_heads)


def test_parameters_in_the_exercise_are_those_of_the_layer():
    count = find("ex5_parameters").reference
    for d, h, bias in ((64, 2, True), (64, 8, False)):
        layer = MultiHeadAttention(d, h, bias=bias)
        assert count(d, h, bias) == sum(p.numel() for p in layer.parameters())


def test_the_bug_of_the_page_is_known():
    exercise = find("ex5_find_the_bug")
    hint = verdict(exercise, "ex5_find_the_bug", ch05_exercises._heads_attend)
    assert "(B, T, H, H)" in hint


def test_shares_in_the_exercise_add_up_to_the_output():
    exercise = find("ex5_head_shares")
    for heads, w_o in exercise.inputs():
        concat = torch.cat([*heads.unbind(1)], dim=-1)
        torch.testing.assert_close(exercise.reference(heads, w_o).sum(1), concat @ w_o)
