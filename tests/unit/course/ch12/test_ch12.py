"""Chapter 12's runs, its exercises, and the code that its page prints."""

import math
import random

import pytest
import torch
from notebook_cells import printed

from attnbook.core import results
from attnbook.course.kit.exercises.short_exercises import find
from attnbook.data.bpe_from_scratch import learn_merges
from attnbook.translation.bleu_from_scratch import matching_ngrams
from attnbook.translation.bleu_score import corpus_bleu

# The run of the chapter


def test_stored_results_are_of_the_shipped_model():
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


# Exercises


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_merges_without_recounting_are_those_of_counting_again(seed):
    rng = random.Random(seed)
    words = {
        "".join(rng.choices("abc", k=rng.randint(1, 9))): rng.randint(1, 5)
        for _ in range(30)
    }
    merges = printed("ch12", "ex12_merges", solution=True)
    assert merges(words, 200) == find("ex12_merges").reference(words, 200)


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
