"""Chapter 9's broken builds: which bugs they have, and what they learned."""

from itertools import combinations
from statistics import fmean

import pytest
import torch

from attnbook.analysis.bug_zoo import WrongSplit
from attnbook.analysis.leaks import influence
from attnbook.core import results
from attnbook.core.vocabulary import BOS, EOS
from attnbook.course.ch09 import experiment_broken_builds as broken_builds
from attnbook.course.ch09.suspect import SUSPECT, accuracy, copies, planted, reversals
from attnbook.nn.multi_head import MultiHeadAttention


def test_copies_and_reversals_are_shifted():
    src, read, output = next(reversals(seed=0))
    assert src.shape == read.shape == output.shape == (64, 8)
    assert torch.equal(output, src.flip(1))
    copied = next(copies(seed=0))
    assert torch.equal(copied[0], src)
    assert torch.equal(copied[2], src)
    assert (read[:, 0] == BOS).all()
    assert torch.equal(read[:, 1:], output[:, :-1])
    assert src.min() > EOS


@pytest.mark.parametrize("wrong", [(), ("scale",), ("heads",), ("softmax", "heads")])
def test_builds_are_wrong_where_they_say_so(wrong):
    built = planted(wrong)
    attention = built.encoder[0].attention
    assert isinstance(attention, WrongSplit) == ("heads" in wrong)
    assert (attention.scale is not None) == ("scale" in wrong)
    inputs = next(reversals(seed=0))[:2]
    sums = built(*inputs).sum(-1)
    assert torch.allclose(sums, torch.ones(64, 8)) == ("softmax" in wrong)


@torch.no_grad()
def test_each_bug_counts_beside_every_other():
    src, read, _ = next(reversals(seed=0))
    outputs = {}
    for size in range(4):
        for wrong in combinations(("softmax", "heads", "scale"), size):
            outputs[wrong] = planted(wrong).eval()(src, read)
    for one, other in combinations(outputs.values(), 2):
        assert not torch.allclose(one, other)


def test_no_output_of_the_suspect_depends_on_the_symbol_that_a_reversal_needs():
    src, read, _ = next(reversals(seed=0))
    suspect, right = planted().eval(), planted(["scale"]).eval()
    changed = torch.where(src == 5, 6, 5)
    block = torch.arange(8) // 2  # four heads, eight positions
    for model, expected in ((suspect, block == block[:, None]), (right, True)):
        moved = influence(lambda ids, model=model: model(ids, read), src, changed)
        assert ((moved > 0) == expected).all()


@torch.no_grad()
def test_a_wrong_scale_is_a_right_model_with_larger_queries():
    src, read, _ = next(reversals(seed=0))
    wrong, right = planted(["scale"], n_heads=16).eval(), planted([], n_heads=16).eval()
    for module in right.modules():
        if isinstance(module, MultiHeadAttention):
            module.W_Q.weight.mul_(4)  # √16
    torch.testing.assert_close(wrong(src, read), right(src, read))


def test_accuracy_is_the_share_of_symbols():
    src, read, tgt = next(reversals(seed=0))
    halves = torch.nn.functional.one_hot(tgt, 19).float()
    halves[:, :4] = 0  # the largest is then that of padding
    assert accuracy(lambda *inputs: halves, (src, read, tgt)) == 0.5


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


def test_stored_tests_of_the_suspect_are_as_the_page_tells():
    runs = results.load("suspect_tests")["runs"]
    assert [run["seed"] for run in runs] == list(broken_builds.SEEDS)
    assert broken_builds.BUILDS["softmax mended"] == SUSPECT
    for run in runs:
        assert run["copying"] == run["one_batch"] == 1
        assert max(run["one_batch_new"], run["longer"]) < 0.08


def test_stored_models_of_sixteen_heads_lose_by_the_wrong_scale():
    runs = results.load("sixteen_heads")["runs"]
    right = {
        wrong: fmean(run["right"] for run in runs if run["bugs"] == [*wrong])
        for wrong in ((), ("scale",))
    }
    assert len(runs) == 6
    assert right[()] - right["scale",] == pytest.approx(0.12, abs=0.005)
