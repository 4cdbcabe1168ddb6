"""What is right passes every check; each silent bug fails at least one."""

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from attnbook.analysis.model_checks import (
    check_attention,
    check_loss,
    check_model,
    check_norm,
)
from attnbook.course.silent_bugs import BUGS
from attnbook.models import Bahdanau, Luong, StaticContext, Transformer
from attnbook.nn import TransformerConfig, attention, layer_norm

V = 20


def make(kind=Transformer, norm_first=True):
    torch.manual_seed(0)
    sizes = {"d_model": 16, "n_heads": 4, "n_layers": 2, "d_ff": 32, "dropout": 0.1}
    return kind(TransformerConfig(V, V, norm_first=norm_first, **sizes))


class Library(nn.Module):
    """PyTorch's own Transformer, with or without masks of padding."""

    def __init__(self, masks=True):
        super().__init__()
        torch.manual_seed(0)
        self.masks = masks
        self.embedding = nn.Embedding(V, 16)
        self.positions = nn.Parameter(torch.randn(30, 16))
        self.layers = nn.Transformer(16, 4, 2, 2, 32, batch_first=True)
        self.layers.encoder.use_nested_tensor = False  # avoids a warning
        self.out = nn.Linear(16, V)

    def forward(self, src, tgt):
        x, y = (self.embedding(i) + self.positions[: i.shape[1]] for i in (src, tgt))
        causal = torch.ones(y.shape[1], y.shape[1], dtype=torch.bool).triu(1)
        padding = src == 0 if self.masks else None
        masks = {"src_key_padding_mask": padding, "memory_key_padding_mask": padding}
        return self.out(self.layers(x, y, tgt_mask=causal, **masks))


def failures(checks):
    return [check.should for check in checks if not check.holds]


RIGHT = {
    "pre-norm": make,
    "post-norm": lambda: make(norm_first=False),
    "PyTorch's": Library,
    **{kind.__name__: lambda kind=kind: kind(V, V, 8, 12) for kind in (
        StaticContext, Bahdanau, Luong
    )},
}  # fmt: skip


@pytest.mark.parametrize("name", RIGHT)
def test_what_is_right_passes(name):
    assert failures(check_model(RIGHT[name](), V)) == []


def unordered():
    model = make()
    model.positions.forward = lambda x, offset=0: x
    return model


def unread():
    model = make()
    for layer in model.decoder:
        layer.cross_attention.W_O = nn.Linear(16, 16)
        nn.init.zeros_(layer.cross_attention.W_O.weight)
    return model


WRONG = BUGS | {
    "PyTorch's, without masks": lambda: check_model(Library(masks=False), V),
    "the source unread": lambda: check_model(unread(), V),
    "blind to order": lambda: check_model(unordered(), V),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_fails(name):
    assert failures(WRONG[name]()) != []


def test_the_model_is_left_as_it_was():
    model = make().train()
    before = {name: weight.clone() for name, weight in model.state_dict().items()}
    check_model(model, V)
    assert model.training
    assert model.dropout.p == 0.1
    assert all(parameter.grad is None for parameter in model.parameters())
    assert all(torch.equal(model.state_dict()[n], w) for n, w in before.items())


def test_attention_is_questioned():
    assert failures(check_attention(attention)) == []
    assert failures(check_attention(F.scaled_dot_product_attention)) == []
    for wrong in (
        lambda q, k, v, mask: attention(q, k, v, mask, scale=8**-0.25),
        lambda q, k, v, mask: attention(q, k, v),
        lambda q, k, v, mask: attention(q, k, v, ~mask),
        lambda q, k, v, mask: (
            (q @ k.mT / 8**0.5).masked_fill(~mask, 1e-9).softmax(-1) @ v
        ),
        lambda q, k, v, mask: (
            (q @ k.mT / 8**0.5).masked_fill(~mask, float("-inf")).softmax(-1) @ v
        ),
        lambda q, k, v, mask: (q @ k.mT / 8**0.5).softmax(-1) * mask @ v,
    ):
        assert failures(check_attention(wrong)) != []


def flat(loss):
    return lambda logits, targets: loss(logits.flatten(0, 1), targets.flatten())


def test_a_loss_is_questioned():
    right = flat(nn.CrossEntropyLoss(ignore_index=0))
    assert failures(check_loss(right)) == []
    for wrong in (
        flat(nn.CrossEntropyLoss()),
        flat(nn.CrossEntropyLoss(ignore_index=0, reduction="sum")),
        lambda logits, targets: right(logits.softmax(-1), targets),
        lambda logits, targets: right(logits[:, :-1], targets[:, 1:]),
    ):
        assert failures(check_loss(wrong)) != []


def test_a_norm_is_questioned():
    right = lambda x: layer_norm(x, torch.ones(4), torch.zeros(4))  # noqa: E731
    assert failures(check_norm(right)) == []
    assert failures(check_norm(nn.LayerNorm(4))) == []
    for wrong in (
        lambda x: (x - x.mean(-1, keepdim=True)) / (x.std(-1, keepdim=True) + 1e-6),
        lambda x: (x - x.mean(-1, keepdim=True)) / x.std(-1, False, keepdim=True),
        lambda x: F.layer_norm(x, x.shape[1:]),
        lambda x: F.rms_norm(x, (4,)),
    ):
        assert failures(check_norm(wrong)) != []
