"""Results as tables: HTML in a page or a notebook, aligned text in a terminal."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import chain, groupby, repeat
from statistics import fmean
from typing import NamedTuple


class Spread(NamedTuple):
    """A mean with the least and the greatest of its numbers."""

    mean: float
    low: float
    high: float


class Column(NamedTuple):
    """What stands at the head of a column, and how its numbers are written.

    Args:
        name: Its heading.
        unit: Unit of its numbers, such as "ms".
        group: A heading above; neighbours with the same one share it.
        digits: Decimals of its numbers.
    """

    name: str
    unit: str = ""
    group: str = ""
    digits: int = 0


Cell = str | float | Spread | None
"""What a cell may hold, and nothing for an empty one."""

SUBSCRIPT = re.compile(r"\b([A-Za-z])_([A-Za-z0-9]+)\b")
LEFT, RIGHT = ' style="text-align: left"', ' style="text-align: right"'


def spread(numbers: Iterable[float]) -> Spread:
    """Return the mean and the range of some numbers, one a seed mostly."""
    numbers = [*numbers]
    return Spread(fmean(numbers), min(numbers), max(numbers))


@dataclass(frozen=True, repr=False)
class Table:
    """A table that shows itself; made by :func:`table`."""

    columns: Sequence[Column]
    groups: Mapping[str, Sequence[Sequence[Cell]]]

    def rows(self) -> list[Sequence[Cell]]:
        """Return all rows, without the headings above them."""
        return [row for group in self.groups.values() for row in group]

    def is_numeric(self, column: int) -> bool:
        """Say whether a column holds a number."""
        cells = [row[column] for row in self.rows()]
        return any(not isinstance(cell, str | None) for cell in cells)

    def written(self) -> list[list[tuple[str, str]]]:
        """Return, column by column, each cell's text and its range."""
        columns = zip(*self.rows(), strict=True)
        return [
            [_written(cell, head.digits) for cell in column]
            for head, column in zip(self.columns, columns, strict=True)
        ]

    def __repr__(self) -> str:
        return _as_text(self)

    def _repr_html_(self) -> str:
        return _as_html(self)


def table(
    columns: Sequence[str | Column],
    rows: Iterable[Sequence[Cell]] | Mapping[str, Iterable[Sequence[Cell]]],
) -> Table:
    """Return a table, to be the last line of a cell; its caption is in the metadata.

    In headings and texts, ``d_k`` becomes a letter with a subscript, and what stands in
    backticks is code.

    Args:
        columns: Headings; the first column names the rows.
        rows: The cells of each row, or rows by the heading that stands above them.
    """
    heads = [Column(head) if isinstance(head, str) else head for head in columns]
    groups = rows if isinstance(rows, Mapping) else {"": rows}
    return Table(
        heads, {name: [tuple(row) for row in group] for name, group in groups.items()}
    )


def _written(cell: Cell, digits: int) -> tuple[str, str]:
    """Return a cell's text and, of a spread, its range."""
    if cell is None or isinstance(cell, str):
        return cell or "", ""
    if not isinstance(cell, Spread):
        return number(cell, digits), ""
    mean, low, high = (number(x, digits) for x in cell)
    return mean, f"({low}{' to ' if cell.low < 0 else '–'}{high})"


def number(x: float, digits: int = 2) -> str:
    """Return a number as tables have it, with a true minus sign."""
    return f"{x:z,.{digits}f}".replace("-", "−")


# HTML


def _as_html(made: Table) -> str:
    columns, heads = made.written(), made.columns
    sides = [made.is_numeric(number) for number in range(len(heads))]
    wide = [max((len(area) for _, area in column), default=0) for column in columns]
    lines = ["<thead>", *_head_rows(heads, sides), "</thead>"]
    rows = iter(zip(*columns, strict=True))
    for name, group in made.groups.items():
        lines.append("<tbody>")
        if name:
            cell = f'<th scope="rowgroup" colspan="{len(heads)}"{LEFT}>'
            lines.append(f"<tr>{cell}{marked(name)}</th></tr>")
        for _ in group:
            cells = zip(next(rows), sides, wide, strict=True)
            kinds = chain(["th"], repeat("td"))
            row = (_cell(kind, *cell) for kind, cell in zip(kinds, cells, strict=False))
            lines.append(f"<tr>{''.join(row)}</tr>")
        lines.append("</tbody>")
    box = '<div class="book-table scroll-box" style="overflow-x: auto">'
    return "\n".join([box, "<table>", *lines, "</table>", "</div>"])


