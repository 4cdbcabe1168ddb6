"""Long names of code may break after an underscore, a dot or a bracket.

A phone would cut ``generate_square_subsequent_mask`` anywhere, or push the columns
beside it out of sight. Short names stay whole.
"""

from __future__ import annotations

import re
from typing import Any

from sphinx.application import Sphinx

CODE = re.compile(r"(?<=<code).*?(?=</code>)", re.DOTALL)
LONG = re.compile(r">[^<]{16,}")
JOINT = re.compile(r"(?<=[_.(=])(?=\w)")


def breakable(markup: str) -> str:
    """Return HTML in which long names within text may break between their parts."""

    def in_name(found: re.Match) -> str:
        return JOINT.sub("<wbr>", found[0])

    return CODE.sub(lambda code: LONG.sub(in_name, code[0]), markup)


def break_names(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any
) -> None:
    """Let the long names of a page break."""
    context["body"] = breakable(context.get("body", ""))


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("html-page-context", break_names, priority=950)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
