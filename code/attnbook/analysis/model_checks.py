"""Checks that find silent bugs in any implementation: its inside need not be known.

Each function questions a translator, an attention, a loss or a norm, and returns for
each question what should hold, whether it does, and the number that decided it.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from attnbook.analysis.leaks import influence
from attnbook.core.vocabulary import PAD

FIRST = 4  # the first id that is a word; those before are special tokens


class Check(NamedTuple):
    """An answer: what should hold, whether it does, and the number that decided it."""

    should: str
    holds: bool
    found: float


class Answers(list[Check]):
    """Checks, each added by how far something moved; NaN counts as a failure.

    Args:
        tolerance: The largest change that is called rounding.
    """

    def __init__(self, tolerance: float):
        self.tolerance = tolerance

    def rests(self, should: str, change: Tensor) -> None:
        """Add a check that holds if nothing has changed."""
        found = change.abs().max().item()
        self.append(Check(should, found <= self.tolerance, found))

    def moves(self, should: str, change: Tensor) -> None:
        """Add a check that holds if everything has changed."""
        found = change.abs().min().item()
        self.append(Check(should, found > self.tolerance, found))


def check_model(model: nn.Module, vocab_size: int) -> list[Check]:
    """Question a translator, trained or not: which changes move its logits?

    Args:
        model: Called with source and target ids, (B, S) and (B, T), padded with 0 on
            the right, it returns logits, (B, T, V). With ``start`` and ``step`` it is
            asked to decode, too. The model itself isn't changed.
        vocab_size: Ids from 4 to below this one are words of both languages.
    """
    model, ask = without_dropout(model).eval(), Answers(1e-4)
    g = torch.Generator().manual_seed(0)
    src, tgt = (torch.randint(FIRST, vocab_size, (2, n), generator=g) for n in (7, 6))
    src[1, 5:], tgt[1, 4:] = PAD, PAD
    with torch.no_grad():
        _ask_for_influence(ask, model, src[:1], tgt[:1], vocab_size)
        _ask_for_padding(ask, model, src, tgt)
        if hasattr(model, "start") and hasattr(model, "step"):
            change = by_steps(model, src[:1], tgt[:1], tgt[:1].flip(1))
            ask.rests("step by step, two hypotheses get the logits of one pass", change)
    _ask_for_gradients(ask, model, src, tgt)
    return ask


def _ask_for_influence(
    ask: Answers, model: nn.Module, src: Tensor, tgt: Tensor, vocab_size: int
) -> None:
    """Change the tokens of one sentence, (1, S) and (1, T), one or two at a time."""
    logits = model(src, tgt)  # (1, T, V)
    others = [FIRST + (ids - FIRST + 1) % (vocab_size - FIRST) for ids in (src, tgt)]
    by_source = influence(lambda ids: model(ids, tgt), src, others[0])  # (T, S)
    by_target = influence(lambda ids: model(src, ids), tgt, others[1])  # (T, T)
    earlier = torch.ones_like(by_target).tril().bool()
    ask.rests("a later target token moves no earlier logit", by_target[~earlier])
    ask.moves("each target token moves its logits and later ones", by_target[earlier])
    ask.moves("each source token moves all logits", by_source)
    change = model(src.flip(1), tgt) - logits
    ask.moves("the order of the source moves all logits", change.abs().amax(-1))
    turned = torch.cat([tgt[:, :-1].flip(1), tgt[:, -1:]], 1)
    change = model(src, turned)[:, -1] - logits[:, -1]
    ask.moves("the order of the target moves the last logits", change.abs().amax(-1))
    change = model(src, tgt[:, :-1]) - logits[:, :-1]
    ask.rests("a shorter target leaves the other logits alone", change)
    sums = torch.stack([logits.sum(-1) - 1, logits.amin(-1).clamp(max=0)])
    ask.moves("the outputs aren't probabilities", sums.abs().amax(0))


def _ask_for_padding(ask: Answers, model: nn.Module, src: Tensor, tgt: Tensor) -> None:
    """Pad a batch of two sentences, (2, S) and (2, T), more or less."""
    logits, real = model(src, tgt), tgt != PAD
    padded = model(F.pad(src, (0, 3)), F.pad(tgt, (0, 2)))[:, : tgt.shape[1]]
    ask.rests("more padding moves nothing", (padded - logits)[real])
    alone = [
        model(*(ids[i : i + 1, : (ids[i] != PAD).sum()] for ids in (src, tgt)))[0]
        for i in range(2)
    ]
    change = torch.cat(alone) - logits[real]
    ask.rests("alone and in a batch, a sentence has the same logits", change)
    change = model.train()(src, tgt) - logits
    model.eval()
    ask.rests("without dropout, training and eval mode agree", change[real])


def _ask_for_gradients(
    ask: Answers, model: nn.Module, src: Tensor, tgt: Tensor
) -> None:
    """Look for trained parameters that no gradient reaches."""
    model.zero_grad()
    logits = model(src, tgt)
    F.cross_entropy(logits.flatten(0, 1), tgt.flatten(), ignore_index=PAD).backward()
    trained = [p for p in model.parameters() if p.requires_grad]
    dead = [float(p.grad is None or not p.grad.any()) for p in trained]
    ask.rests("a gradient reaches each parameter", torch.tensor(dead))


def without_dropout(model: nn.Module) -> nn.Module:
    """A copy of a model whose dropout rates are 0."""
    model = copy.deepcopy(model)
    for module in model.modules():
        for name, value in [*vars(module).items()]:
            if isinstance(value, float) and (name == "p" or "drop" in name):
                setattr(module, name, 0.0)
    return model


def by_steps(model: nn.Module, src: Tensor, *hypotheses: Tensor) -> Tensor:
    """How far the logits of steps, taken in turn for each hypothesis, are from a pass.

    Args:
        model: With ``start`` and ``step``.
        src: Source ids, (1, S).
        hypotheses: Target ids, (1, T) each, of K hypotheses.

    Returns:
        Differences, (K, T, V); NaN if the model refuses.
    """
    try:
        states = [model.start(src) for _ in hypotheses]
    except ValueError:  # it can't decode
        return torch.tensor(math.nan)
    logits: list[list[Tensor]] = [[] for _ in hypotheses]
    for t in range(hypotheses[0].shape[1]):
        for k, ids in enumerate(hypotheses):
            new, states[k] = model.step(ids[:, t], states[k])
            logits[k].append(new)
    passes = torch.cat([model(src, ids) for ids in hypotheses])
    return torch.cat([torch.stack(steps, 1) for steps in logits]) - passes


def check_attention(attend: Callable[..., Tensor]) -> list[Check]:
    """Question a function of queries, keys, values and a mask.

    Args:
        attend: Called with (B, H, T, d_k), (B, H, S, d_k), (B, H, S, d_v) and a mask
            that is True where a query may attend, (B, 1, T, S).
    """
    ask, g = Answers(1e-5), torch.Generator().manual_seed(0)
    sizes = (4, 8), (5, 8), (5, 6)  # T and S; d_k and d_v
    q, k, v = (torch.randn(2, 3, *size, generator=g) for size in sizes)
    mask = torch.rand(2, 1, 4, 5, generator=g) < 0.6
    mask[..., 0], mask[..., 4] = True, False
    out = attend(q, k, v, mask)  # (B, H, T, d_v)
    ask.rests(
        "it agrees with PyTorch's", out - F.scaled_dot_product_attention(q, k, v, mask)
    )
    hidden = v.clone()
    hidden[:, :, 4] = 1e4
    ask.rests(
        "what no query may attend to has no effect", attend(q, k, hidden, mask) - out
    )
    ask.rests(
        "of one key alone comes its value",
        attend(q, k[:, :, :1], v[:, :, :1], mask[..., :1]) - v[:, :, :1],
    )
    mask[0, 0, 2] = False
    ask.rests("a query without keys gets zeros", attend(q, k, v, mask)[0, :, 2])
    return ask


def check_loss(loss: Callable[[Tensor, Tensor], Tensor]) -> list[Check]:
    """Question a loss of logits, (B, T, V), and targets, (B, T), padded with 0.

    It is the mean over the tokens that aren't padding, without smoothing.
    """
    ask, g = Answers(1e-4), torch.Generator().manual_seed(0)
    targets = torch.tensor([[5, 6, 2, PAD], [7, 2, PAD, PAD]])  # (B, T)
    logits = torch.randn(2, 4, 9, generator=g)  # (B, T, V)
    longer = loss(F.pad(logits, (0, 0, 0, 3)), F.pad(targets, (0, 3)))
    ask.rests("more padding doesn't change it", longer - loss(logits, targets))
    ask.rests("a guess costs ln V", loss(0 * logits, targets) - math.log(9))
    ask.rests(
        "a certain and right prediction costs nothing",
        loss(50.0 * F.one_hot(targets, 9), targets),
    )
    return ask


def check_norm(norm: Callable[[Tensor], Tensor]) -> list[Check]:
    """Question a layer normalisation of (…, D), before training."""
    ask = Answers(1e-3)
    x = torch.randn(3, 5, 4, generator=torch.Generator().manual_seed(0))
    ask.rests("it agrees with PyTorch's", norm(x) - F.layer_norm(x, (4,)))
    ask.rests("a constant vector becomes 0", norm(torch.ones(1, 1, 4)))
    ask.rests("other vectors don't matter", norm(x)[:1] - norm(x[:1]))
    return ask
