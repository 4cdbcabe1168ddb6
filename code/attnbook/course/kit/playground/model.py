"""The playground's Transformer, as PyTorch has it."""

import math

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from attnbook.course.kit.playground.random_numbers import Stream
from attnbook.course.kit.playground.setting import Setting
from attnbook.course.kit.playground.tasks import sizes
from attnbook.nn.multi_head import merge_heads, split_heads
from attnbook.nn.positions import sinusoids
from attnbook.nn.rotary import rotate

LENGTH = 12


class Attention(nn.Module):
    """Self-attention, of which the mask, the scale and the rotation can be chosen."""

    def __init__(self, setting: Setting):
        super().__init__()
        d, d_keys = setting.width, setting.heads * setting.key_width
        self.setting = setting
        self.W_Q = nn.Linear(d, d_keys)
        self.W_K = nn.Linear(d, d_keys)
        self.W_V = nn.Linear(d, d)
        self.W_O = nn.Linear(d, d)
        self.weights = torch.empty(0)  # of the last call, (B, H, T, T)

    def forward(self, x: Tensor) -> Tensor:  # (B, T, D)
        """Let each position attend to the others, or to those before it."""
        s = self.setting
        q, k, v = (
            split_heads(W(x), s.heads) for W in (self.W_Q, self.W_K, self.W_V)
        )  # (B, H, T, d_k) twice, (B, H, T, D/H)
        if s.positions == "rotary":
            q, k = rotate(q), rotate(k)
        scores = q @ k.transpose(-2, -1)  # (B, H, T, T)
        if s.scaled:
            scores = scores / math.sqrt(s.key_width)
        if s.causal:
            later = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
            scores = scores.masked_fill(later, -torch.inf)
        weights = scores.softmax(-1)
        self.weights = weights.detach()
        return self.W_O(merge_heads(weights @ v))  # (B, T, D)


class Sublayer(nn.Module):
    """Attention or a feed-forward network, with its norm and its skip connection."""

    def __init__(self, setting: Setting, inner: nn.Module):
        super().__init__()
        self.setting, self.inner = setting, inner
        has_norm = setting.norm != "none"
        self.norm = nn.LayerNorm(setting.width) if has_norm else nn.Identity()

    def forward(self, x: Tensor) -> Tensor:  # (B, T, D)
        """Norm before, norm after, or none."""
        before = self.setting.norm == "before"
        y = self.inner(self.norm(x) if before else x)
        if self.setting.skip:
            y = x + y
        return y if before else self.norm(y)


class Model(nn.Module):
    """A small Transformer that starts from the same weights as the page's."""

    def __init__(self, setting: Setting):
        super().__init__()
        d = setting.width
        self.setting = setting
        self.n_symbols, self.n_questions = sizes(setting.task)
        self.embedding = nn.Embedding(self.n_symbols, d)
        learned = setting.positions == "learned"
        self.position = nn.Embedding(LENGTH, d) if learned else None
        self.layers = nn.ModuleList()
        for _ in range(setting.layers):
            self.layers.append(Sublayer(setting, Attention(setting)))
            if setting.feed_forward:
                network = nn.Sequential(
                    nn.Linear(d, 4 * d), nn.ReLU(), nn.Linear(4 * d, d)
                )
                self.layers.append(Sublayer(setting, network))
        self.norm = nn.LayerNorm(d) if setting.norm == "before" else nn.Identity()
        self.out = nn.Linear(d, self.n_questions * self.n_symbols)
        self.start()

    @torch.no_grad()
    def start(self) -> None:
        """Draw the weights: embeddings of variance 1 (½ for positions), Xavier."""
        for name, parameter in self.named_parameters():
            if parameter.dim() == 1:
                parameter.fill_(1.0 if name.endswith("norm.weight") else 0.0)
                continue
            bound = math.sqrt(6 / sum(parameter.shape))
            if "embedding" in name:
                bound = math.sqrt(3)
            if "position" in name:
                bound = math.sqrt(1.5)
            numbers = Stream(f"{self.setting.seed}/{name}").take(*parameter.shape)
            parameter.copy_(bound * (2 * numbers - 1))

    def forward(self, ids: Tensor) -> Tensor:  # (B, T)
        """Return the logits, (B, T, K, V)."""
        x = self.embedding(ids)  # (B, T, D)
        if self.position is not None:
            x = x + self.position.weight[: ids.shape[1]]
        if self.setting.positions == "sinusoidal":
            x = x + sinusoids(*x.shape[1:], dtype=x.dtype)
        for layer in self.layers:
            x = layer(x)
        logits = self.out(self.norm(x))
        return logits.unflatten(-1, (self.n_questions, self.n_symbols))

    @torch.no_grad()
    def generate(self, count: int, name: str) -> list[list[int]]:
        """Write sentences word by word, each drawn by its probability.

        The model is shown what has been written, and nothing else. A sentence begins
        with ``<bos>``, word 0, which isn't drawn again.
        """
        stream = Stream(name)
        ids = torch.zeros(count, 1, dtype=torch.long)
        for _ in range(LENGTH - 1):
            shares = self(ids)[:, -1, 0, 1:].softmax(-1).double().cumsum(-1)
            drawn = stream.take(count, 1) * shares[:, -1:]  # of (count, V - 1)
            word = 1 + torch.searchsorted(shares, drawn, right=True)
            ids = torch.cat([ids, word], 1)
        rows = ids.tolist()
        return [row[: row.index(1) + 1] if 1 in row else row for row in rows]


def loss_of(logits: Tensor, targets: Tensor) -> Tensor:
    """The mean cross-entropy over all questions, in nats; -1 asks nothing."""
    return cross_entropy(logits.flatten(0, -2), targets.flatten(), ignore_index=-1)


def accuracy_of(logits: Tensor, targets: Tensor) -> float:
    """The share of questions whose answer has the largest logit."""
    right = (logits.argmax(-1) == targets)[targets >= 0]
    return right.double().mean().item()
