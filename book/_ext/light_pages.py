"""What makes every page some 0.5 MB lighter and changes nothing that is seen.

The theme loads all icons of Font Awesome, as a program and as a font, and the index of
the search. The book shows some twenty icons, and only the page with the results of a
search reads the index.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from fontTools.subset import Subsetter
from fontTools.ttLib import TTFont
from sphinx.application import Sphinx


class Icons(NamedTuple):
    """A font of Font Awesome, and the icons of it that pages show."""

    family: str
    weight: int
    names: str


FONTS = {
    "fa-solid-900": Icons(
        "Font Awesome 6 Free",
        900,
        "angle-down angle-left angle-right arrow-up bars bell chevron-down "
        "circle-half-stroke circle-info code download file file-pdf lightbulb list "
        "magnifying-glass moon pencil rocket sun",
    ),
    "fa-brands-400": Icons("Font Awesome 6 Brands", 400, "github"),
}
"""By the name of the theme's file. For an icon that is missing here, a browser loads
the theme's whole font."""

RULE = """\
@font-face {{
  font-family: "{0.family}";
  font-weight: {0.weight};
  font-display: block;
  src: url("{1}") format("truetype");
  unicode-range: {2};
}}
"""


def write_icons(app: Sphinx, exception: Exception | None) -> None:
    """Write the fonts with the icons that are shown, and the rules that name them."""
    if exception or app.builder.format != "html":
        return
    static, rules = Path(app.outdir) / "_static", []
    for name, icons in FONTS.items():
        path = static / "vendor" / "fontawesome" / "webfonts" / f"{name}.ttf"
        with TTFont(path, recalcTimestamp=False) as font:
            codes = code_points(font, icons.names.split())
            chosen = Subsetter()
            chosen.populate(unicodes=codes)
            chosen.subset(font)
            font.save(static / f"{name}.ttf")
        # A browser takes the height of a line from the font that has the space.
        listed = ", ".join(f"U+{code:X}" for code in (ord(" "), *codes))
        rules.append(RULE.format(icons, f"{name}.ttf", listed))
    (static / "icons.css").write_text("".join(rules), encoding="utf-8")


def code_points(font: TTFont, names: list[str]) -> list[int]:
    """Return all code points of icons by their names; some have several.

    Raises:
        ValueError: If the font lacks one.
    """
    known = font.getBestCmap()
    if unknown := {*names} - {*known.values()}:
        raise ValueError(
            f"Font Awesome has no {', '.join(sorted(unknown))}: correct FONTS in "
            "book/_ext/light_pages.py"
        )
    return sorted(code for code, name in known.items() if name in names)


def without_scripts(markup: str, *names: str) -> str:
    """Return markup without the elements that load certain scripts.

    Raises:
        ValueError: If one is not there: the theme has changed, and so must the list.
    """
    for name in names:
        element = rf'<script[^>]*["/]{re.escape(name)}[^>]*></script>'
        markup, found = re.subn(element, "", markup)
        if not found:
            raise ValueError(
                f"the theme loads no {name} any more: take it out of "
                "book/_templates/layout.html"
            )
    return markup


def add_filter(app: Sphinx) -> None:
    """Give ``book/_templates/layout.html`` the filter that it uses."""
    if app.builder.format == "html":
        app.builder.templates.environment.filters["without_scripts"] = without_scripts


def setup(app: Sphinx) -> dict[str, bool]:
    """Register all of the above with Sphinx."""
    app.add_css_file("icons.css")
    app.connect("builder-inited", add_filter)
    app.connect("build-finished", write_icons)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
