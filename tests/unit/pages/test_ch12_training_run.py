"""Chapter 12: tables and figures of its run say what the stored results hold."""

import json
import math

import pytest
import torch
from drawn import cells

from attnbook.analysis.complexity import count
from attnbook.data.batching import IdPair, id_batch
from attnbook.experiments.toy_ablation import CHANGES
from attnbook.nn.losses import label_smoothing_loss
from attnbook.pages.exercises.checking import find
from attnbook.pages.figures import (
    ch12_attention,
    ch12_comparisons,
    ch12_probes,
    ch12_scores,
    ch12_training_run,
)
from attnbook.translation.bleu_from_scratch import matching_ngrams
from attnbook.translation.configs import CONFIGS, config
from attnbook.translation.models import model_from_config
from attnbook.translation.translator import Translator

pytestmark = pytest.mark.usefixtures("as_in_the_pages")


def score(bleu):
    return {"bleu": bleu, "signature": f"signature of {bleu}"}


def a_run(lowercased=40.0):
    ways = ("greedy, cased", "greedy, lowercased", "beam, cased", "beam, lowercased")
    numbers = (36.0, 37.0, 38.0, lowercased)
    return {
        "config": {
            "n_layers": 4,
            "d_model": 128,
            "d_ff": 256,
            "n_heads": 2,
            "norm_first": True,
            "smoothing": 0.1,
            "vocab_size": 8000,
        },
        "machine": "an abacus",
        "precision": "float32",
        "versions": {"python": "3.11", "torch": "2.13"},
        "commit": "abc1234",
        "parameters": 2345678,
        "epochs": 2,
        "updates": 200,
        "seconds": 180,
        "tokens_per_second": 4321,
        "peak_memory_mb": 567,
        "alpha": 1.0,
        "validation_bleu_by_alpha": {"0.0": 30.0, "1.0": 31.5},
        "scores": {
            name: {way: score(x - less) for way, x in zip(ways, numbers, strict=True)}
            for name, less in (("test_2016_flickr", 0), ("test_2017_flickr", 6))
        },
        "log": [
            {"step": 50, "epoch": 0, "loss": 6.0, "tokens_per_second": 4000},
            {"step": 100, "epoch": 0, "loss": 4.0, "tokens_per_second": 4000},
            {"step": 100, "epoch": 1, "validation_loss": 3.0, "validation_bleu": 9.0},
            {"step": 200, "epoch": 1, "loss": 3.0, "tokens_per_second": 4000},
            {"step": 200, "epoch": 2, "validation_loss": 2.5, "validation_bleu": 20},
        ],
    }


# The run


def test_recorded_reads_what_is_stored(stored):
    stored(ch12_training_run.NAME, updates=7)
    assert ch12_training_run.run("recorded") == {"updates": 7}


def test_live_trains_and_adds_the_log(monkeypatch, tmp_path):
    asked = []

    def train(run, folder):
        asked.append((run, folder))
        (folder / "metrics.jsonl").write_text('{"step": 1}\n')
        return {"updates": 9}

    monkeypatch.setattr(ch12_training_run, "train", train)
    assert ch12_training_run.run("live", folder=tmp_path) == {
        "updates": 9,
        "log": [{"step": 1}],
    }
    assert asked == [(CONFIGS["multi30k-tiny"], tmp_path)]


def test_another_word_is_refused():
    with pytest.raises(ValueError, match="recorded or live"):
        ch12_training_run.run("alive")


def test_what_a_run_took_is_printed(capsys):
    ch12_training_run.print_run(a_run())
    said = capsys.readouterr().out
    for part in (
        "an abacus, float32",
        "python 3.11, torch 2.13",
        "abc1234",
        "4 + 4 layers, D = 128, d_ff = 256, 2 heads, pre-norm",
        "2,345,678 parameters",
        "2 epochs, 200 updates, 3 minutes",
        "4,321 target tokens a second",
        "567 MB",
    ):
        assert part in said
    assert max(map(len, said.splitlines())) <= 79


