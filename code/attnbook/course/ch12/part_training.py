"""What trains a model: ``label_smoothing_loss`` and ``train_step``."""

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from attnbook.core.vocabulary import PAD
from attnbook.course.kit.exercises import expect
from attnbook.course.kit.exercises.stages import Part, Wrong, draw_leaves, fill
from attnbook.nn import losses
from attnbook.toy import training

WORDS, SMOOTHING, RATE = 7, 0.1, 0.5
SOURCES = torch.tensor([[5, 3, 2], [4, 6, 2]])
INPUTS = torch.tensor([[1, 4, 6], [1, 5, 3]])
TARGETS = torch.tensor([[4, 6, 2], [5, 2, PAD]])
REAL = TARGETS != PAD
RULE = "the formula's"


def label_smoothing_loss(logits, targets, smoothing=0.1):
    log_p = logits.log_softmax(-1)
    of_targets = log_p.gather(-1, targets[..., None]).squeeze(-1)
    loss = -(1 - smoothing) * of_targets - smoothing * log_p.mean(-1)
    return loss.masked_fill(targets == PAD, 0.0)


def train_step(model, optimizer, batch, loss, clip=1.0):
    *inputs, targets = batch
    value = loss(model(*inputs), targets)
    optimizer.zero_grad()
    value.backward()
    nn.utils.clip_grad_norm_(model.parameters(), clip)
    optimizer.step()
    return value.detach()


PART = Part(
    "training",
    12,
    (losses.label_smoothing_loss, training.train_step),
    (label_smoothing_loss, train_step),
)


def smooth_by_formula(logits: Tensor, smoothing: float) -> Tensor:
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


def train_by_formula(steps: int, clip: float) -> tuple[Tensor, list[Tensor]]:
    """Both tables after some steps of gradient descent, and the losses before each."""
    tables = torch.stack([*fill(Tiny()).parameters()]).detach()  # (2, V, V)
    losses = []
    for _ in range(steps):
        tables = tables.requires_grad_()
        loss = mean_loss(tiny_logits(*tables, SOURCES, INPUTS), TARGETS)
        (gradient,) = torch.autograd.grad(loss, tables)
        factor = min(1.0, clip / gradient.norm().item())
        tables = (tables - RATE * factor * gradient).detach()
        losses.append(loss.detach())
    return tables, losses


def train(step: Callable, steps: int, clip: float) -> tuple[Tensor, list[Tensor]]:
    """The same by the reader's step."""
    model = fill(Tiny()).train()
    optimizer = torch.optim.SGD(model.parameters(), RATE)
    batch = SOURCES, INPUTS, TARGETS
    losses = [step(model, optimizer, batch, mean_loss, clip) for _ in range(steps)]
    return torch.stack([*model.parameters()]).detach(), losses


@PART.stage("a loss for each token, (B, T)")
def shapes(loss: Callable, step: Callable) -> None:
    """Which axis of (B, T, V) disappears when the loss of each token is taken?

    Take log_softmax over the last axis, `gather` the entries of the targets, and sum
    over nothing else: whoever calls the function divides.

    (targets == PAD, 0.0) => (targets == PAD, 0.0).mean()
        The loss should stay one number for each token: sums and means come later.
    """
    (logits,) = draw_leaves(0, (2, 3, WORDS))
    got = loss(logits, TARGETS, SMOOTHING)
    expect.shape(got, (2, 3), "the smoothed loss", "(B, T)")


@PART.stage("the smoothed loss equals -(1 - ε) log p_y - (ε/V) Σ log p_v")
def values(loss: Callable, step: Callable) -> None:
    """Set ε = 0: is your loss the usual cross-entropy then? If so, look at the second
    term.

    With `log_p = logits.log_softmax(-1)` the second term is the mean of `log_p` over
    the vocabulary, times ε.

    -(1 - smoothing) * => -
    - smoothing * log_p.mean(-1) =>
        `smoothing` has no effect yet.
    log_p.mean(-1) => (log_p.sum(-1) - of_targets) / (WORDS - 1)
        You share ε among the other V - 1 tokens; the formula shares it among all V.
    log_p.mean(-1) => (log_p.mean(-1) - of_targets / WORDS)
        The correct token also gets its share of ε: 1 - ε + ε/V in all.
    -(1 - smoothing) * => -
        The right token should lose ε: its factor is 1 - ε.
    logits.log_softmax(-1) => logits.softmax(-1).log_softmax(-1)
        A second softmax: `log_softmax` takes the logits as they are.
    return loss => return -loss
        The sign is wrong: log-probabilities are negative, losses positive.
    """
    (logits,) = draw_leaves(0, (2, 3, WORDS))
    for smoothing in (0.0, SMOOTHING):
        got = loss(logits, TARGETS, smoothing)
        expect.tensor(got, "the smoothed loss")
        right = smooth_by_formula(logits, smoothing)
        what = f"with smoothing={smoothing} the loss of a real token"
        expect.close(got[REAL], right[REAL], what, RULE)