def _cell(kind: str, written: tuple[str, str], is_numeric: bool, wide: int) -> str:
    """Return a cell; ranges of a column are equally wide, so that numbers align."""
    text, area = written
    if wide:
        look = f"display: inline-block; min-width: {wide}ch; text-align: left"
        area = f' <span class="range" style="{look}; opacity: 0.75">{area}</span>'
    scope = ' scope="row"' if kind == "th" else ""
    side = RIGHT if is_numeric else LEFT
    return f"<{kind}{scope}{side}>{marked(text)}{area}</{kind}>"


def _head_rows(heads: Sequence[Column], sides: Sequence[bool]) -> list[str]:
    """Return one row of headings, or two if some share a heading above them."""
    above, below = [], []
    places = iter(zip(heads, sides, strict=True))
    for group, members in groupby(heads, key=lambda head: head.group):
        names = [next(places) for _ in members]
        if group:
            style = ' style="text-align: center"'
            span = f'scope="colgroup" colspan="{len(names)}"{style}'
            above.append(f"<th {span}>{marked(group)}</th>")
            below += [_head(*name, "") for name in names]
        else:
            above += [_head(*name, ' rowspan="2"') for name in names]
    if not below:
        above = [cell.replace(' rowspan="2"', "", 1) for cell in above]
    return [f"<tr>{''.join(cells)}</tr>" for cells in (above, below) if cells]


def _head(head: Column, is_numeric: bool, span: str) -> str:
    side = RIGHT if is_numeric else LEFT
    unit = ""
    if head.unit:
        style = ' style="font-weight: normal"'
        unit = f'<br/><span class="unit"{style}>{marked(head.unit)}</span>'
    return f'<th scope="col"{span}{side}>{marked(head.name)}{unit}</th>'


def marked(text: str) -> str:
    """Return text as HTML: code in backticks, and letters with a subscript."""
    parts = escape(text, quote=False).split("`")
    parts[::2] = [SUBSCRIPT.sub(r"<i>\1</i><sub>\2</sub>", part) for part in parts[::2]]
    parts[1::2] = [f"<code>{part}</code>" for part in parts[1::2]]
    return "".join(parts)


# Text


def _as_text(made: Table) -> str:
    sides = [made.is_numeric(number) for number in range(len(made.columns))]
    columns = [_aligned(column) for column in made.written()]
    heads = [[_plain(part) for part in head[:2]] for head in made.columns]
    widths = [
        max(map(len, (*head, *column)))
        for head, column in zip(heads, columns, strict=True)
    ]

    def line(cells: Iterable[str]) -> str:
        padded = (
            f"{cell:>{width}}" if right else f"{cell:{width}}"
            for cell, width, right in zip(cells, widths, sides, strict=True)
        )
        return "  ".join(padded).rstrip()

    head = [_groups_line(made.columns, widths), *map(line, zip(*heads, strict=True))]
    rule = "  ".join("─" * width for width in widths)
    lines = [*filter(None, head), rule]
    rows = iter(zip(*columns, strict=True))
    for name, group in made.groups.items():
        lines += [_plain(name)] if name else []
        lines += [line(next(rows)) for _ in group]
    return "\n".join(lines)


def _aligned(column: Sequence[tuple[str, str]]) -> list[str]:
    """Return the cells of a column with their numbers below each other."""
    wide = max((len(area) for _, area in column), default=0)
    return [
        f"{_plain(text)} {area:{wide}}" if wide else _plain(text)
        for text, area in column
    ]


def _groups_line(heads: Sequence[Column], widths: Sequence[int]) -> str:
    """Return the line of the headings that several columns share."""
    parts, wide = [], iter(widths)
    for group, members in groupby(heads, key=lambda head: head.group):
        width = sum(next(wide) + 2 for _ in members) - 2
        parts.append(f"{_plain(group):^{width}}")
    return "  ".join(parts).rstrip()


def _plain(text: str) -> str:
    return text.replace("`", "")
