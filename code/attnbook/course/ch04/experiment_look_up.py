"""The scale of attention scores in training: a look-up task."""

from __future__ import annotations

from itertools import product
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from attnbook.core.divergence import check_finite
from attnbook.course.kit.experiments import experiment
from attnbook.nn.scaled_dot_product import attention
from attnbook.nn.scores import AdditiveScore

N_KEYS, N_VALUES = 64, 16  # sizes of the two vocabularies
N_PAIRS = 16  # pairs of a key and a value in an example
WIDTHS = (16, 64, 256)
STEPS, EVERY, LEARNING_RATE = 400, 50, 1e-3
SEEDS = (0, 1, 2, 3, 4)
SCALES = {
    "1": lambda d: 1.0,
    "8/√d": lambda d: 8 * d**-0.5,
    "2/√d": lambda d: 2 * d**-0.5,
    "1/√d": lambda d: d**-0.5,
    "0.5/√d": lambda d: 0.5 * d**-0.5,
    "1/d": lambda d: 1 / d,
}
ADDITIVE = {"additive": None, "additive, large v": 1.0}  # standard deviation of v


class Examples(NamedTuple):
    """B examples of 16 key-value pairs and a queried key."""

    query: Tensor  # (B,)  one of the keys
    keys: Tensor  # (B, S), all different
    values: Tensor  # (B, S)
    answer: Tensor  # (B,)  its value


def examples(b: int, generator: torch.Generator) -> Examples:
    """Sample B examples; the pairs are random, so they cannot be memorised."""
    keys = torch.rand(b, N_KEYS, generator=generator).argsort(-1)[:, :N_PAIRS]
    values = torch.randint(N_VALUES, (b, N_PAIRS), generator=generator)
    index = torch.randint(N_PAIRS, (b, 1), generator=generator)
    query, answer = (ids.gather(1, index).squeeze(1) for ids in (keys, values))
    return Examples(query, keys, values, answer)


class ScaledRead(nn.Module):
    """Scaled dot-product attention with learned projections."""

    def __init__(self, d: int, scale: float):
        super().__init__()
        self.scale = scale
        self.W_Q, self.W_K = (nn.Linear(d, d, bias=False) for _ in range(2))
        for linear in (self.W_Q, self.W_K):
            nn.init.xavier_uniform_(linear.weight)  # queries and keys of variance 1

    def forward(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        """The weighted mean of the values, (B, 1, d)."""
        return attention(self.W_Q(q), self.W_K(k), v, scale=self.scale)


class AdditiveRead(nn.Module):
    """Attention with the additive score, which has its own projections."""

    def __init__(self, d: int, v_std: float | None = None):
        super().__init__()
        self.score = AdditiveScore(d, d, d_attention=d)
        if v_std is not None:
            nn.init.normal_(self.score.v.weight, std=v_std)

    def forward(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        """The weighted mean of the values, (B, 1, d)."""
        return self.score(q, self.score.prepare(k)).softmax(-1) @ v


class LookUp(nn.Module):
    """Looks a query up among keys by one attention, and predicts its value."""

    def __init__(self, d: int, read: nn.Module):
        super().__init__()
        self.read = read
        self.key, self.value = nn.Embedding(N_KEYS, d), nn.Embedding(N_VALUES, d)
        self.W_V = nn.Linear(d, d, bias=False)
        nn.init.xavier_uniform_(self.W_V.weight)
        self.out = nn.Linear(d, N_VALUES)

    def forward(self, query: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        """Compute logits, (B, 16), of queries, (B,), given pairs, (B, S)."""
        q, k = self.key(query)[:, None], self.key(keys)  # (B, 1, d), (B, S, d)
        return self.out(self.read(q, k, self.W_V(self.value(values))).squeeze(1))


def make_read(name: str, d: int) -> nn.Module:
    """Create an attention by its name in ``SCALES`` or ``ADDITIVE``."""
    if name in ADDITIVE:
        return AdditiveRead(d, ADDITIVE[name])
    return ScaledRead(d, SCALES[name](d))


def train_look_up(
    model: LookUp, seed: int, learning_rate: float = LEARNING_RATE
) -> list[float]:
    """Train; return the accuracy on 2,000 examples after every 50 steps."""
    g = torch.Generator().manual_seed(seed)
    test = examples(2000, torch.Generator().manual_seed(99))
    optimizer = torch.optim.Adam(model.parameters(), lr=learning_rate)
    accuracy = []
    for step in range(1, STEPS + 1):
        *inputs, answer = examples(64, g)
        loss = F.cross_entropy(model(*inputs), answer)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % EVERY == 0:
            with torch.no_grad():
                predicted = model(*test[:-1]).argmax(-1)
            hits = predicted == test.answer
            accuracy.append(round(hits.float().mean().item(), 4))
    check_finite(model.parameters())
    return accuracy


@experiment
def look_up() -> dict:
    """Every scale, and the additive score, at every width, with five seeds.

    The additive score has PyTorch's initialisation, or a v of variance 1.

    Returns:
        "steps": the numbers of steps after which it was tested; "runs": for each width,
        score and seed the accuracy ("right") after each of them.
    """
    runs = []
    for d, name, seed in product(WIDTHS, (*SCALES, *ADDITIVE), SEEDS):
        torch.manual_seed(seed)
        accuracy = train_look_up(LookUp(d, make_read(name, d)), seed)
        runs.append({"d_k": d, "score": name, "seed": seed, "right": accuracy})
        print(f"  {d} {name} {seed}: {accuracy}", flush=True)
    return {"steps": list(range(EVERY, STEPS + 1, EVERY)), "runs": runs}
