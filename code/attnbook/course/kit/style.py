"""One look for all figures.

A page is at most as wide as a phone: a figure 5.5 inches wide is shrunk to about 350
pixels there, and 14 points of text to just over 12 pixels. Wider figures need larger
text, or panels below each other.

The letters are those of the page. The package carries them (`scripts/vendor_assets.py`
made the files), so that a figure looks the same everywhere.
"""

from pathlib import Path

import matplotlib as mpl
from IPython import get_ipython
from matplotlib.font_manager import fontManager

from attnbook.course.kit.colours import COLOURS, INK

for _path in sorted((Path(__file__).parent / "fonts").glob("*.ttf")):
    fontManager.addfont(_path)

SETTINGS = {
    "figure.figsize": (5.5, 3.2),
    "figure.dpi": 100,
    "figure.constrained_layout.use": True,
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
    "savefig.dpi": 200,
    "svg.hashsalt": "attnbook",
    # The second has the signs that the first lacks; it comes with matplotlib.
    "font.family": ["Attnbook Sans", "DejaVu Sans"],
    "font.size": 14,
    "mathtext.fontset": "stix",  # like the page's formulas
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
