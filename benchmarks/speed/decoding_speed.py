"""Decoding speed compared with Marian, at the same size."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from statistics import median

import torch
from torch import Tensor, nn

from attnbook.core.vocabulary import EOS
from attnbook.decoding.beam import beam_search
from attnbook.decoding.greedy_search import greedy
from speed.baselines import has_marian, marian_generate
from speed.training_speed import MARIAN, Method, Workload, build_model, timed_seconds


class WithoutEos:
    """A model that never generates ``EOS``, so that all outputs have the same length.

    Args:
        model: Has ``start`` and ``step``.
    """

    def __init__(self, model: nn.Module):
        self.model = model

    def start(self, src: Tensor) -> object:
        """As the model."""
        return self.model.start(src)

    def step(self, token: Tensor, state: object) -> tuple[Tensor, object]:
        """As the model, but with a very low logit for ``EOS``."""
        logits, state = self.model.step(token, state)
        logits[:, EOS] = -1e4
        return logits, state


def decoding_speeds(
    work: Workload,
    device: torch.device,
    precision: torch.dtype = torch.float32,
    sentences: int = 128,
    rounds: int = 5,
) -> Iterator[dict]:
    """Time our decoding and Marian's ``generate``, at a fixed output length.

    Args:
        work: The workload, for its sizes.
        device: The device.
        precision: Type of all weights.
        sentences: Batch size.
        rounds: Timings, of which the median is taken.

    Yields:
        For width 1 (greedy) and 5 (beam search) "ours" and "marian" in tokens per
        second, and "ours_faster", their ratio; without ``transformers`` ours only.
    """
    length = round(work.length[0])
    tokens = work.config.source_vocab_size
    src = torch.randint(4, tokens, (sentences, length), device=device)
    ours = build_model(Method("ours"), work).to(device, precision).eval()
    calls = {"ours": lambda width: generate(ours, src, length, width)}
    if has_marian():
        theirs = build_model(MARIAN, work).theirs.to(device, precision).eval()
        calls["marian"] = lambda width: marian_generate(theirs, src, length, width)
    for width in (1, 5):
        seconds: dict[str, list[float]] = {name: [] for name in calls}
        for _ in range(rounds + 1):  # the first one warms up
            for name, call in calls.items():
                seconds[name].append(timed_seconds(partial(call, width), device))
        speeds = {n: sentences * length / median(s[1:]) for n, s in seconds.items()}
        kind = str(precision).removeprefix("torch.")
        found = {name: round(speed) for name, speed in speeds.items()}
        row = {"width": width, "precision": kind, **found}
        if "marian" in speeds:
            row["ours_faster"] = round(speeds["ours"] / speeds["marian"], 2)
        yield row


def generate(model: nn.Module, src: Tensor, length: int, width: int) -> Tensor:
    """Generate exactly ``length`` tokens per sentence with our model; ids."""
    if width == 1:
        return greedy(WithoutEos(model), src, length)
    return beam_search(WithoutEos(model), src, length, width, alpha=1.0).ids
