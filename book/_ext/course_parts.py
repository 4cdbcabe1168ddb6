"""Tells the pages' scripts what there is to be ticked: pages, predict boxes, exercises.

``book/_static/ticks.js`` reads it, and keeps in the browser what the reader has done.
The front page has a style and a script of its own besides.
"""

from __future__ import annotations

import json
import re
from typing import Any

from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

from predict_box import predict_labels

# Chapters, laboratory pages, appendices.
TO_BE_READ = re.compile(r"book/(?:ch|lab|a)\d+_\w+")


def course_parts(env: BuildEnvironment) -> dict[str, list[str]]:
    """Return the labels of the boxes and exercises of each page that is to be read."""
    parts = {page: [] for page in sorted(env.found_docs) if TO_BE_READ.fullmatch(page)}
    exercises = {
        label: entry["docname"]
        for label, entry in getattr(env, "sphinx_exercise_registry", {}).items()
        if entry["type"].startswith("exercise")
    }
    for label, page in (predict_labels(env) | exercises).items():
        if page in parts:
            parts[page].append(label)
    return parts


def add_parts(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any
) -> None:
    """Write the parts into a page, and let it load the scripts."""
    parts = json.dumps(course_parts(app.env)).replace("<", r"\u003c")
    app.add_js_file(None, body=parts, type="application/json", id="course-parts")
    for name in ("progress.js", "ticks.js"):
        app.add_js_file(name, loading_method="defer")
    if 'class="front-start' in context.get("body", ""):
        app.add_css_file("front.css")
        app.add_js_file("front.js", loading_method="defer")


def setup(app: Sphinx) -> dict[str, bool]:
    """Register all of the above with Sphinx."""
    app.setup_extension("predict_box")
    # Before the scripts that use what these define.
    app.connect("html-page-context", add_parts, priority=400)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
