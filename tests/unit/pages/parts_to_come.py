"""Skeletons and solutions of the parts that no chapter asks for yet.

Chapters 8 and 12 take them over, as their exercises "Write it yourself"; what a
chapter has is deleted here.
"""

FEED_FORWARD = (
    '''\
from torch import nn

from attnbook.pages import judge, save_part


class FeedForward(nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        ...

    def forward(self, x):
        """(B, T, D) → (B, T, D)."""
        ...


judge("FeedForward", FeedForward)
# When all stages pass: save_part("FeedForward", FeedForward)
''',
    """\
class FeedForward(nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.W_1 = nn.Linear(d_model, d_ff)
        self.W_2 = nn.Linear(d_ff, d_model)

    def forward(self, x):
        return self.W_2(self.W_1(x).relu())


judge("FeedForward", FeedForward)
""",
)

DECODER_LAYER = (
    '''\
from torch import nn

from attnbook.pages import judge, my_part, save_part

MultiHeadAttention = my_part("MultiHeadAttention")
FeedForward = my_part("FeedForward")


class DecoderLayer(nn.Module):
    def __init__(self, config):
        super().__init__()
        # self_attention, cross_attention, feed_forward, norm_1, norm_2, norm_3, dropout
        ...

    def forward(self, x, memory, mask=None, memory_mask=None):
        """(B, T, D), (B, S, D) → (B, T, D).

        `mask` broadcasts to (B, H, T, T), `memory_mask` to (B, H, T, S).
        """
        ...


judge("DecoderLayer", DecoderLayer)
# When all stages pass: save_part("DecoderLayer", DecoderLayer)
''',
    """\
class DecoderLayer(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.self_attention = MultiHeadAttention(config.d_model, config.n_heads)
        self.cross_attention = MultiHeadAttention(config.d_model, config.n_heads)
        self.feed_forward = FeedForward(config.d_model, config.d_ff)
        self.norm_1 = nn.LayerNorm(config.d_model)
        self.norm_2 = nn.LayerNorm(config.d_model)
        self.norm_3 = nn.LayerNorm(config.d_model)
        self.dropout = nn.Dropout(config.dropout)
        self.norm_first = config.norm_first

    def forward(self, x, memory, mask=None, memory_mask=None):
        own, cross = self.self_attention, self.cross_attention
        if self.norm_first:
            y = self.norm_1(x)
            x = x + self.dropout(own(y, y, y, mask))
            y = self.norm_2(x)
            x = x + self.dropout(cross(y, memory, memory, memory_mask))
            return x + self.dropout(self.feed_forward(self.norm_3(x)))
        x = self.norm_1(x + self.dropout(own(x, x, x, mask)))
        x = self.norm_2(x + self.dropout(cross(x, memory, memory, memory_mask)))
        return self.norm_3(x + self.dropout(self.feed_forward(x)))


judge("DecoderLayer", DecoderLayer)
""",
)

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
    "FeedForward": FEED_FORWARD,
    "DecoderLayer": DECODER_LAYER,
    "training": TRAINING,
}
"""For each part that has no exercise yet: the skeleton and the solution, as cells."""
