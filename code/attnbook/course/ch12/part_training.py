"""What trains a model: ``label_smoothing_loss`` and ``train_step``."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from attnbook.core.vocabulary import PAD
from attnbook.course.kit.exercises.checking import wrong
from attnbook.course.kit.exercises.stages import (
    Part,
    Stage,
    Wrong,
    drawn,
    expect_close,
    expect_gradients,
    expect_shape,
    expect_tensor,
    filled,
)
from attnbook.nn.losses import label_smoothing_loss
from attnbook.toy.training import train_step

WORDS, SMOOTHING, RATE = 7, 0.1, 0.5
SOURCES = torch.tensor([[5, 3, 2], [4, 6, 2]])
INPUTS = torch.tensor([[1, 4, 6], [1, 5, 3]])
TARGETS = torch.tensor([[4, 6, 2], [5, 2, PAD]])
REAL = TARGETS != PAD
RULE = "the formula's"
Loss = Callable[[Tensor, Tensor], Tensor]


def smoothed(logits: Tensor, smoothing: float) -> Tensor:
    """Token by token: the cross-entropy with the smoothed distribution."""
    rows = []
    for row, target in zip(logits.flatten(0, 1), TARGETS.flatten(), strict=True):
        wanted = torch.full((WORDS,), smoothing / WORDS, dtype=torch.float64)
        wanted[target] += 1 - smoothing
        rows.append(-(wanted * row.log_softmax(-1)).sum() * (target != PAD))
    return torch.stack(rows).view_as(TARGETS)


class Tiny(nn.Module):
    """A model with two parameters: logits from the source's tokens and the last token.

    With a single parameter, its norm would be that of the whole gradient.
    """

    def __init__(self):
        super().__init__()
        self.source = nn.Embedding(WORDS, WORDS)
        self.target = nn.Embedding(WORDS, WORDS)

    def forward(self, src: Tensor, tgt_in: Tensor) -> Tensor:
        """Map (B, S) and (B, T) to logits, (B, T, V)."""
        return tiny_logits(self.source.weight, self.target.weight, src, tgt_in)


def tiny_logits(source: Tensor, target: Tensor, src: Tensor, tgt_in: Tensor) -> Tensor:
    """Look the logits up in two tables, (V, V) each."""
    return source[src].mean(1, keepdim=True) + target[tgt_in]


def mean_loss(logits: Tensor, targets: Tensor) -> Tensor:
    """Cross-entropy of the real tokens, a scalar."""
    return F.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=PAD)


def after(steps: int, clip: float) -> tuple[Tensor, list[Tensor]]:
    """Both tables after some steps of gradient descent, and the losses before each."""
    tables = torch.stack([*filled(Tiny()).parameters()]).detach()  # (2, V, V)
    losses = []
    for _ in range(steps):
        tables = tables.requires_grad_()
        loss = mean_loss(tiny_logits(*tables, SOURCES, INPUTS), TARGETS)
        (gradient,) = torch.autograd.grad(loss, tables)
        factor = min(1.0, clip / gradient.norm().item())
        tables = (tables - RATE * factor * gradient).detach()
        losses.append(loss.detach())
    return tables, losses


def trained(step: Callable, steps: int, clip: float) -> tuple[Tensor, list[Tensor]]:
    """The same by the reader's step."""
    model = filled(Tiny()).train()
    optimizer = torch.optim.SGD(model.parameters(), RATE)
    batch = SOURCES, INPUTS, TARGETS
    losses = [step(model, optimizer, batch, mean_loss, clip) for _ in range(steps)]
    return torch.stack([*model.parameters()]).detach(), losses


def shapes(loss: Callable, step: Callable) -> None:
    """One number for each token."""
    (logits,) = drawn(0, (2, 3, WORDS))
    got = loss(logits, TARGETS, SMOOTHING)
    expect_shape(got, (2, 3), "the smoothed loss", "(B, T)")


def values(loss: Callable, step: Callable) -> None:
    """The smoothed loss of real tokens, with and without smoothing."""
    (logits,) = drawn(0, (2, 3, WORDS))
    for smoothing in (0.0, SMOOTHING):
        got = loss(logits, TARGETS, smoothing)
        expect_tensor(got, "the smoothed loss")
        right = smoothed(logits, smoothing)
        what = f"with smoothing={smoothing} the loss of a real token"
        expect_close(got[REAL], right[REAL], what, RULE)


