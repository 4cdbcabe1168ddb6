"""Figures in the page: as wide as the text, of a known size, packed.

Notebooks store pictures on white paper, two pixels for one. Here each is packed without
loss in half the bytes, and loaded when the reader comes near; a drawing, which cannot
load the page's font, brings its letters. On a dark page ``book.css`` turns the
lightness of both over, and leaves the hues.
"""

from __future__ import annotations

import base64
import hashlib
import io
import re
import shutil
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree

from fontTools.subset import Options, Subsetter
from fontTools.ttLib import TTFont
from PIL import Image
from sphinx.application import Sphinx

TEXT = 672  # pixels: --book-measure in book.css
STORED_WIDTH = 550  # of nearly all figures; others grow as much
TALLEST = 760  # what would not fit into a window does not grow
SMALL = 100  # no figure, but a sign in a line
# Text is as high as this where a figure is stored, and on a phone no less than that: on
# a narrower screen the picture scrolls (book.css). Plots have text of 19.4 pixels:
# their letters are as high as those of most fonts at 17.4.
TEXT_OF_PLOTS, TEXT_OF_DRAWINGS, SMALLEST_TEXT = 17.4, 16, 11
# Quick to pack; the best would be a fifth smaller and take four times as long.
PACKED = {"lossless": True, "method": 1, "quality": 40}
# The theme leaves a picture of its class dark-light alone.
CLASSES = "on-paper dark-light"

PICTURE = re.compile(
    r"(?P<link><a [^>]*image-reference[^>]*>\s*)?<img (?P<within>[^>]*?)\s*/?>"
    r"(?(link)\s*</a>)"
)
ATTRIBUTE = re.compile(r'([\w-]+)="([^"]*)"')
EMBEDDED = re.compile(r"data:image/(png|svg)\b[^,]*;base64,(.*)", re.DOTALL)
SIZE = re.compile(r"(?:width|height|aspect-ratio): [\d.]+(?:px| / [\d.]+);?\s*")


class Picture(NamedTuple):
    """The file of a figure, and its size as stored, in the page's pixels."""

    file: str
    width: float
    height: float


def rewrite(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any
) -> None:
    """Write the pictures of a page anew."""
    body = context.get("body", "")
    if app.builder.format == "html" and "<img " in body:
        folder = context["pathto"]("_images", resource=True)
        context["body"] = PICTURE.sub(lambda found: markup(app, found, folder), body)


def markup(app: Sphinx, found: re.Match, folder: str) -> str:
    """Return the markup of a picture, packed and sized, or what was there."""
    given = dict(ATTRIBUTE.findall(found["within"]))
    stored = read(app, given.get("src", ""))
    if stored is None:
        return found[0]
    kind, data = stored
    picture = write(app, kind, data)
    if picture.width < SMALL or (kind == "svg" and "onload" in given):  # a script draws
        return found[0]
    style = SIZE.sub("", given.pop("style", ""))
    limits = (TEXT / STORED_WIDTH, TEXT / picture.width, TALLEST / picture.height)
    growth = max(1, min(limits))
    width, height = round(growth * picture.width), round(growth * picture.height)
    given |= {"style": style, "width": str(width), "height": str(height)}
    given["src"] = f"{folder}/{picture.file}"
    given["class"] = f"{given.get('class', '')} {CLASSES}".strip()
    if "onload" not in given:  # the script that a picture starts is wanted at once
        given["loading"] = "lazy"
    image = "<img " + " ".join(f'{k}="{v}"' for k, v in given.items() if v) + ">"
    if found["link"]:
        image = f"{found['link']}{image}</a>"
    if re.search(r"(?<!-)width: 100%", style):  # it has a box
        return image
    text = TEXT_OF_DRAWINGS if kind == "svg" else TEXT_OF_PLOTS
    least = f"--smallest-width: {picture.width * SMALLEST_TEXT / text:.0f}px"
    return f'<div class="scroll-box" style="{least}">{image}</div>'


def read(app: Sphinx, source: str) -> tuple[str, bytes] | None:
    """Return whether a picture of the page is a png or svg, and its bytes."""
    if embedded := EMBEDDED.match(source):
        return embedded[1], base64.b64decode(embedded[2])
    for path, name in app.builder.images.items():
        kind = name.rsplit(".")[-1]
        if source.endswith(f"_images/{name}") and kind in ("png", "svg"):
            return kind, (Path(app.srcdir) / path).read_bytes()
    return None


# --- Files ---


def write(app: Sphinx, kind: str, data: bytes) -> Picture:
    """Write a picture into the book, packed once for all builds."""
    code = Path(__file__).read_bytes()
    name = hashlib.sha256(data + code).hexdigest()[:20]
    file = f"{name}.{'svg' if kind == 'svg' else 'webp'}"
    kept = Path(app.outdir).parent / "figures" / file
    shown = Path(app.outdir) / "_images" / file
    for path in (kept, shown):
        path.parent.mkdir(parents=True, exist_ok=True)
    if not kept.exists():
        kept.write_bytes(pack(kind, data))
    shutil.copyfile(kept, shown)
    return Picture(file, *stored_size(kind, data))


def pack(kind: str, data: bytes) -> bytes:
    """Return a drawing with its letters, or a picture as WebP."""
    if kind == "svg":
        return with_letters(data.decode()).encode()
    file = io.BytesIO()
    Image.open(io.BytesIO(data)).convert("RGB").save(file, "WEBP", **PACKED)
    return file.getvalue()


def stored_size(kind: str, data: bytes) -> tuple[float, float]:
    """Return the width and the height of a picture in the page's pixels."""
    if kind == "png":
        width, height = Image.open(io.BytesIO(data)).size
        return width / 2, height / 2  # attnbook.course.kit.style
    root = data[: data.index(b">")].decode()
    width, height = (
        float(re.search(rf'\b{side}="([\d.]+)', root)[1])
        for side in ("width", "height")
    )
    return width, height


# --- Letters of drawings ---

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


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx, behind those that put pictures into pages."""
    app.connect("html-page-context", rewrite, priority=950)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
