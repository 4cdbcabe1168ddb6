"""The control of chapter 1: as wide a channel as the initial state, at every step."""

import torch

from attnbook.course.ch01.narrow_context import NarrowContext
from attnbook.models.seq2seq import InitialState


def test_both_models_read_the_source_through_as_many_numbers():
    """Whatever the source, the decoder depends on it through (B, H) alone."""
    src, tgt = torch.tensor([[4, 5, 2], [6, 2, 0]]), torch.tensor([[1, 7], [1, 8]])
    torch.manual_seed(0)
    narrow, initial = NarrowContext(11, 12, 4, 6), InitialState(11, 12, 4, 6)
    state = narrow.start(src)
    assert state.c is state.s
    assert state.c.shape == initial.start(src).shape == (2, 6)
    logits = narrow(src, tgt)
    narrow.start = lambda _: state
    assert torch.equal(narrow(torch.full_like(src, 9), tgt), logits)


def test_the_context_is_read_at_every_step():
    torch.manual_seed(0)
    model = NarrowContext(11, 12, 4, 6)
    state = model.start(torch.tensor([[4, 5, 2]]))
    token = torch.tensor([7])
    for part in ("s", "c"):
        logits, new = model.step(token, state._replace(**{part: state.s + 1}))
        assert not torch.equal(logits, model.step(token, state)[0])
        assert torch.equal(new.c, state.c) == (part == "s")
