"""Chapter 9's broken builds: which bugs they have, and what they learned."""

from itertools import combinations

import pytest
import torch

from attnbook.analysis.bug_zoo import WrongSplit
from attnbook.core import results
from attnbook.core.vocabulary import BOS, EOS
from attnbook.course.ch09 import experiment_broken_builds as broken_builds


def test_reversals_are_shifted_and_reversed():
    src, read, output = next(broken_builds.reversals(seed=0))
    assert src.shape == read.shape == output.shape == (64, 8)
    assert torch.equal(output, src.flip(1))
    assert (read[:, 0] == BOS).all()
    assert torch.equal(read[:, 1:], output[:, :-1])
    assert src.min() > EOS


@pytest.mark.parametrize("wrong", [(), ("scale",), ("heads",), ("softmax", "heads")])
def test_builds_are_wrong_where_they_say_so(wrong):
    torch.manual_seed(0)
    built = broken_builds.broken_transformer(wrong)
    model = built.model if "softmax" in wrong else built
    attention = model.encoder[0].attention
    assert isinstance(attention, WrongSplit) == ("heads" in wrong)
    assert (attention.scale is not None) == ("scale" in wrong)
    inputs = next(broken_builds.reversals(seed=0))[:2]
    sums = built(*inputs).sum(-1)
    assert torch.allclose(sums, torch.ones(64, 8)) == ("softmax" in wrong)


@torch.no_grad()
def test_each_bug_counts_beside_every_other():
    src, read, _ = next(broken_builds.reversals(seed=0))
    outputs = {}
    for size in range(4):
        for wrong in combinations(("softmax", "heads", "scale"), size):
            torch.manual_seed(0)
            model = broken_builds.broken_transformer(wrong).eval()
            outputs[wrong] = model(src, read)
    for one, other in combinations(outputs.values(), 2):
        assert not torch.allclose(one, other)


def test_stored_builds_are_complete_and_as_the_page_tells():
    stored = results.load("broken_builds")
    right, loss = {}, {}
    for name in broken_builds.BUILDS:
        runs = [run for run in stored["runs"] if run["build"] == name]
        assert [run["seed"] for run in runs] == list(broken_builds.SEEDS)
        right[name] = [run["right"] for run in runs]
        loss[name] = [run["loss"] for run in runs]
    for name, wrong in broken_builds.BUILDS.items():
        if "heads" in wrong:
            assert max(right[name]) < 0.08  # chance is 1/16
        elif "softmax" not in wrong:
            assert min(right[name]) > 0.98
    assert min(loss["all but the softmax"]) > 2.03
