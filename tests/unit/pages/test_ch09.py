"""Figures, tables and exercises of chapter 9."""

import json
from shutil import copyfile

import pytest
import torch

from attnbook.core import results
from attnbook.decoding.greedy_search import greedy
from attnbook.models.transformer import Transformer
from attnbook.nn.masks import key_mask
from attnbook.pages.exercises.checking import find
from attnbook.pages.figures import ch09
from attnbook.toy.language import translate_by_rule
from attnbook.toy.models import toy_transformer

pytestmark = pytest.mark.usefixtures("as_in_the_pages")


@pytest.fixture
def _stored(tmp_path, monkeypatch):
    monkeypatch.setattr(results, "FOLDER", tmp_path)
    thread = [
        {"loss": [2.0, 0.5], "align": {"1": 0.9, "4": 0.5}},
        {"loss": [3.0, 0.7], "align": {"1": 0.8, "4": 0.7}},
    ]
    builds = [
        {"build": name, "seed": seed, "loss": loss, "right": right}
        for name, loss in (("one", 2.0), ("two", 1.0))
        for seed, right in enumerate((0.25, 0.75))
    ]
    found = [
        {
            "seed": seed,
            "clauses": clauses,
            "width": width,
            "alpha": 0.6,
            "exact": 0.1 * clauses + 0.01 * width + 0.002 * seed,
            "greedy_exact": 0.1 * clauses,
            "better": 0.05 * clauses,
        }
        for seed in (0, 1)
        for clauses in (1, 2, 3, 4)
        for width in (1, 4)
    ]
    for name, runs in (("thread", thread), ("broken_builds", builds), ("beams", found)):
        text = json.dumps({"steps": 350, "runs": runs})
        (tmp_path / f"{name}.json").write_text(text, encoding="utf-8")
    cost = {
        "machine": "some",
        "recomputed": {"1": {"1": 4, "256": 90}},
        "recomputed_all_logits": {"1": {"1": 4, "256": 120}},
        "cached": {"1": {"1": 5, "256": 6}, "8": {"1": 7, "256": 8}},
        "cache_mb": {"1": {"1": 0.1, "256": 2}, "8": {"1": 0.3, "256": 4}},
    }
    (tmp_path / "decode_cost.json").write_text(json.dumps(cost), encoding="utf-8")


# Figures


@pytest.mark.usefixtures("_stored")
def test_loss_figure_averages_and_names():
    ax = ch09.loss_figure([4.0, 2.0, 1.0, 0.0], {"thread": "stored"}, width=2).axes[0]
    stored, mine = ax.get_lines()
    assert list(stored.get_ydata()) == [2.0, 0.5]
    assert list(stored.get_xdata()) == [10, 30]
    assert list(mine.get_ydata()) == [3.0, 0.5]
    assert list(mine.get_xdata()) == [1, 3]
    assert [text.get_text() for text in ax.texts] == ["stored", "this run"]


@pytest.mark.usefixtures("_stored")
def test_loss_figure_has_greys_for_two_stored_runs(tmp_path):
    names = dict.fromkeys(("thread", "second", "third"), "stored")
    for name in [*names][1:]:
        copyfile(tmp_path / "thread.json", tmp_path / f"{name}.json")
    with pytest.raises(ValueError, match="zip"):
        ch09.loss_figure([1.0], names)


def test_heads_figure_draws_every_head_and_frames_the_right_places():
    pair = translate_by_rule("the old farmer sees a bird")
    g = torch.Generator().manual_seed(0)
    maps = {name: torch.rand(3, 7, 7, generator=g) for name in ("one", "two")}
    axes = ch09.heads_figure(maps, pair).axes
    drawn = [torch.tensor(ax.images[0].get_array().data) for ax in axes]
    assert torch.equal(torch.stack(drawn), torch.cat([*maps.values()]))
    for ax in axes:
        framed = [(round(f.get_y() + 0.5), round(f.get_x() + 0.5)) for f in ax.patches]
        assert framed == [*enumerate(pair.alignment)]


@torch.no_grad()
def test_decoding_frames_show_the_weights_of_each_step():
    torch.manual_seed(0)
    model = toy_transformer(35, 43).eval()
    pair = translate_by_rule("the old farmer sees a bird")
    figures, captions, alts = ch09.decoding_frames(model, pair)
    assert len(figures) == len(captions) == len(alts) == 8  # two more, then cut off
    for t, figure in enumerate(figures):
        left, right = figure.axes
        cross, own = ([p.get_width() for p in ax.patches] for ax in (left, right))
        assert (len(cross), len(own)) == (7, t + 1)
        assert sum(cross) == pytest.approx(1, abs=1e-5)
        assert sum(own) == pytest.approx(1, abs=1e-5)
        names = [ax.get_yticklabels()[0].get_text() for ax in (left, right)]
        assert names == ["the", "<bos>"]
        best = max(range(7), key=cross.__getitem__)
        assert f"({cross[best]:.2f})" in captions[t]
        assert f"Position {t}: " in captions[t]
        assert all(f" {x:.2f}" in alts[t] for x in (*cross, *own))


def test_chance_figure_draws_the_bars():
    panels = {"a": torch.tensor([0.7, 0.3]), "b": torch.tensor([0.5, 0.5])}
    axes = ch09.chance_figure(panels, ["x", "y"]).axes
    for ax, p in zip(axes, panels.values(), strict=True):
        heights = [bar.get_height() for bar in ax.patches]
        assert heights == pytest.approx(p.tolist())


# Tables


