"""Chapter 12's runs, its exercises, and the code that its page prints."""

import math
from collections import Counter
from itertools import pairwise

import pytest
import torch
from notebook_cells import printed

from attnbook.core import results
from attnbook.course.ch12 import figures
from attnbook.course.kit.exercises.checking import find, verdict
from attnbook.data.bpe_from_scratch import learn_merges
from attnbook.nn.losses import label_smoothing_loss
from attnbook.translation.bleu_from_scratch import matching_ngrams
from attnbook.translation.bleu_score import corpus_bleu
from attnbook.translation.configs import CONFIGS
from attnbook.translation.translator import Translator

# The run of the chapter


@pytest.mark.parametrize(
    ("device", "name"), [("cpu", "multi30k-cpu"), ("cuda", "multi30k-tiny")]
)
def test_live_trains_what_suits_the_device_and_adds_the_log(
    monkeypatch, tmp_path, device, name
):
    asked = []

    def train(run, folder):
        asked.append((run, folder))
        (folder / "metrics.jsonl").write_text('{"step": 1}\n')
        return {"updates": 9}

    monkeypatch.setattr(figures, "train", train)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: device == "cuda")
    monkeypatch.delenv("ATTNBOOK_DEVICE", raising=False)
    found = figures.run("live", folder=tmp_path)
    assert found == {"updates": 9, "log": [{"step": 1}]}
    assert asked == [(CONFIGS[name], tmp_path)]
    with pytest.raises(ValueError, match="recorded or live"):
        figures.run("alive")


def test_the_floor_is_the_loss_of_a_model_that_outputs_the_target_distribution():
    v, amount = 50, 0.1
    p = torch.full((v,), amount / v)
    p[7] += 1 - amount
    least = label_smoothing_loss(p.log()[None, None], torch.tensor([[7]]), amount)
    floor = figures.smoothed_floor(amount, v)
    assert floor == pytest.approx(least.item(), abs=1e-5)


def test_short_stretches_of_the_log_are_joined():
    losses = {50: 6.0, 96: 4.0, 100: 2.0, 150: 3.0, 192: 1.0}
    log = [{"step": step, "loss": loss} for step, loss in losses.items()]
    log.insert(2, {"step": 96, "validation_loss": 3.0})
    steps, means = figures.training_losses(log)
    assert steps == [50, 100, 150]
    assert means == pytest.approx([6, (46 * 4 + 4 * 2) / 50, 3])
    assert figures.training_losses(log, least=1)[0] == [*losses]


# Other runs


def test_what_the_laboratory_says_without_a_table():
    log = figures.part("ladder")["runs"]["bahdanau"]["log"]
    jump = [
        line for line in log if line["epoch"] in (3, 4) and "validation_bleu" in line
    ]
    for line, bleu, runaway in zip(jump, (12.9, 26), (4.2, 0.1), strict=True):
        assert line["validation_bleu"] == pytest.approx(bleu, abs=0.05)
        assert round(100 * line["validation_runaway"], 1) == runaway


def test_stored_results_are_of_the_shipped_model():
    assert results.load("multi30k_beams")["alpha"] == Translator().facts["alpha"]
    run = results.load("multi30k_en_de")["scores"]
    found = results.load("multi30k_scores")
    for entry, how in (("bleu", "beam, cased"), ("other", "greedy, cased")):
        wanted = run["test_2016_flickr"][how]["bleu"]
        assert found["comparison"][entry] == pytest.approx(wanted)
    headline = results.load("multi30k_headline")["scores"]
    assert headline.keys() == run.keys()
    for split, scores in headline.items():
        for name, score in scores.items():
            assert score["bleu"] == pytest.approx(run[split][name]["bleu"])
            assert score["signature"] == run[split][name]["signature"]
    outputs = results.load("multi30k_en_de_hypotheses")["test_2016_flickr"]["beam"]
    one, other = (outputs[i] for i in found["worst"][:2])  # as the laboratory says
    assert "Budonch" in one
    assert "Donama" in other


# Exercises


def squared(segmented, counts):
    """Counts a pair that occurs twice in a word four times."""
    found = Counter()
    for word, symbols in segmented.items():
        pairs = list(pairwise(symbols))
        for pair in pairs:
            found[pair] += pairs.count(pair) * counts[word]
    return max(found, key=found.get)


def in_characters(segmented, counts):
    """Counts where a pair stands in the word, merged or not."""
    pairs = {pair for symbols in segmented.values() for pair in pairwise(symbols)}

    def count(pair):
        return sum(word.count("".join(pair)) * n for word, n in counts.items())

    return max(sorted(pairs), key=count)


@pytest.mark.parametrize("count", [squared, in_characters])
def test_pairs_that_are_counted_otherwise_are_wrong(count):
    name = "ex12_next_merge"
    assert "not yet right" in verdict(find(name), name, count)


def test_one_pair_is_the_most_frequent():
    for segmented, counts in find("ex12_next_merge").inputs():
        found = Counter()
        for word, symbols in segmented.items():
            for pair in pairwise(symbols):
                found[pair] += counts[word]
        (_, first), (_, second) = found.most_common(2)
        assert first > second


def test_the_parrot_is_scored_as_by_hand():
    output, reference = ["a", "dog"] * 4, ["a", "dog", "runs", "after", "a", "dog"]
    found = [matching_ngrams(output, reference, n) for n in (1, 2, 3, 4)]
    assert found == find("ex12_matches").reference
    smoothed = (4 / 8 * 2 / 7 * 1 / 12 * 1 / 20) ** 0.25
    found = corpus_bleu([" ".join(output)], [" ".join(reference)]).bleu
    assert found == pytest.approx(100 * smoothed)
    assert round(found, 1) == 15.6


# The page's own code, at its edges


@pytest.mark.parametrize("n", [0, 1, 8, 30, 40, 1000])
def test_merges_end_when_every_word_is_one_symbol(n):
    learn = printed("ch12", "learn_merges")
    words = learn.__globals__["words"]
    assert learn(n) == learn_merges(words, n)


def test_nothing_to_merge_is_refused():
    merge = printed("ch12", "ex12_next_merge", solution=True)
    assert merge({"ab": ["a", "b"]}, {"ab": 2}) == ("a", "b")
    with pytest.raises(ValueError, match="empty"):
        merge({"ab": ["ab"]}, {"ab": 2})


@pytest.mark.parametrize("name", ["smoothed_loss", "label_smoothing_loss"])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("lowest", [-3.0, -math.inf])
def test_losses_of_the_page_are_pytorchs(name, smoothing, lowest):
    loss = printed("ch12", name, solution=name.startswith("label"))
    logits = torch.tensor([[[0.0, 0, lowest, 1], [1, lowest, 0, 2]]]).double()
    targets = torch.tensor([[3, 0]])
    logits.requires_grad_()
    wanted = torch.nn.functional.cross_entropy(
        logits[0], targets[0], reduction="none", label_smoothing=smoothing,
        ignore_index=0,
    )  # fmt: skip
    found = loss(logits, targets, smoothing)[0]
    assert torch.allclose(found, wanted, 1e-12, 1e-12)
    if smoothing == 0:
        both = [torch.autograd.grad(x.sum(), logits)[0] for x in (found, wanted)]
        assert torch.allclose(*both, 1e-12, 1e-12)
