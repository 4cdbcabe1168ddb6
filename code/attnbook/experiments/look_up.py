"""Does the scale of the scores matter once a model learns? A look-up, trained."""

from __future__ import annotations

from itertools import product
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from attnbook.nn.scaled_dot_product import attention
from attnbook.nn.scores import AdditiveScore

KEYS, VALUES = 64, 16  # different ones that there are
SHOWN = 16  # pairs of a key and a value in an example
WIDTHS = (16, 64, 256)
STEPS, EVERY, RATE = 400, 50, 1e-3
SEEDS = (0, 1, 2, 3, 4)
SCALES = {
    "1": lambda d: 1.0,
    "8/√d": lambda d: 8 * d**-0.5,
    "2/√d": lambda d: 2 * d**-0.5,
    "1/√d": lambda d: d**-0.5,
    "0.5/√d": lambda d: 0.5 * d**-0.5,
    "1/d": lambda d: 1 / d,
}
ADDITIVE = {"additive": None, "additive, large v": 1.0}  # deviation of v


class Examples(NamedTuple):
    """B times 16 pairs of a key and a value, and the key that is asked for."""

    asked: Tensor  # (B,)
    keys: Tensor  # (B, S), all different
    values: Tensor  # (B, S)
    answer: Tensor  # (B,)  the value beside the asked key


def examples(b: int, generator: torch.Generator) -> Examples:
    """Draw B examples; every pair is new, so nothing but looking helps."""
    keys = torch.rand(b, KEYS, generator=generator).argsort(-1)[:, :SHOWN]
    values = torch.randint(VALUES, (b, SHOWN), generator=generator)
    place = torch.randint(SHOWN, (b, 1), generator=generator)
    asked, answer = (ids.gather(1, place).squeeze(1) for ids in (keys, values))
    return Examples(asked, keys, values, answer)


class ScaledRead(nn.Module):
    """Reads by dot products of learned queries and keys.

    Args:
        d: Width of all vectors, so d_k too.
        scale: What the scores are multiplied by.
    """

    def __init__(self, d: int, scale: float):
        super().__init__()
        self.scale = scale
        self.W_Q, self.W_K = (nn.Linear(d, d, bias=False) for _ in range(2))
        for linear in (self.W_Q, self.W_K):
            nn.init.xavier_uniform_(linear.weight)  # queries and keys of variance 1

    def forward(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        """The values' mean, (B, 1, d)."""
        return attention(self.W_Q(q), self.W_K(k), v, scale=self.scale)


class AdditiveRead(nn.Module):
    """Reads by the additive score, which has matrices of its own.

    Args:
        d: Width of all vectors and of the hidden layer.
        v_std: Standard deviation with which v is drawn. PyTorch's own start is a
            scale in disguise: it draws v within 1/√d.
    """

    def __init__(self, d: int, v_std: float | None = None):
        super().__init__()
        self.score = AdditiveScore(d, d, d_attention=d)
        if v_std is not None:
            nn.init.normal_(self.score.v.weight, std=v_std)

    def forward(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        """The values' mean, (B, 1, d)."""
        return self.score(q, self.score.prepare(k)).softmax(-1) @ v


class LookUp(nn.Module):
    """Finds the asked key among those shown by one attention.

    Args:
        d: Width of all vectors.
        read: Called with queries (B, 1, d), keys and values (B, S, d).
    """

    def __init__(self, d: int, read: nn.Module):
        super().__init__()
        self.read = read
        self.key, self.value = nn.Embedding(KEYS, d), nn.Embedding(VALUES, d)
        self.W_V = nn.Linear(d, d, bias=False)
        nn.init.xavier_uniform_(self.W_V.weight)
        self.out = nn.Linear(d, VALUES)

    def forward(self, asked: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        """Answer (B,) keys given (B, S) pairs: logits (B, 16)."""
        q, k = self.key(asked)[:, None], self.key(keys)  # (B, 1, d), (B, S, d)
        return self.out(self.read(q, k, self.W_V(self.value(values))).squeeze(1))


def make_read(name: str, d: int) -> nn.Module:
    """Make what reads, by its name in ``SCALES`` or ``ADDITIVE``."""
    if name in ADDITIVE:
        return AdditiveRead(d, ADDITIVE[name])
    return ScaledRead(d, SCALES[name](d))


def learn(model: LookUp, seed: int) -> list[float]:
    """Train; return the share of right answers of 2,000 after each 50 steps."""
    g = torch.Generator().manual_seed(seed)
    test = examples(2000, torch.Generator().manual_seed(99))
    optimizer = torch.optim.Adam(model.parameters(), lr=RATE)
    right = []
    for step in range(1, STEPS + 1):
        *asked_and_shown, answer = examples(64, g)
        loss = F.cross_entropy(model(*asked_and_shown), answer)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % EVERY == 0:
            with torch.no_grad():
                said = model(*test[:-1]).argmax(-1)
            right.append(round((said == test.answer).float().mean().item(), 4))
    return right


def look_up() -> dict:
    """Every scale, and the additive score, at every width, with five seeds.

    The additive score starts as PyTorch draws it, and with a v of variance 1.

    Returns:
        "steps": after how many steps answers were counted; "runs": for each width,
        score and seed the share of "right" answers after each of them.
    """
    runs = []
    for d, name, seed in product(WIDTHS, (*SCALES, *ADDITIVE), SEEDS):
        torch.manual_seed(seed)
        right = learn(LookUp(d, make_read(name, d)), seed)
        runs.append({"d_k": d, "score": name, "seed": seed, "right": right})
        print(f"  {d} {name} {seed}: {right}", flush=True)
    return {"steps": list(range(EVERY, STEPS + 1, EVERY)), "runs": runs}