@PART.stage("the loss is zero at padding")
def padding(loss: Callable, step: Callable) -> None:
    """What is the target at a position of padding, and should the model learn to
    predict it?

    `masked_fill(targets == PAD, 0.0)` at the end.

    .masked_fill(targets == PAD, 0.0) =>
        Padding is counted: set the loss there to zero.
    """
    (logits,) = draw_leaves(0, (2, 3, WORDS))
    got = loss(logits, TARGETS, SMOOTHING)
    expect.close(
        got, smooth_by_formula(logits, SMOOTHING), "the loss at padding", "zero"
    )


@PART.stage("the gradient of the loss equals the formula's")
def gradients(loss: Callable, step: Callable) -> None:
    """Autograd follows tensor operations. Which of your steps leaves them?

    Look for `.detach()`, `.item()` or `torch.no_grad()`.

    return loss => return loss.detach()
        The loss is detached.
    """
    (logits,) = draw_leaves(0, (2, 3, WORDS))
    right = smooth_by_formula(logits, SMOOTHING)
    got = loss(logits, TARGETS, SMOOTHING)
    expect.gradients(got, right, RULE, **{"the logits": logits})


@PART.stage("a step moves every parameter against its gradient, and returns the loss")
def update(loss: Callable, step: Callable) -> None:
    """`batch` is a tuple: `*inputs, targets = batch`, then `model(*inputs)`. Four
    things happen in a step, in a fixed order. Which of yours is missing?

    Compute the loss; `optimizer.zero_grad()`; `loss.backward()`; `optimizer.step()`.
    Return `loss.detach()`.

    On "`train_step` returns": What is the loss of the batch, a tensor without axes, and
    where in the step do you have it?

    On "did not equal that of the batch": The parameters are right. When is the loss
    computed that you return, before or after they change?

    On "holds on to the graph": Which method of a tensor gives its numbers without their
    history?

    optimizer.step() =>
        The parameters stay as they are: `optimizer.step()` is missing, or nothing is
        left of the gradients when it comes.
    value.detach() => loss(model(*inputs), targets).detach()
        You compute the loss again after the update: return the one of the update.
    value.detach() => value
        Return `loss.detach()`: a list of losses would keep the graphs of all steps.
    """
    right, (before,) = train_by_formula(1, 10.0)
    tables, (found,) = train(step, 1, 10.0)
    expect.shape(found, (), "what `train_step` returns", "(), a scalar")
    expect.close(tables, right, "a parameter after a step", "that of gradient descent")
    rule = "that of the batch before the update"
    expect.close(found, before, "the loss that is returned", rule)
    if found.requires_grad:
        raise Wrong("the loss that is returned holds on to the graph of its step.")


@PART.stage("the norm of the whole gradient is at most `clip`")
def clipping(loss: Callable, step: Callable) -> None:
    """When must the gradient be made shorter, so that it has an effect?

    `nn.utils.clip_grad_norm_(model.parameters(), clip)` between `backward` and `step`.

    nn.utils.clip_grad_norm_(model.parameters(), clip) =>
        `clip` has no effect: the gradient must be made shorter before the update.
    clip_grad_norm_ => clip_grad_value_
        You clip each entry by itself, which changes the direction: clip the norm of all
        of them together.
    nn.utils. => for p in model.parameters(): nn.utils.
    (model.parameters(), clip) => (p, clip)
        You clip each parameter by itself: what counts is the norm of the gradients of
        all parameters together.
    """
    right, _ = train_by_formula(1, 0.1)
    tables, _ = train(step, 1, 0.1)
    what = "a parameter after a step with clip=0.1"
    expect.close(tables, right, what, "that of the clipped gradient")


@PART.stage("each step uses a gradient of its own")
def repeated(loss: Callable, step: Callable) -> None:
    """PyTorch adds to the gradients that are there. What is there in the second step?

    `optimizer.zero_grad()` before `loss.backward()`, in every step.

    optimizer.zero_grad() =>
        The gradients of earlier steps are still there, and are added.
    """
    right, losses = train_by_formula(3, 10.0)
    tables, found = train(step, 3, 10.0)
    what = "a parameter after three steps"
    expect.close(tables, right, what, "that of gradient descent")
    rule = "those of gradient descent"
    expect.close(torch.stack(found), torch.stack(losses), "the losses", rule)


@PART.stage("the loss lies where the logits lie, on a GPU too")
def devices(loss: Callable, step: Callable) -> None:
    """
    log_p.mean(-1) => (log_p * torch.full((WORDS,), 1 / WORDS)).sum(-1)
        Your distribution is made on the CPU.
    """
    (logits,) = draw_leaves(0, (2, 3, WORDS))
    expect.same_device(lambda: loss(logits, TARGETS, SMOOTHING), logits, TARGETS)
