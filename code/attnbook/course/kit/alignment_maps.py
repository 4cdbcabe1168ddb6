"""Weights between a sentence and its translation, the right places framed."""

import matplotlib.pyplot as plt
from matplotlib.figure import Figure
from torch import Tensor

from attnbook.course.kit.colours import COLOURS
from attnbook.course.kit.heat_maps import PALE_LINES, frame_cells, heat_map
from attnbook.toy.language import Pair


def alignment_figure(cells: Tensor, pair: Pair) -> Figure:
    """Draw weights of one sentence, (T, S); frames mark what each word renders."""
    fig, ax = plt.subplots(figsize=(5.5, 5.2))
    heat_map(
        ax,
        cells,
        rows=[*pair.target, "<eos>"],
        columns=[*pair.source, "<eos>"],
        roles=("target", "source"),
        titles=("target token", "source token"),
        **PALE_LINES,
    )
    frame_cells(ax, enumerate(pair.alignment), COLOURS["target"])
    return fig
