"""Skeletons and solutions of the parts that no chapter asks for yet.

Chapter 12 takes them over, as its exercises "Write it yourself"; what a
chapter has is deleted here.
"""

TRAINING = (
    '''\
import torch
from torch import nn

from attnbook.pages import judge, save_part

PAD = 0


def label_smoothing_loss(logits, targets, smoothing=0.1):
    """(B, T, V), (B, T) → the loss of each token, (B, T); 0 at padding."""
    ...


def train_step(model, optimizer, batch, loss, clip=1.0):
    """One update; returns the loss before it, a scalar.

    `batch` holds the model's inputs and last the targets; `loss` makes a scalar from
    logits and targets; `clip` is the greatest norm of the gradient.
    """
    ...


judge("training", label_smoothing_loss, train_step)
# When all stages pass: save_part("training", label_smoothing_loss, train_step)
''',
    """\
def label_smoothing_loss(logits, targets, smoothing=0.1):
    log_p = logits.log_softmax(-1)  # (B, T, V)
    of_targets = log_p.gather(-1, targets[..., None]).squeeze(-1)  # (B, T)
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


judge("training", label_smoothing_loss, train_step)
""",
)

TO_COME = {
    "training": TRAINING,
}
"""For each part that has no exercise yet: the skeleton and the solution, as cells."""
