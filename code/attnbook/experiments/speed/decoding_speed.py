"""How fast our decoding is beside that of Marian, of the same size."""

from __future__ import annotations

from functools import partial
from statistics import median

import torch
from torch import Tensor, nn

from attnbook.core.vocabulary import EOS
from attnbook.decoding.beam import beam_search
from attnbook.decoding.greedy_search import greedy
from attnbook.experiments.speed.baselines import has_marian, marian_says
from attnbook.experiments.speed.training_speed import MARIAN, Way, Work, build, timed


class Endless:
    """A model that never says ``EOS``, so that all translations are of one length.

    Args:
        model: Has ``start`` and ``step``.
    """

    def __init__(self, model: nn.Module):
        self.model = model

    def start(self, src: Tensor) -> object:
        """As the model does."""
        return self.model.start(src)

    def step(self, token: Tensor, state: object) -> tuple[Tensor, object]:
        """As the model does, but ``EOS`` is out of reach."""
        logits, state = self.model.step(token, state)
        logits[:, EOS] = -1e4
        return logits, state


def decoding_speeds(
    work: Work,
    device: torch.device,
    precision: torch.dtype = torch.float32,
    sentences: int = 128,
    rounds: int = 5,
) -> list[dict]:
    """Time our decoding beside Marian's ``generate``, words a sentence being fixed.

    Args:
        work: Says the sizes.
        device: Where.
        precision: Of all weights.
        sentences: Translated at once.
        rounds: Turns; medians are taken.

    Returns:
        For width 1 (greedy) and 5 (beam search) "ours" and "marian" in words a second,
        and how many times faster "ours_faster" is; without ``transformers`` ours alone.
    """
    length = round(work.length[0])
    tokens = work.config.source_vocab_size
    src = torch.randint(4, tokens, (sentences, length), device=device)
    ours = build(Way("ours"), work).to(device, precision).eval()
    calls = {"ours": lambda width: say(ours, src, length, width)}
    if has_marian():
        theirs = build(MARIAN, work).theirs.to(device, precision).eval()
        calls["marian"] = lambda width: marian_says(theirs, src, length, width)
    rows = []
    for width in (1, 5):
        seconds: dict[str, list[float]] = {name: [] for name in calls}
        for _ in range(rounds + 1):  # the first one warms up
            for name, call in calls.items():
                seconds[name].append(timed(partial(call, width), device))
        speeds = {n: sentences * length / median(s[1:]) for n, s in seconds.items()}
        kind = str(precision).removeprefix("torch.")
        found = {name: round(speed) for name, speed in speeds.items()}
        rows.append({"width": width, "precision": kind, **found})
        if "marian" in speeds:
            rows[-1]["ours_faster"] = round(speeds["ours"] / speeds["marian"], 2)
    return rows


def say(model: nn.Module, src: Tensor, length: int, width: int) -> Tensor:
    """Let our model write exactly ``length`` words a sentence; ids."""
    if width == 1:
        return greedy(Endless(model), src, length)
    return beam_search(Endless(model), src, length, width, alpha=1.0).ids
