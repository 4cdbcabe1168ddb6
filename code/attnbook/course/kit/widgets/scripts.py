"""The scripts of the interactive figures: from files into an attribute of an image.

A figure loads nothing and finds nothing by an id, so all its script stands in the
``onload`` of an image. It is written as a module, in a file that a linter reads;
``start(image, given)`` begins.
"""

from __future__ import annotations

import json
import re
from html import escape
from importlib.resources import files

WHEN_PARSED = (
    'if (document.readyState === "loading") '
    'document.addEventListener("DOMContentLoaded", begin); else begin();'
)
"""An image can be there before what stands below it has been read."""
NO_CODE = re.compile(r"^\s*//.*$|^export ", re.MULTILINE)
NOTHING = "data:image/gif;base64,R0lGODlhAQABAAAAACwAAAAAAQABAAA="


def on_load(module: str, **given: object) -> str:
    """Start a script when an image has loaded.

    Args:
        module: Its place, such as ``attnbook.course.kit.widgets.stepper``. In the file
            comments have lines of their own, and statements end with a semicolon or a
            brace: all becomes one line.
        given: What the script gets from here, as JSON.

    Returns:
        An attribute of the image, with a space before it.
    """
    package, _, name = module.rpartition(".")
    code = NO_CODE.sub("", (files(package) / f"{name}.js").read_text(encoding="utf-8"))
    values = json.dumps(given, ensure_ascii=False)
    begin = f"const begin = () => {{ this.onload = null; start(this, {values}); }};"
    whole = f"{code} {begin} {WHEN_PARSED}"
    return f' onload="{escape(" ".join(whole.split()))}"'


def empty_image(module: str, **given: object) -> str:
    """An image that only starts a script; see :func:`on_load`."""
    return (
        f'<img src="{NOTHING}" alt="" width="1" height="1"{on_load(module, **given)}>'
    )
