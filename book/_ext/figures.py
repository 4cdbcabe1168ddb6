"""Figures in the page: for light and dark, as wide as the text, of a known size.

Notebooks store pictures on white paper, two pixels for one. Here each gets a twin for
dark pages (`dark_colours`), and both are packed without loss in half the bytes; a
browser loads the one that the theme shows, when the reader comes near. A drawing has
its colours replaced and gets the page's letters (`drawing_letters`).
"""

from __future__ import annotations

import base64
import hashlib
import io
import re
import shutil
from pathlib import Path
from typing import Any, NamedTuple

from PIL import Image
from sphinx.application import Sphinx

import dark_colours
import drawing_letters

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

PICTURE = re.compile(
    r"(?P<link><a [^>]*image-reference[^>]*>\s*)?<img (?P<within>[^>]*?)\s*/?>"
    r"(?(link)\s*</a>)"
)
ATTRIBUTE = re.compile(r'([\w-]+)="([^"]*)"')
EMBEDDED = re.compile(r"data:image/(png|svg)\b[^,]*;base64,(.*)", re.DOTALL)
SIZE = re.compile(r"(?:width|height|aspect-ratio): [\d.]+(?:px| / [\d.]+);?\s*")
COLOUR = re.compile(r"#(?:[0-9A-Fa-f]{6}|[0-9A-Fa-f]{3})\b")


class Twins(NamedTuple):
    """The files of a figure, and the size of the stored one in the page's pixels."""

    light: str
    dark: str
    width: float
    height: float


def rewrite(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any
) -> None:
    """Write the pictures of a page anew."""
    body = context.get("body", "")
    if app.builder.format == "html" and "<img " in body:
        folder = context["pathto"]("_images", resource=True)
        context["body"] = PICTURE.sub(lambda found: picture(app, found, folder), body)


def picture(app: Sphinx, found: re.Match, folder: str) -> str:
    """Return the markup of a picture for both themes, or what was there."""
    given = dict(ATTRIBUTE.findall(found["within"]))
    stored = read(app, given.get("src", ""))
    if stored is None or "only-" in given.get("class", ""):
        return found[0]
    kind, data = stored
    twins = write_twins(app, kind, data)
    if twins.width < SMALL or (kind == "svg" and "onload" in given):  # a script draws
        return found[0]
    style = SIZE.sub("", given.pop("style", ""))
    width, height = shown_size(twins)
    given |= {"style": style, "width": str(width), "height": str(height)}
    images = image(given, f"{folder}/{twins.light}", "only-light")
    given.pop("onload", None)
    images += image(given, f"{folder}/{twins.dark}", "only-dark")
    if found["link"]:
        images = f"{found['link']}{images}</a>"
    if re.search(r"(?<!-)width: 100%", style):  # it has a box
        return images
    text = TEXT_OF_DRAWINGS if kind == "svg" else TEXT_OF_PLOTS
    least = f"--smallest-width: {twins.width * SMALLEST_TEXT / text:.0f}px"
    return f'<div class="scroll-box" style="{least}">{images}</div>'


def read(app: Sphinx, source: str) -> tuple[str, bytes] | None:
    """Return whether a picture of the page is a png or svg, and its bytes."""
    if embedded := EMBEDDED.match(source):
        return embedded[1], base64.b64decode(embedded[2])
    for path, name in app.builder.images.items():
        kind = name.rsplit(".")[-1]
        if source.endswith(f"_images/{name}") and kind in ("png", "svg"):
            return kind, (Path(app.srcdir) / path).read_bytes()
    return None


def image(given: dict[str, str], source: str, theme: str) -> str:
    """Return one element; a picture that starts a script is loaded in both themes."""
    given = given | {
        "src": source,
        "class": f"{given.get('class', '')} {theme}".strip(),
    }
    if "onload" not in given:
        given["loading"] = "lazy"
    return "<img " + " ".join(f'{k}="{v}"' for k, v in given.items() if v) + ">"


def shown_size(twins: Twins) -> tuple[int, int]:
    """Return the width and the height that a figure has in the page, in pixels."""
    limits = (TEXT / STORED_WIDTH, TEXT / twins.width, TALLEST / twins.height)
    growth = max(1, min(limits))
    return round(growth * twins.width), round(growth * twins.height)


# --- Files ---


def write_twins(app: Sphinx, kind: str, data: bytes) -> Twins:
    """Write a picture for light and for dark pages, packed once for all builds."""
    modules = (dark_colours, drawing_letters)
    code = b"".join(Path(module.__file__).read_bytes() for module in modules)
    code += repr(PACKED).encode()
    name = hashlib.sha256(data + code).hexdigest()[:20]
    ending = "svg" if kind == "svg" else "webp"
    files = f"{name}.{ending}", f"{name}-dark.{ending}"
    kept = Path(app.outdir).parent / "figures"
    shown = Path(app.outdir) / "_images"
    for folder in (kept, shown):
        folder.mkdir(parents=True, exist_ok=True)
    if not all((kept / file).exists() for file in files):
        for file, packed in zip(files, pack(kind, data), strict=True):
            (kept / file).write_bytes(packed)
    for file in files:
        shutil.copyfile(kept / file, shown / file)
    return Twins(*files, *stored_size(kind, data))


def pack(kind: str, data: bytes) -> tuple[bytes, bytes]:
    """Return a picture for light and for dark pages."""
    if kind == "svg":
        drawn = drawing_letters.with_letters(data.decode())
        dark = COLOUR.sub(lambda found: dark_colours.dark_colour(found[0]), drawn)
        return drawn.encode(), dark.encode()
    light = Image.open(io.BytesIO(data)).convert("RGB")
    return webp(light), webp(dark_colours.dark_picture(light))


def webp(picture: Image.Image) -> bytes:
    """Return a picture as WebP."""
    file = io.BytesIO()
    picture.save(file, "WEBP", **PACKED)
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


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx, behind those that put pictures into pages."""
    app.connect("html-page-context", rewrite, priority=950)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
