"""The front page's own style and script; no other page loads them."""

from __future__ import annotations

from typing import Any

from sphinx.application import Sphinx


def add_files(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any
) -> None:
    """Add them to the page that has the button to start."""
    if 'class="front-start' in context.get("body", ""):
        app.add_css_file("front.css")
        app.add_js_file("front.js", loading_method="defer")


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the above with Sphinx."""
    app.connect("html-page-context", add_files)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
