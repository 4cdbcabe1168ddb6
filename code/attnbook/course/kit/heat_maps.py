"""Heat maps: attention weights, masks, influence; with numbers, names and frames."""

from collections.abc import Iterable, Sequence

import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle
from torch import Tensor

from attnbook.course.kit.colours import INK, TEXT_COLOURS, WEIGHTS

PALE_LINES = {"linewidths": 1, "linecolor": "#EEF1F4"}
WHITE_LINES = {"linewidths": 1.5, "linecolor": "white"}


def heat_map(
    ax: Axes,
    cells: Tensor,
    *,
    rows: Sequence[str] = (),
    columns: Sequence[str] = (),
    roles: tuple[str | None, str | None] = (None, None),
    titles: tuple[str, str] = ("", ""),
    turn: int = 90,
    notes: Sequence[Sequence[str]] | None = None,
    **look: object,
) -> None:
    """Draw a matrix, the first row on top; 0 is white, 1 is darkest.

    Args:
        ax: Where to.
        cells: (T, S); what is not a number shows the ground.
        rows: T names at the left, or none.
        columns: S names below, or none.
        roles: The ideas whose colours the names of rows and of columns have.
        titles: What the rows and what the columns are, in the colours of their roles.
        turn: Degrees by which the names of columns are turned.
        notes: What is written in the cells.
        look: What ``seaborn.heatmap`` takes, such as ``vmax`` and ``linewidths``.
    """
    sns.heatmap(
        cells.numpy(),
        ax=ax,
        annot=notes,
        cbar=False,
        xticklabels=columns,
        yticklabels=rows,
        **{"cmap": WEIGHTS, "vmin": 0, "vmax": 1, "fmt": ""} | look,
    )
    for axis, role, angle in zip("yx", roles, (0, turn), strict=True):
        ax.tick_params(axis, length=0, rotation=angle)
        if role:
            ax.tick_params(axis, labelcolor=TEXT_COLOURS[role])
    for axis, role, title in zip((ax.yaxis, ax.xaxis), roles, titles, strict=True):
        if title:
            axis.set_label_text(title, color=TEXT_COLOURS[role] if role else INK)


def columns_on_top(ax: Axes) -> None:
    """Write the names of columns above the map, each from its own column on."""
    ax.xaxis.tick_top()
    ax.xaxis.set_label_position("top")
    ax.tick_params("x", length=0)
    for name in ax.get_xticklabels():
        name.set(ha="left", rotation_mode="anchor")


def colour_bar(axes: Axes | Sequence[Axes], label: str) -> None:
    """Draw the scale of one or more heat maps below them.

    Args:
        axes: Those of the maps, which share their scale.
        label: What the colours mean, with its unit.
    """
    axes = [axes] if isinstance(axes, Axes) else list(axes)
    bar = axes[0].figure.colorbar(
        axes[0].collections[0],
        ax=axes,
        location="bottom",
        label=label,
        shrink=0.6,
        aspect=30,
    )
    bar.outline.set_visible(False)


def numbers_from(cells: Tensor, least: float, form: str = ".0f") -> list[list[str]]:
    """Notes for :func:`heat_map`: the numbers from ``least`` on."""
    return [
        [f"{x:{form}}" if x >= least else "" for x in row] for row in cells.tolist()
    ]


def frame_cells(
    ax: Axes, places: Iterable[tuple[int, int | None]], colour: str, width: float = 2
) -> None:
    """Frame some cells of a heat map.

    Args:
        ax: Its axes.
        places: Row and column of each; without a column there is no frame.
        colour: Of the frames.
        width: Of their lines.
    """
    for i, j in places:
        if j is not None:
            frame = Rectangle((j, i), 1, 1, fill=False, linewidth=width)
            frame.set(edgecolor=colour, clip_on=False)
            ax.add_patch(frame)
