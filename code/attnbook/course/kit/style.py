"""One look for all figures.

A page is at most as wide as a phone: a figure 5.5 inches wide is shrunk to about 350
pixels there, and 12.5 points of text to just over 11 pixels. Wider figures need larger
text, or panels below each other.
"""

from __future__ import annotations

import matplotlib as mpl

try:
    from IPython import get_ipython
except ImportError:  # a machine for training alone has no notebooks

    def get_ipython() -> None:
        """Say that this is none."""


from attnbook.course.kit.colours import COLOURS, INK

SETTINGS = {
    "figure.figsize": (5.5, 3.2),
    "figure.dpi": 100,
    "figure.constrained_layout.use": True,
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
    "savefig.dpi": 200,
    "svg.hashsalt": "attnbook",
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],  # comes with matplotlib: the same everywhere
    "font.size": 12.5,
    "axes.titlesize": "medium",
    "axes.titlelocation": "left",
    "axes.labelsize": "medium",
    "xtick.labelsize": "medium",
    "ytick.labelsize": "medium",
    "legend.fontsize": "medium",
    "legend.frameon": False,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.prop_cycle": mpl.cycler(
        color=[COLOURS[k] for k in ("source", "target", "value", "query", "key")]
    ),
    "lines.linewidth": 2,
    "image.cmap": "cividis",
}


def use_style() -> None:
    """Set matplotlib to the look of the course; in a notebook, to sharp pictures."""
    mpl.rcParams.update(SETTINGS)
    shell = get_ipython()
    if shell is not None:
        _sharpen(shell)


def _sharpen(shell) -> None:
    """Two pixels for one, and no cropping: pictures are as wide as their figure."""
    from matplotlib_inline.config import InlineBackend

    backend = InlineBackend.instance(parent=shell)
    backend.shell = shell
    backend.print_figure_kwargs = {"bbox_inches": None}
    backend.figure_formats = {"retina"}
