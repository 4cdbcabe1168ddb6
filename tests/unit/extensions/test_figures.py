"""Figures of the page: how they are packed, their size, their markup."""

import base64
import io
import re
from types import SimpleNamespace

import pytest
from fontTools.ttLib import TTFont
from PIL import Image

import figures


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


def test_other_pictures_stay(book):
    kept = '<img src="../_static/logo.svg">'
    assert shown(book, kept) == kept


def test_a_drawing_has_the_size_that_it_names():
    drawn = b'<svg width="10" height="4"><path fill="#FFF"/></svg>'
    assert figures.pack("svg", drawn) == drawn
    assert figures.stored_size("svg", drawn) == (10, 4)


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