def test_the_floor_is_the_loss_of_one_who_knows():
    v, smoothing = 50, 0.1
    targets = torch.tensor([[7]])
    p = torch.full((v,), smoothing / v)
    p[7] += 1 - smoothing
    least = label_smoothing_loss(p.log()[None, None], targets, smoothing).item()
    assert ch12_training_run.least_smoothed_loss(smoothing, v) == pytest.approx(
        least, abs=1e-5
    )
    assert math.isclose(
        ch12_training_run.least_smoothed_loss(0.1, 37000), 1.377, abs_tol=1e-3
    )


def test_curves_are_drawn_against_epochs():
    losses, bleu = ch12_training_run.curves_figure(a_run()).axes
    training_, validation, floor = losses.get_lines()
    assert list(training_.get_xdata()) == [0.5, 1, 2]
    assert list(training_.get_ydata()) == [6, 4, 3]
    assert list(validation.get_xdata()) == [1, 2]
    assert list(validation.get_ydata()) == [3, 2.5]
    assert floor.get_ydata()[0] == ch12_training_run.least_smoothed_loss(0.1, 8000)
    assert list(bleu.get_lines()[0].get_ydata()) == [9, 20]


def test_the_gap_is_printed_by_what_is_kept(stored, capsys):
    losses = [
        {"dropout": True, "smoothing": 0.1, "train": 4.0, "val": 4.25},
        {"dropout": True, "smoothing": 0.0, "train": 3.0, "val": 3.25},
        {"dropout": False, "smoothing": 0.1, "train": 2.0, "val": 2.25},
        {"dropout": False, "smoothing": 0.0, "train": 1.0, "val": 1.25},
    ]
    stored("multi30k_scores", losses=losses, loss_sentences=7)
    ch12_training_run.print_gap()
    _, *rows, number = capsys.readouterr().out.splitlines()
    assert [row.rsplit(maxsplit=2) for row in rows] == [
        ["smoothing and dropout", "4.00", "4.25"],
        ["dropout", "3.00", "3.25"],
        ["smoothing", "2.00", "2.25"],
        ["neither", "1.00", "1.25"],
    ]
    assert "the first 7 sentences" in number


def test_a_log_is_printed_line_by_line(tmp_path, capsys):
    lines = a_run()["log"]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (tmp_path / "metrics.jsonl").write_text(text)
    ch12_training_run.print_log(tmp_path)
    said = capsys.readouterr().out.splitlines()
    assert len(said) == len(lines)
    assert "loss 6.000" in said[0]
    assert "BLEU 9.0" in said[2]


# Scores


def test_scores_are_printed_by_test_and_case(stored, capsys):
    scores = a_run()["scores"]
    for by_name in scores.values():
        for score in by_name.values():
            score["chrf"] = score["bleu"] + 20
            score["chrf_signature"] = f"chrF of {score['bleu']}"
    stored("multi30k_headline", scores=scores)
    ch12_scores.print_scores()
    _, _, *rows = capsys.readouterr().out.splitlines()
    assert [row.split()[-4:] for row in rows[:4]] == [
        ["36.0", "56.0", "38.0", "58.0"],
        ["37.0", "57.0", "40.0", "60.0"],
        ["30.0", "50.0", "32.0", "52.0"],
        ["31.0", "51.0", "34.0", "54.0"],
    ]
    assert rows[4:] == [
        "BLEU, cased: signature of 32.0",
        "chrF, cased: chrF of 32.0",
        "BLEU, lowercased: signature of 34.0",
        "chrF, lowercased: chrF of 34.0",
    ]


@pytest.mark.parametrize(
    ("ours", "said"),
    [(40.0, "1.0 below"), (41.02, "0.0 above"), (43, "2.0 above")],
)
def test_our_score_is_set_beside_the_best_found(ours, said, capsys):
    ch12_scores.print_beside(a_run(ours))
    _, first, second = capsys.readouterr().out.splitlines()
    assert first.startswith(f"test 2016    {ours:.1f} ")
    assert "41.0: " in first
    assert first.endswith(said)
    assert second.startswith(f"test 2017    {ours - 6:.1f} ")
    assert second.endswith("none we could check")


