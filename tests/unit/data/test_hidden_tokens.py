"""Texts with gaps: what is hidden, what is a target, and how often."""

import pytest
import torch

from attnbook.core.vocabulary import BOS, EOS, PAD
from attnbook.data.batching import pad
from attnbook.data.hidden_tokens import hide_tokens

MASK = 99


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def test_hidden_words_are_targets_and_all_else_stays():
    ids = pad([[BOS, *range(10, 30), EOS], [BOS, 5, EOS], [7]])
    given, targets = hide_tokens(ids, 0.3, MASK, generator())
    hidden = given == MASK
    assert torch.equal(given[~hidden], ids[~hidden])
    assert torch.equal(targets[hidden], ids[hidden])
    assert (targets[~hidden] == PAD).all()
    assert not hidden[ids <= EOS].any()


def test_the_share_is_right_and_no_text_is_left_whole():
    ids = torch.full((400, 50), 7)
    for share in (0.15, 0.5, 1.0):
        hidden = hide_tokens(ids, share, MASK, generator())[0] == MASK
        assert hidden.double().mean().item() == pytest.approx(share, abs=0.01)
    short = torch.full((400, 2), 7)
    assert (hide_tokens(short, 0.01, MASK, generator())[0] == MASK).any(1).all()


def test_a_row_without_words_stays():
    ids = pad([[BOS, EOS], [7, 8]])
    given, targets = hide_tokens(ids, 0.5, MASK, generator())
    assert given[0].tolist() == [BOS, EOS]
    assert targets[0].tolist() == [PAD, PAD]


@pytest.mark.parametrize("share", [0, -0.1, 1.1])
def test_a_share_out_of_range_is_refused(share):
    with pytest.raises(ValueError, match="above 0 and at most 1"):
        hide_tokens(torch.full((1, 2), 7), share, MASK, generator())
