"""Chapter 10: beam width and temperature, on a caption that is typed."""

from functools import lru_cache
from typing import NamedTuple

import matplotlib.pyplot as plt
import torch
from matplotlib.figure import Figure
from torch import Tensor

from attnbook.core.vocabulary import EOS
from attnbook.course.kit.colours import COLOURS, DARK_GREY, TEXT_COLOURS
from attnbook.course.kit.explorers.controls import Slider, TextBox
from attnbook.course.kit.explorers.explorer import Explorer
from attnbook.course.kit.explorers.shipped import checked_caption, shipped_translator
from attnbook.course.kit.explorers.views import View
from attnbook.course.kit.html_tables import Column, Table, table
from attnbook.decoding.beam import beam_search
from attnbook.decoding.sampling import sample
from attnbook.decoding.scoring import log_probability

SAMPLES = 20
LEAST = -25  # nats, where the axis ends
EXTRA = 10  # tokens by which an output may be longer than the source
CAPTIONS = (
    "People are waiting at the station.",
    "A man is waiting for a bus at the station.",
    "Two dogs are playing in the snow.",
)
live_translator = "beam"  # runs in the published page, at first by this method
CONTROLS = {
    "caption": TextBox("English caption", CAPTIONS[0], CAPTIONS[1:]),
    "width": Slider("beam width", 1, 8, 4),
    "temperature": Slider("temperature", 0.1, 1.5, 0.6, step=0.1),
}


class Outputs(NamedTuple):
    """Translations of one caption, the most probable first."""

    texts: list[str]
    log_p: list[float]  # in nats, EOS included


def decoding_view(caption: str, width: int, temperature: float) -> View:
    """What beam search finds, what sampling draws, and how probable both are."""
    text = checked_caption(caption)
    temperature = round(temperature, 1)  # a slider's 0.6 may be 0.6000000000000001
    greedy, beam = beams(text, 1), beams(text, width)
    drawn = samples(text, temperature)
    gain = beam.log_p[0] - greedy.log_p[0]
    where = "above" if gain > 0 else "below"
    best = f"the best log-probability is {abs(gain):.1f} nats {where} the greedy one"
    if beam.texts[0] == greedy.texts[0]:
        best = "the best translation is the greedy one"
    said = (
        f"Beam width {width}: {best}. Temperature {temperature}: "
        f"{len(set(drawn.texts))} different translations among {SAMPLES} samples."
    )
    if below := sum(x < LEAST for x in drawn.log_p):
        said += f" {below} lie left of the axis."
    groups = {
        "greedy": greedy,
        f"beam, W = {width}": beam,
        f"samples, τ = {temperature}": drawn,
    }
    alt = " ".join(
        f"{name}: {', '.join(f'{x:.1f}' for x in found.log_p)}."
        for name, found in groups.items()
    )
    return View(said, _figure(groups), alt, _table(groups))


explore_search_and_sampling = Explorer(decoding_view, CONTROLS)


@lru_cache(maxsize=32)
def beams(text: str, width: int) -> Outputs:
    """What beam search finds for a caption, without a length penalty."""
    src = _source(text)
    found = beam_search(
        shipped_translator().model, src, src.shape[1] + EXTRA, width, alpha=0.0
    )
    kept = found.scores[0] > -torch.inf  # fewer than W may have been finished
    return _outputs(found.ids[0, kept], found.scores[0, kept])


@lru_cache(maxsize=32)
def samples(text: str, temperature: float) -> Outputs:
    """Twenty samples of the translation of a caption, always from the same seed."""
    model = shipped_translator().model
    src = _source(text).expand(SAMPLES, -1)  # (20, S)
    generator = torch.Generator().manual_seed(0)
    ids = sample(model, src, src.shape[1] + EXTRA, generator, temperature)
    return _outputs(ids, log_probability(model, src, ids))


def _source(text: str) -> Tensor:
    """Ids of a caption, (1, S)."""
    return torch.tensor([[*shipped_translator().subwords.encode(text), EOS]])


def _outputs(ids: Tensor, log_p: Tensor) -> Outputs:
    order = log_p.argsort(descending=True, stable=True)
    subwords = shipped_translator().subwords
    texts = [subwords.decode(row) for row in ids[order].tolist()]
    return Outputs(texts, log_p[order].tolist())


def _figure(groups: dict[str, Outputs]) -> Figure:
    """A line for beam search and one for sampling; what lies below is at the edge."""
    (greedy, *others), names = groups.values(), list(groups)[1:]
    fig, ax = plt.subplots(figsize=(5.5, 1.9))
    for y, (found, role) in enumerate(zip(others, ("source", "target"), strict=True)):
        x = [max(value, LEAST) for value in found.log_p]
        ax.scatter(x, [y] * len(x), s=60, alpha=0.5, color=COLOURS[role], clip_on=False)
    at = greedy.log_p[0]
    ax.axvline(at, color=DARK_GREY, lw=1.5, zorder=0)
    ax.text(
        at - 0.3, 0.5, "greedy", color=DARK_GREY, ha="right", va="center", clip_on=True
    )
    ax.set(xlim=(LEAST, 0), ylim=(1.6, -0.6), xlabel="log-probability, nats")
    ax.set_yticks(range(len(names)), names)
    for label, role in zip(ax.get_yticklabels(), ("source", "target"), strict=True):
        label.set_color(TEXT_COLOURS[role])
    ax.tick_params("y", length=0)
    return fig


def _table(groups: dict[str, Outputs]) -> Table:
    """The three most probable translations of each way, each once."""
    columns = ("translation", Column("log-probability", "nats", digits=1))
    rows = {}
    for name, found in groups.items():
        best: dict[str, float] = {}
        for text, log_p in zip(found.texts, found.log_p, strict=True):
            best.setdefault(text, log_p)  # once, although it can be split in more ways
        rows[name] = [*best.items()][:3]
    return table(columns, rows)