@pytest.fixture
def _stored(stored):
    stored(
        "multi30k_scores",
        comparison={"bleu": 38.0, "other": 37.0, "p_value": 0.0125},
        margin=1.25,
        by_length=[
            {"first": 1, "last": 8, "sentences": 60, "bleu": 42.0, "margin": 2.0},
            {"first": 9, "last": 99, "sentences": 40, "bleu": 35.0, "margin": 5.0},
        ],
        scorings=[{"rule": "by letters", "bleu": 66.0, "signature": "s"}],
    )
    stored(
        "multi30k_beams",
        runs=[
            {"width": 1, "bleu": 37.0, "seconds": 2.0, "length": 0.9},
            {"width": 5, "bleu": 38.5, "seconds": 9.0, "length": 1.0},
        ],
    )
    stored(
        ch12_training_run.NAME,
        averaged_epochs=10,
    )
    stored(
        "multi30k_average",
        runs=[
            {"epochs": 1, "validation_bleu": 36.0},
            {"epochs": 10, "validation_bleu": 37.25},
        ],
    )
    stored(
        "multi30k_probes",
        probes=[
            {
                "label": label,
                "split": split,
                "by_layer": [start, start + 0.1 + split / 10],
                "by_subword": 0.4,
                "chance": 0.05,
            }
            for label, start in STARTS.items()
            for split in (0, 1)
        ],
        heads=[[0.25, 0.5], [0.75, 1.0]],
        mean=0.875,
        diagonal=0.4,
    )
    stored(
        "toy_ablation",
        runs=[
            {
                "change": name,
                "seed": seed,
                "exact": {"1": 1.0, "2": row / 10 + seed / 100},
                "validation_loss": 0.1 * (seed + 1),
            }
            for row, name in enumerate(CHANGES)
            for seed in (0, 1)
        ],
    )


STARTS = {
    "itself": 0.9,
    "the one before": 0.1,
    "the one after": 0.2,
    "its translation": 0.5,
}


@pytest.mark.usefixtures("_stored")
def test_stored_scores_are_printed(capsys):
    ch12_scores.print_scorings()
    ch12_scores.print_comparison()
    ch12_scores.print_alphas(a_run())
    ch12_training_run.print_average()
    said = capsys.readouterr().out
    for part in (
        "66.0",
        "beam 38.0; on sentences drawn anew ± 1.2",
        "beam less greedy +1.0",
        "p = 0.013",
        "α = 1.0: validation BLEU 31.50  taken",
        "α = 0.0: validation BLEU 30.00\n",
        "the last epoch  36.00\n",
        "the last 10     37.25  shipped",
    ):
        assert part in said


@pytest.mark.parametrize(("p", "said"), [(1 / 1001, "p ≤ 0.001"), (0.002, "p = 0.002")])
def test_the_smallest_p_is_a_bound(stored, capsys, p, said):
    comparison = {"bleu": 38.0, "other": 39.0, "p_value": p}
    stored("multi30k_scores", comparison=comparison, margin=1.0)
    ch12_scores.print_comparison()
    printed = capsys.readouterr().out
    assert "beam less greedy -1.0" in printed
    assert printed.rstrip().endswith(said)


@pytest.mark.usefixtures("_stored")
def test_beams_and_lengths_are_drawn():
    bleu, seconds = ch12_scores.beams_figure().axes
    for ax, values in ((bleu, [37, 38.5]), (seconds, [2, 9])):
        [line] = ax.get_lines()
        assert list(line.get_xdata()) == [1, 5]
        assert list(line.get_ydata()) == values
    ax = ch12_scores.lengths_figure().axes[0]
    assert [bar.get_height() for bar in ax.patches] == [42, 35]
    [ranges] = (c for c in ax.collections if hasattr(c, "get_segments"))
    ends = [[y for _, y in segment] for segment in ranges.get_segments()]
    assert ends == [[40, 44], [30, 40]]
    labels = [t.get_text() for t in ax.get_xticklabels()]
    assert labels == ["to 8\n(60)", "9 on\n(40)"]


@pytest.mark.parametrize("at_hand", [True, False])
def test_the_worst_are_shown_with_what_is_at_hand(stored, monkeypatch, capsys, at_hand):
    stored(
        f"{ch12_training_run.NAME}_hypotheses",
        test_2016_flickr={"beam": ["eins", "zwei " * 90]},
    )
    monkeypatch.setattr(ch12_scores.multi30k, "available", lambda: at_hand)
    monkeypatch.setattr(
        ch12_scores.multi30k, "sentences", lambda split, language: [language] * 2
    )
    ch12_scores.print_worst([1])
    said = capsys.readouterr().out
    assert "zwei" in said
    assert "eins" not in said
    assert ("1 English   en" in said) == ("1 right     de" in said) == at_hand
    assert max(map(len, said.splitlines())) <= 79
    assert len(said.splitlines()) == (5 if at_hand else 3)
    assert " …" in said