@pytest.mark.usefixtures("_stored")
def test_tables_print_means_and_ranges(capsys):
    ch09.print_alignment("thread")
    _, row = capsys.readouterr().out.splitlines()
    assert row.split() == ["thread", "85.0", "(80.0–90.0)", "60.0", "(50.0–70.0)"]
    ch09.print_builds()
    _, *rows = capsys.readouterr().out.splitlines()
    assert [row.split() for row in rows] == [
        ["one", "2.000", "50.0", "(25.0–75.0)"],
        ["two", "1.000", "50.0", "(25.0–75.0)"],
    ]


@pytest.mark.usefixtures("_stored")
def test_beams_are_printed_by_clauses(capsys):
    ch09.print_beams()
    head, _, greedy_row, four = capsys.readouterr().out.splitlines()  # 1 is greedy
    assert head.startswith("350 steps")
    assert greedy_row.split() == ["greedy", "30.0", "40.0"]
    assert four.startswith("W = 4")
    assert four.split("α = 0.6")[1].split() == ["34.1", "44.1", "15.0", "20.0"]


@pytest.mark.usefixtures("_stored")
def test_costs_are_printed_and_drawn(capsys):
    ch09.print_cost()
    *lines, last = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert [last[1], last[3], last[-4]] == ["256,", "15.0", "20.0"]
    assert [line[-2:] for line in lines[1:]] == [
        ["1", "256"],
        ["4.0", "90.0"],
        ["4.0", "120.0"],
        ["5.0", "6.0"],
        ["0.1", "2.0"],
        ["7.0", "8.0"],
        ["0.3", "4.0"],
    ]
    again, kept = ch09.cost_figure().axes[0].get_lines()
    assert list(again.get_ydata()) == [4, 90]
    assert list(kept.get_ydata()) == [5, 6]
    assert list(kept.get_xdata()) == [1, 256]


def test_heads_are_scored_one_by_one(capsys):
    pair = translate_by_rule("the old farmer sees a bird")
    right = torch.zeros(1, 2, 7, 7)
    for i, j in enumerate(pair.alignment):
        right[0, 0, i, j] = 1
    right[0, 1, :, 6] = 1
    ch09.print_heads({"one": right}, [pair])
    assert capsys.readouterr().out == "layer 0, by head: 100%   0%\n"


# Exercises


@torch.no_grad()
def test_what_moves_is_what_comes_out():
    torch.manual_seed(0)
    model = Transformer(10, d_model=16, n_heads=2, n_layers=2, d_ff=32).eval()
    src, tgt = torch.randint(3, 10, (1, 5)), torch.randint(3, 10, (1, 4))
    order = torch.tensor([3, 0, 4, 1, 2])
    right, memory, mask = model(src, tgt), model.encode(src), key_mask(src)
    other = tgt.clone()
    other[0, -1] = 3 + (other[0, -1] - 2) % 7
    changed = model(src, other) - right
    pads = torch.nn.functional.pad(src, (0, 3))
    moved = {
        "a": model.decode(tgt, memory[:, order], mask[..., order]) - right,
        "b": model(src[:, order], tgt) - right,
        "c": model(pads, tgt) - right,
        "d": changed[:, 0],
        "e": changed[:, -1],
    }
    attention = model.decoder[0].self_attention
    for linear in (attention.W_Q, attention.W_K, attention.W_V):
        linear.weight.copy_(linear.weight.roll(8, dims=0))
        linear.bias.copy_(linear.bias.roll(8))
    attention.W_O.weight.copy_(attention.W_O.weight.roll(8, dims=1))
    moved["f"] = model(src, tgt) - right
    found = [name for name, change in moved.items() if change.abs().max() > 1e-4]
    assert "".join(found) == find("ex9_what_moves").reference


def test_parameters_are_those_of_the_model():
    count = find("ex9_parameters").reference
    for s, t, d, n, d_ff in ((10, 11, 4, 1, 8), (12, 9, 8, 3, 20)):
        sizes = {"d_model": d, "n_heads": 2, "n_layers": n, "d_ff": d_ff}
        model = Transformer(s, t, **sizes, norm_first=True)
        assert count(s, t, d, n, d_ff) == sum(p.numel() for p in model.parameters())


@torch.no_grad()
def test_cached_is_what_the_state_holds():
    model = Transformer(10, d_model=8, n_heads=2, n_layers=3, d_ff=8).eval()
    state = model.start(torch.full((1, 5), 4))
    for _ in range(4):
        _, state = model.step(torch.tensor([4]), state)
    held = sum(x.numel() for layer in state.layers for kv in layer for x in kv)
    assert held == find("ex9_cached").reference(3, 8, 5, 4)


def test_the_mended_loop_says_what_greedy_says():
    exercise = find("ex9_last_place")
    for model, src, length in exercise.inputs():
        said = greedy(model, src, length)
        mine = exercise.reference(model, src, length)
        ended = (said == 2).cumsum(1) - (said == 2).long()  # after EOS it goes on
        assert torch.equal(mine[:, : said.shape[1]][ended == 0], said[ended == 0])
        assert len({tuple(row.tolist()) for row in mine}) == len(src)


def test_a_beam_keeps_the_best_of_the_table():
    log_p, steps = find("ex9_beam_step").inputs()[0]
    parents, words = find("ex9_beam_step").reference(log_p, steps)
    assert parents.tolist() == [1, 0] or parents.tolist() == [1, 1]
    best = (log_p[:, None] + steps).flatten().sort(descending=True).values[:2]
    assert torch.equal((log_p[parents] + steps[parents, words]), best)
