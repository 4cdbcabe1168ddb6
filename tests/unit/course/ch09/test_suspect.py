"""Chapter 9's suspect: its tasks, and what each of its bugs does."""

import pytest
import torch

from attnbook.analysis.bug_zoo import WrongSplit
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


@pytest.mark.parametrize("wrong", [(), ("softmax",), ("heads", "scale")])
def test_builds_are_wrong_where_they_say_so(wrong):
    built = planted(wrong)
    attention = built.encoder[0].attention
    assert isinstance(attention, WrongSplit) == ("heads" in wrong)
    assert (attention.scale is not None) == ("scale" in wrong)
    inputs = next(reversals(seed=0))[:2]
    sums = built(*inputs).sum(-1)
    assert torch.allclose(sums, torch.ones(64, 8)) == ("softmax" in wrong)


def test_accuracy_is_the_share_of_symbols():
    src, read, tgt = next(reversals(seed=0))
    outputs = torch.nn.functional.one_hot(tgt, 19).float()
    outputs[:, :2] = 0  # the largest is then that of padding
    assert accuracy(lambda *inputs: outputs, (src, read, tgt)) == 0.75