# Layers, heads, parts


@torch.no_grad()
def test_a_look_is_the_weights_of_its_own_translation():
    translator = Translator()
    found = ch12_attention.translate_with_weights(translator, "Two dogs run.")
    run, subwords = translator.config, translator.subwords
    [said] = translator(["Two dogs run."])
    assert found.source == [*subwords.pieces("Two dogs run."), "<eos>"]
    assert found.target == [*subwords.pieces(said), "<eos>"]
    shape = (run.n_layers, run.n_heads, len(found.target), len(found.source))
    assert found.weights.shape == shape
    assert torch.allclose(found.weights.sum(-1), torch.ones(shape[:-1]), atol=1e-5)


def test_a_map_has_a_row_a_target_subword():
    weights = torch.zeros(2, 2, 2, 3)
    weights[..., 0, 1] = torch.tensor([[0.0, 0.2], [0.4, 0.6]])
    found = ch12_attention.TranslationWeights(
        ["a", "b", "<eos>"], ["x", "<eos>"], weights
    )
    [ax] = ch12_attention.map_figure(found).axes
    drawn = cells(ax)
    assert drawn.shape == (2, 3)
    assert drawn[0, 1] == pytest.approx(0.3)
    assert [t.get_text() for t in ax.get_xticklabels()] == found.source
    assert [t.get_text() for t in ax.get_yticklabels()] == found.target


@pytest.mark.usefixtures("_stored")
def test_probes_are_means_over_splits(capsys):
    [ax] = ch12_probes.probes_figure().axes
    lines = {line.get_label(): line for line in ax.get_lines()}
    assert set(lines) == set(STARTS)
    for name, start in STARTS.items():
        wanted = [100 * start, 100 * (start + 0.15)]
        assert list(lines[name].get_ydata()) == pytest.approx(wanted)
    ch12_probes.print_probes()
    row = capsys.readouterr().out.splitlines()[4]
    assert row.split() == ["its", "translation", "50%", "65%", "40%", "5%"]


@pytest.mark.usefixtures("_stored")
def test_heads_are_printed_by_layer(capsys):
    ch12_attention.print_heads()
    assert capsys.readouterr().out.splitlines() == [
        "layer 1, by head:  25%  50%",
        "layer 2, by head:  75% 100%",
        "best single head 100%, mean of all heads' weights 88%",
        "the diagonal, without a model 40%",
    ]


@pytest.mark.usefixtures("_stored")
def test_the_ablation_is_printed_with_ranges(capsys):
    ch12_comparisons.print_toy_ablation()
    _, first, *_ = capsys.readouterr().out.splitlines()
    assert first.split() == ["as", "it", "is", "0", "(0–1)", "0.150", "(0.100–0.200)"]


# Exercises


def test_the_output_share_is_what_the_counter_says():
    run = config("toy", d_ff=96)
    model = model_from_config(run, 300)
    n = 9
    batch = id_batch([IdPair([5] * (n - 1), [5] * (n - 1))] * 2)
    whole = count(lambda: model(batch.src, batch.tgt_in)) / batch.tgt_in.numel()
    share = find("ex12_output_share").reference(n, run.d_model, 96, run.n_layers, 300)
    assert run.d_model * 300 / whole == pytest.approx(share)


def test_the_loss_of_an_update_does_not_depend_on_its_batches():
    right = find("ex12_update_loss").reference
    for losses, real in find("ex12_update_loss").inputs():
        apart = right(
            *([row[None] for x in both for row in x] for both in (losses, real))
        )
        assert torch.isclose(right(losses, real), apart)


def test_the_parrot_is_scored_as_by_hand():
    said, right = (
        ["a", "dog", "a", "dog", "a", "dog", "a", "dog"],
        ["a", "dog", "runs", "after", "a", "dog"],
    )
    found = [matching_ngrams(said, right, n) for n in (1, 2, 3, 4)]
    assert found == find("ex12_matches").reference
