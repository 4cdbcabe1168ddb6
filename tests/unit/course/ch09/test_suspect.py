"""Chapter 9's suspect: its tasks, and what each of its bugs does."""

from itertools import combinations

import pytest
import torch

from attnbook.analysis.bug_zoo import WrongSplit
from attnbook.analysis.leaks import influence
from attnbook.core.vocabulary import BOS, EOS
from attnbook.course.ch09.suspect import accuracy, copies, planted, reversals


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


def test_accuracy_is_the_share_of_symbols():
    src, read, tgt = next(reversals(seed=0))
    outputs = torch.nn.functional.one_hot(tgt, 19).float()
    outputs[:, :2] = 0  # the largest is then that of padding
    assert accuracy(lambda *inputs: outputs, (src, read, tgt)) == 0.75
