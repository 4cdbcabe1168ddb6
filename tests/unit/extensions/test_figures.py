"""Figures for dark pages: their colours, their size, their markup."""

import base64
import io
import re
from types import SimpleNamespace

import numpy as np
import pytest
from fontTools.ttLib import TTFont
from matplotlib import colormaps
from PIL import Image

import dark_colours
import drawing_letters
import figures
from attnbook.course.ch07.figures import SIGNED
from attnbook.course.kit.colours import COLOURS, INK, TEXT_COLOURS, WEIGHTS, contrast

GROUND = "#121212"  # of sphinx-book-theme's dark pages


def test_paper_becomes_the_ground_and_what_is_read_stands_out():
    assert dark_colours.dark_colour("#FFF") == GROUND
    for colours, least in ((COLOURS.values(), 3), ([INK, *TEXT_COLOURS.values()], 7)):
        for colour in colours:
            found = dark_colours.dark_colour(colour)
            assert contrast(GROUND) / contrast(found) >= least, (colour, found)


@pytest.mark.parametrize(
    ("scale", "start"), [(WEIGHTS, 0), (colormaps["Greys"], 0), (SIGNED, 0.5)]
)
def test_a_scale_is_turned_over_and_keeps_its_order(scale, start):
    colours = scale(np.linspace(start, 1, 51))[:, :3]
    before = np.diff(dark_colours.oklab(colours)[:, 0])
    after = np.diff(dark_colours.oklab(dark_colours.darkened(colours))[:, 0])
    assert np.all(np.sign(before) == -np.sign(after))


def test_hues_stay():
    for colour in COLOURS.values():
        pair = [colour, dark_colours.dark_colour(colour)]
        rgb = np.array([[*bytes.fromhex(one[1:])] for one in pair]) / 255
        _, a, b = dark_colours.oklab(rgb).T
        assert np.ptp(np.degrees(np.arctan2(b, a))) < 3


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


def test_a_picture_gets_a_twin_and_its_size(book):
    found = shown(book, '<img alt="A" src="../_images/a.png" style="width: 550px;" />')
    assert found.startswith('<div class="scroll-box" style="--smallest-width: 348px">')
    assert found.count('width="672" height="391"') == 2
    light, dark = sorted((book.outdir / "_images").iterdir(), key=lambda p: len(p.name))
    for path, theme in ((light, "only-light"), (dark, "only-dark")):
        [markup] = [part for part in found.split("<img") if f"/{path.name}" in part]
        assert f'class="{theme}" loading="lazy"' in markup
    for path, colour in ((light, "#FFFFFF"), (dark, GROUND)):
        pixel = Image.open(path).getpixel((0, 0))
        assert "#" + bytes(pixel).hex().upper() == colour


def test_a_picture_that_starts_a_script_does_so_in_both_themes(book):
    data = base64.b64encode((book.srcdir / "a.png").read_bytes()).decode()
    found = shown(book, f'<img src="data:image/png;base64,{data}" onload="go()">')
    light, dark = found.split("<img ")[1:]
    assert 'onload="go()"' in light
    assert "lazy" not in light
    assert "onload" not in dark
    assert "lazy" in dark


@pytest.mark.parametrize(
    "kept",
    [
        '<img src="../_static/logo.svg">',
        '<img class="only-dark" src="../_images/a.png">',
    ],
)
def test_other_pictures_stay(book, kept):
    assert shown(book, kept) == kept


def test_a_drawing_has_its_colours_replaced():
    drawn = b'<svg width="10" height="4"><path fill="#FFF" stroke="#0072B2"/></svg>'
    light, dark = figures.pack("svg", drawn)
    assert light == drawn
    blue = dark_colours.dark_colour("#0072B2")
    assert f'fill="{GROUND}" stroke="{blue}"' in dark.decode()
    assert figures.stored_size("svg", drawn) == (10, 4)


def test_a_drawing_brings_the_letters_that_it_shows_and_no_more():
    font, rest = '<svg font-family="Arial" width="10" height="4">', "<title>Z</title>"
    rest += '<text>ab <tspan font-style="italic">c</tspan></text></svg>'
    drawn = (font + rest).replace("<svg", '<svg xmlns="http://www.w3.org/2000/svg"')
    light, dark = (file.decode() for file in figures.pack("svg", drawn.encode()))
    for file in (light, dark):
        assert "font-family=\"'Attnbook Sans', Arial\"" in file
        fonts = re.findall(r"data:font/woff;base64,([^\"]+)", file)
        assert len(fonts) == 1  # nothing is bold
        found = TTFont(io.BytesIO(base64.b64decode(fonts[0]))).getBestCmap()
        assert {chr(code) for code in found} == set("abc ")
    other = drawn.replace(' font-family="Arial"', "")
    assert drawing_letters.with_letters(other) == other