def padding(loss: Callable, step: Callable) -> None:
    """Padding costs nothing, and no gradient comes from it."""
    (logits,) = drawn(0, (2, 3, WORDS))
    got = loss(logits, TARGETS, SMOOTHING)
    expect_close(got, smoothed(logits, SMOOTHING), "the loss at padding", "zero")


def gradients(loss: Callable, step: Callable) -> None:
    """With respect to the logits."""
    (logits,) = drawn(0, (2, 3, WORDS))
    right = smoothed(logits, SMOOTHING)
    got = loss(logits, TARGETS, SMOOTHING)
    expect_gradients(got, right, {"the logits": logits}, RULE)


def update(loss: Callable, step: Callable) -> None:
    """One step moves the parameters against the gradient, and returns the loss."""
    right, (before,) = after(1, 10.0)
    tables, (found,) = trained(step, 1, 10.0)
    expect_shape(found, (), "what `train_step` returns", "(), a scalar")
    expect_close(tables, right, "a parameter after a step", "that of gradient descent")
    rule = "that of the batch before the update"
    expect_close(found, before, "the loss that is returned", rule)
    if found.requires_grad:
        raise Wrong("the loss that is returned holds on to the graph of its step.")


def clipping(loss: Callable, step: Callable) -> None:
    """A large gradient is made shorter before it is used."""
    right, _ = after(1, 0.1)
    tables, _ = trained(step, 1, 0.1)
    what = "a parameter after a step with clip=0.1"
    expect_close(tables, right, what, "that of the clipped gradient")


def repeated(loss: Callable, step: Callable) -> None:
    """Each step starts from a gradient of its own."""
    right, losses = after(3, 10.0)
    tables, found = trained(step, 3, 10.0)
    what = "a parameter after three steps"
    expect_close(tables, right, what, "that of gradient descent")
    rule = "those of gradient descent"
    expect_close(torch.stack(found), torch.stack(losses), "the losses", rule)


def _smoothing(
    own: float = 1.0, others: int = 0, pads: bool = True, detach: bool = False
) -> Callable:
    """A smoothed loss in which one thing may be wrong."""

    def loss(logits, targets, smoothing=0.1):
        log_p = logits.log_softmax(-1)
        of_targets = log_p.gather(-1, targets[..., None]).squeeze(-1)
        rest = log_p.sum(-1) - others * of_targets
        spread = smoothing / (WORDS - others) * rest
        found = -(own - smoothing) * of_targets - spread
        found = found.detach() if detach else found
        return found * (targets != PAD) if pads else found

    return loss


def _nll(logits, targets, smoothing=0.1):
    return label_smoothing_loss(logits, targets, 0.0)


def _probabilities(logits, targets, smoothing=0.1):
    return label_smoothing_loss(logits.softmax(-1), targets, smoothing)


def _positive(logits, targets, smoothing=0.1):
    return -label_smoothing_loss(logits, targets, smoothing)


def _mean(logits, targets, smoothing=0.1):
    return label_smoothing_loss(logits, targets, smoothing).mean()


def _step(
    zero: bool = True, clips: str = "before", moves: bool = True, keeps: bool = False
) -> Callable:
    """A training step in which one thing may be wrong."""

    def step(model, optimizer, batch, loss, clip=1.0):
        *inputs, targets = batch
        value = loss(model(*inputs), targets)
        if zero:
            optimizer.zero_grad()
        value.backward()
        if clips == "before":
            nn.utils.clip_grad_norm_(model.parameters(), clip)
        elif clips == "each entry":
            nn.utils.clip_grad_value_(model.parameters(), clip)
        elif clips == "each parameter":
            for parameter in model.parameters():
                nn.utils.clip_grad_norm_(parameter, clip)
        if moves:
            optimizer.step()
        return value if keeps else value.detach()

    return step


def _returns_later(model, optimizer, batch, loss, clip=1.0):
    train_step(model, optimizer, batch, loss, clip)
    *inputs, targets = batch
    return loss(model(*inputs), targets).detach()


