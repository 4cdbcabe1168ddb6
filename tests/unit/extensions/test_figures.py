"""Figures of the page: how they are packed, their size, their markup."""

import base64
import io
import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from fontTools.ttLib import TTFont
from PIL import Image

import figures
from attnbook.course.kit.colours import COLOURS, INK, TEXT_COLOURS, contrast

BOOK = Path(__file__).resolve().parents[3] / "book"
GROUND = "#121212"  # of sphinx-book-theme's dark pages
HUE_TURNED = np.array(  # hue-rotate(180deg) of CSS
    [[-0.574, 1.43, 0.144], [0.426, 0.43, 0.144], [0.426, 1.43, -0.856]]
)


def in_the_dark(colour):
    """What the style sheet's filter makes of a colour."""
    style = (BOOK / "_static" / "book.css").read_text(encoding="utf-8")
    steps = r"invert\(([\d.]+)\) hue-rotate\(180deg\) brightness\(([\d.]+)\)"
    invert, brightness = map(float, re.search(steps, style).groups())
    rgb = np.array([*bytes.fromhex(colour[1:])]) / 255
    rgb = HUE_TURNED @ (invert + (1 - 2 * invert) * rgb)
    rgb = (brightness * rgb.clip(0, 1)).clip(0, 1)
    return "#" + "".join(f"{round(255 * channel):02x}" for channel in rgb)


def test_paper_becomes_the_ground_and_what_is_read_stands_out():
    assert in_the_dark("#FFFFFF") == GROUND
    for colours, least in ((COLOURS.values(), 3), ([INK, *TEXT_COLOURS.values()], 7)):
        for colour in colours:
            found = in_the_dark(colour)
            assert contrast(GROUND) / contrast(found) >= least, (colour, found)


@pytest.fixture
def book(tmp_path):
    """A book whose one picture is 1100 by 640 pixels."""
    file = io.BytesIO()
    Image.new("RGBA", (1100, 640), "white").save(file, "PNG")
    (tmp_path / "a.png").write_bytes(file.getvalue())
    builder = SimpleNamespace(format="html", images={"a.png": "a.png"})
    return SimpleNamespace(builder=builder, srcdir=tmp_path, outdir=tmp_path / "html")


def shown(book, body):
    context = {"body": body, "pathto": lambda path, resource: f"../{path}"}
    figures.rewrite(book, "page", "", context, None)
    return context["body"]


def test_a_picture_is_packed_and_gets_its_size(book):
    found = shown(book, '<img alt="A" src="../_images/a.png" style="width: 550px;" />')
    assert found.startswith('<div class="scroll-box" style="--smallest-width: 348px">')
    assert 'width="672" height="391"' in found
    assert 'class="on-paper dark-light" loading="lazy"' in found
    (path,) = (book.outdir / "_images").iterdir()
    assert f'src="../_images/{path.name}"' in found
    assert Image.open(path).getpixel((0, 0)) == (255, 255, 255)


def test_a_picture_that_starts_a_script_is_not_lazy(book):
    data = base64.b64encode((book.srcdir / "a.png").read_bytes()).decode()
    found = shown(book, f'<img src="data:image/png;base64,{data}" onload="go()">')
    assert 'onload="go()"' in found
    assert "lazy" not in found


def test_a_drawing_brings_the_letters_that_it_shows_and_no_more():
    font, rest = '<svg font-family="Arial" width="10" height="4">', "<title>Z</title>"
    rest += '<text>ab <tspan font-style="italic">c</tspan></text></svg>'
    drawn = (font + rest).replace("<svg", '<svg xmlns="http://www.w3.org/2000/svg"')
    file = figures.pack("svg", drawn.encode()).decode()
    assert "font-family=\"'Attnbook Sans', Arial\"" in file
    fonts = re.findall(r"data:font/woff;base64,([^\"]+)", file)
    assert len(fonts) == 1  # nothing is bold
    found = TTFont(io.BytesIO(base64.b64decode(fonts[0]))).getBestCmap()
    assert {chr(code) for code in found} == set("abc ")
    other = drawn.replace(' font-family="Arial"', "")
    assert figures.with_letters(other) == other
