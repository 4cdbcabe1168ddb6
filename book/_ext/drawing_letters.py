"""Letters of drawings: a picture cannot load the page's font, so it brings its own."""

from __future__ import annotations

import base64
import io
import re
from importlib.resources import files
from xml.etree import ElementTree

from fontTools.subset import Options, Subsetter
from fontTools.ttLib import TTFont

FAMILY = "Attnbook Sans"
FONTS = {"normal": "AttnbookSansRegular.ttf", "bold": "AttnbookSansBold.ttf"}
FOLDER = files("attnbook.course.kit") / "fonts"
RULE = (
    '@font-face {{ font-family: "{}"; font-weight: {}; '
    'src: url("data:font/woff;base64,{}") format("woff"); }}'
)
ROOT = re.compile(r'(<svg [^>]*?font-family=")([^>]*?>)')


def with_letters(drawing: str) -> str:
    """Put the letters that a drawing shows into it, ahead of the fonts that it names.

    A drawing that names no font in its first element stays as it is.
    """
    if not ROOT.match(drawing):
        return drawing
    shown = ElementTree.fromstring(drawing).iterfind(".//{*}text")
    text = "".join(letter for element in shown for letter in element.itertext())
    weights = [w for w in FONTS if w == "normal" or f'font-weight="{w}"' in drawing]
    rules = "".join(RULE.format(FAMILY, w, subset(FONTS[w], text)) for w in weights)
    root = rf"\1'{FAMILY}', \2<style>{rules}</style>"
    return ROOT.sub(root, drawing, count=1)


def subset(name: str, text: str) -> str:
    """Return a font with the letters of a text alone, packed for an address."""
    options = Options(hinting=False, layout_features=["kern"])
    with TTFont(FOLDER / name, recalcTimestamp=False) as font:
        chosen = Subsetter(options)
        chosen.populate(text=text)
        chosen.subset(font)
        font.flavor = "woff"
        file = io.BytesIO()
        font.save(file)
    return base64.b64encode(file.getvalue()).decode()
