"""Explorers on the page: controls, and the data of what each setting shows.

A notebook stores the first view of an explorer as a picture with its text, and names
the explorer's module, by which the explorer is found. All its settings are
computed here, once for each state of the package, and the figure gets its controls;
``book/_static/live/explorers.js`` moves them. Without JavaScript the picture stays.
A module may instead name a model that runs in the page and takes what is typed.
"""

from __future__ import annotations

import re
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

import attnbook
from attnbook.course.kit.explorers.controls import Control, Menu, Switch, TextBox
from attnbook.course.kit.explorers.explorer import EXPLORERS, Explorer
from attnbook.course.kit.explorers.packed import script
from attnbook.toy.language import translate_by_rule
from live import model_figure, render, translator_figure, version_of

STILL = re.compile(
    r'<(?:figure|div) class="book-stepper" data-explorer="(?P<name>[\w.]+)".*?'
    r'<p class="book-settings">.*?</p>',
    re.DOTALL,
)
HINT = re.compile(r"To change them,[^.]*\.")  # as a notebook has it
PICTURE = '<div class="book-picture">'
SCRIPTLESS = "With JavaScript switched on, you can change them here."


def mount(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any
) -> None:
    """Give the explorers of a page their controls, and write their data."""
    body = context.get("body", "")
    if "data-explorer=" in body:
        context["body"] = STILL.sub(lambda found: mounted(app, found), body)


def mounted(app: Sphinx, still: re.Match) -> str:
    """Return the figure of an explorer with its controls."""
    module = import_module(still["name"])
    if hasattr(module, "live_model"):  # it computes whatever the reader types
        figure = model_figure([module.live_model], translate_by_rule(module.SENTENCE))
        return f"<div>\n<div>\n{figure}</figure>"
    if hasattr(module, "live_translator"):  # it translates whatever the reader types
        first, *others = module.CONTROLS["caption"].choices
        figure = translator_figure("search", first, others, module.live_translator)
        return f"<div>\n<div>\n{figure}</figure>"
    name, explorer = short_name(still["name"]), EXPLORERS[still["name"]]
    write_data(app, name, explorer)
    shown = explorer.on_page(**{k: c.start for k, c in explorer.controls.items()})
    stacked = sum(chart.stacked for chart in shown.drawn)
    room = f'style="--height: {shown.height}px; --stacked: {stacked}px"'
    kind = "explorer explorer-printed" if explorer.printed else "explorer"
    opening = (
        f'class="book-stepper {kind}" data-explorer="{name}" data-version="{version()}"'
    )
    found = re.sub(r"class=[^>]*?(?= style=)", opening, still[0], count=1)
    picture = f"{controls(explorer.controls)}\n{PICTURE[:-1]} {room}>"
    return HINT.sub(SCRIPTLESS, found.replace(PICTURE, picture, 1))


def short_name(module: str) -> str:
    """Return "ch08-deep-stacks" for attnbook.course.ch08.explorer_deep_stacks."""
    chapter, name = module.split(".")[-2:]
    return f"{chapter}-{name.removeprefix('explorer_')}".replace("_", "-")


def controls(given: dict[str, Control]) -> str:
    """Write the form with all controls of an explorer."""
    return render("explorer_controls", controls=[*map(described, given.values())])


def described(control: Control) -> dict[str, Any]:
    """Return what the template says of a control; texts are chosen from a menu, too."""
    found = {"label": control.label, "start": control.start, "kind": "slider"}
    choices = [*control.choices]
    if isinstance(control, Switch):
        return found | {"kind": "switch"}
    if isinstance(control, Menu | TextBox):
        return found | {"kind": "menu", "choices": choices}
    whole = all(float(choice).is_integer() for choice in choices)
    texts = [
        (f"{choice:,.0f}" if whole else f"{choice:.1f}").replace("-", "−")
        for choice in choices
    ]
    place = min(range(len(choices)), key=lambda i: abs(choices[i] - control.start))
    return found | {"texts": texts, "place": place, "play": control.play}


# --- Data ---


@cache
def version() -> str:
    """Name the state of the package, from which all data are computed."""
    return version_of(Path(attnbook.__file__).parent.rglob("*.py"))


def write_data(app: Sphinx, name: str, explorer: Explorer) -> None:
    """Write the views of all settings into the book, computed once for each state."""
    kept = Path(app.outdir).parent / "explorers"
    path = kept / f"{name}-{version()}.js"
    if not path.exists():
        kept.mkdir(parents=True, exist_ok=True)
        for old in kept.glob(f"{name}-*.js"):
            old.unlink()
        text = script(name, explorer.on_page, explorer.controls)
        path.write_text(text, encoding="utf-8")
    folder = Path(app.outdir) / "_static" / "explorers"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.js").write_bytes(path.read_bytes())


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("html-page-context", mount)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