SHAPES = Stage(
    "shapes",
    "a loss for each token, (B, T)",
    shapes,
    (
        "Which axis of (B, T, V) disappears when the loss of each token is taken?",
        "Take log_softmax over the last axis, `gather` the entries of the targets, and "
        "sum over nothing else: whoever calls the function divides.",
    ),
    wrong(
        (_mean, train_step),
        "The loss should stay one number for each token: sums and means come later.",
    ),
)
VALUES = Stage(
    "values",
    "the smoothed loss equals -(1 - ε) log p_y - (ε/V) Σ log p_v",
    values,
    (
        "Set ε = 0: is your loss the usual cross-entropy then? If so, look at the "
        "second term.",
        "With `log_p = logits.log_softmax(-1)` the second term is the mean of `log_p` "
        "over the vocabulary, times ε.",
    ),
    wrong(
        (_nll, train_step),
        "`smoothing` has no effect yet.",
        (_smoothing(others=1), train_step),
        "You share ε among the other V - 1 tokens; the formula shares it among all V.",
        (_smoothing(own=1 + SMOOTHING), train_step),
        "The right token should lose ε: its factor is 1 - ε.",
        (_probabilities, train_step),
        "A second softmax: `log_softmax` takes the logits as they are.",
        (_positive, train_step),
        "The sign is wrong: log-probabilities are negative, losses positive.",
    ),
)
PADDING = Stage(
    "padding",
    "the loss is zero at padding",
    padding,
    (
        "What is the target at a position of padding, and should the model learn to "
        "predict it?",
        "`masked_fill(targets == PAD, 0.0)` at the end.",
    ),
    wrong(
        (_smoothing(pads=False), train_step),
        "Padding is counted: set the loss there to zero.",
    ),
)
GRADIENTS = Stage(
    "gradients",
    "the gradient of the loss equals the formula's",
    gradients,
    (
        "Autograd follows tensor operations. Which of your steps leaves them?",
        "Look for `.detach()`, `.item()` or `torch.no_grad()`.",
    ),
    wrong(
        (_smoothing(detach=True), train_step),
        "The loss is detached.",
    ),
)
UPDATE = Stage(
    "update",
    "a step moves every parameter against its gradient, and returns the loss",
    update,
    (
        "`batch` is a tuple: `*inputs, targets = batch`, then `model(*inputs)`. Four "
        "things happen in a step, in a fixed order. Which of yours is missing?",
        "Compute the loss; `optimizer.zero_grad()`; `loss.backward()`; "
        "`optimizer.step()`. Return `loss.detach()`.",
    ),
    wrong(
        (label_smoothing_loss, _step(moves=False)),
        "The parameters stay as they are: `optimizer.step()` is missing, or nothing is "
        "left of the gradients when it comes.",
        (label_smoothing_loss, _returns_later),
        "You compute the loss again after the update: return the one of the update.",
        (label_smoothing_loss, _step(keeps=True)),
        "Return `loss.detach()`: a list of losses would keep the graphs of all steps.",
    ),
)
CLIPPING = Stage(
    "clipping",
    "the norm of the whole gradient is at most `clip`",
    clipping,
    (
        "When must the gradient be made shorter, so that it has an effect?",
        "`nn.utils.clip_grad_norm_(model.parameters(), clip)` between `backward` and "
        "`step`.",
    ),
    wrong(
        (label_smoothing_loss, _step(clips="")),
        "`clip` has no effect: the gradient must be made shorter before the update.",
        (label_smoothing_loss, _step(clips="each entry")),
        "You clip each entry by itself, which changes the direction: clip the norm of "
        "all of them together.",
        (label_smoothing_loss, _step(clips="each parameter")),
        "You clip each parameter by itself: what counts is the norm of the gradients "
        "of all parameters together.",
    ),
)
REPEATED = Stage(
    "repeated",
    "each step uses a gradient of its own",
    repeated,
    (
        "PyTorch adds to the gradients that are there. What is there in the second "
        "step?",
        "`optimizer.zero_grad()` before `loss.backward()`, in every step.",
    ),
    wrong(
        (label_smoothing_loss, _step(zero=False)),
        "The gradients of earlier steps are still there, and are added.",
    ),
)

PART = Part(
    name="training",
    chapter=12,
    names=("label_smoothing_loss", "train_step"),
    ours=(label_smoothing_loss, train_step),
    stages=(SHAPES, VALUES, PADDING, GRADIENTS, UPDATE, CLIPPING, REPEATED),
)
