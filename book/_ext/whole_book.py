"""Offers the whole book as one PDF on every page, if it has been printed."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

NAME = "attention-step-by-step.pdf"


def printed(app: Sphinx) -> Path:
    """Return where ``scripts/book_pdf.py`` puts the PDF; it outlives a new build."""
    return Path(app.outdir).parent / NAME


def offer(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any
) -> None:
    """Add the PDF to the menu of downloads."""
    if not printed(app).exists():
        return
    megabytes = printed(app).stat().st_size / 1e6
    button = {
        "type": "link",
        "url": context["pathto"](NAME, 1),
        "text": f"the whole book, {megabytes:.0f} MB",
        "tooltip": "The whole book as one PDF",
        "icon": "fas fa-file-pdf",
        "label": "download-book-button",
    }
    for group in context.get("header_buttons", []):
        if group.get("label") == "download-buttons":
            group["buttons"].append(button)


def put_beside_the_pages(app: Sphinx, exception: Exception | None) -> None:
    """Copy the PDF into the site."""
    if not exception and app.builder.format == "html" and printed(app).exists():
        shutil.copyfile(printed(app), Path(app.outdir) / NAME)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx, after the theme has made its menu."""
    app.connect("html-page-context", offer, priority=900)
    app.connect("build-finished", put_beside_the_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
