"""The scripts of the interactive figures: from files into an attribute of an image.

A figure loads nothing and finds nothing by an id, so all its script stands in the
``onload`` of its first image. It is written as modules that import from one another, in
the files next to this one and in chapters' folders, which a linter reads;
``start(image, given)`` begins.
"""

from __future__ import annotations

import json
import re
from html import escape
from importlib.resources import files
from importlib.resources.abc import Traversable

IMPORT = re.compile(r"^import \{[^}]*\} from \"[\w./]*?(\w+)\.js\";$", re.MULTILINE)
WHEN_PARSED = (
    'if (document.readyState === "loading") '
    'document.addEventListener("DOMContentLoaded", begin); else begin();'
)
"""An image can be there before what stands below it has been read."""
COMMENT = re.compile(r"^\s*//.*$", re.MULTILINE)


def on_load(module: str, **given: object) -> str:
    """Start a module when an image has loaded.

    Args:
        module: Name of a file, without ``.js``. In it comments have
            lines of their own, and statements end with a semicolon or a brace: all
            becomes one line.
        given: What the module gets from here, as JSON.

    Returns:
        An attribute of the image, with a space before it.
    """
    values = json.dumps(given, ensure_ascii=False)
    code = f"{bundle(module)} const begin = () => start(this, {values}); {WHEN_PARSED}"
    return f' onload="{escape(" ".join(code.split()))}"'


def bundle(module: str) -> str:
    """A module with all it imports before it, each once, without comments."""
    found: dict[str, str] = {}

    def add(name: str) -> None:
        if name not in found:
            text = script_file(name).read_text(encoding="utf-8")
            for other in IMPORT.findall(text):
                add(other)
            text = COMMENT.sub("", IMPORT.sub("", text))
            found[name] = re.sub(r"^export ", "", text, flags=re.MULTILINE)

    add(module)
    return "\n".join(found.values())


def script_file(name: str) -> Traversable:
    """The script of a name, from the kit or the one chapter that has it.

    Raises:
        ValueError: If there is none.
    """
    for folder in (files(__package__), *files("attnbook.course").iterdir()):
        if (found := folder / f"{name}.js").is_file():
            return found
    raise ValueError(f"no script {name}.js in attnbook/course: is its name right?")
