"""Percent signs that stay with their number: "39 %" is never broken after the 39."""

from __future__ import annotations

import re

from docutils import nodes
from sphinx.application import Sphinx

NO_BREAK_SPACE = "\u00a0"
VERBATIM = (nodes.literal, nodes.literal_block, nodes.math, nodes.math_block, nodes.raw)


def join_percent_signs(app: Sphinx, doctree: nodes.document) -> None:
    """Put a no-break space between a number and its percent sign, except in code."""
    for text in list(doctree.findall(nodes.Text)):
        joined = re.sub(r"(?<=\d) %", f"{NO_BREAK_SPACE}%", text)
        if joined != text and not isinstance(text.parent, VERBATIM):
            text.parent.replace(text, nodes.Text(joined))


def setup(app: Sphinx) -> dict[str, bool]:
    """Join when a page has been read."""
    app.connect("doctree-read", join_percent_signs)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
