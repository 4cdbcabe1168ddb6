"""The whole book as one PDF, of a small site."""

import pytest
from pypdf import PdfReader

import book_pdf
from browser import starts

PAGE = """<html><head><link rel="stylesheet" href="../_static/print.css"></head><body>
<article class="bd-article"><section id="start"><h1>{title}</h1>
<section id="more"><h2>More of {title}</h2><p>{text}</p></section></section>
<div class="exercise" id="ex">Do it.</div><div class="solution" id="sol">Done.</div>
</article></body></html>"""
CONTENTS = {
    "root": "book/intro",
    "parts": [{"caption": "Part", "chapters": [{"file": "book/one"}]}],
}
CONFIG = {"title": "Small", "author": "us"}


@pytest.fixture
def site(tmp_path, monkeypatch):
    """Two pages that link to each other."""
    (tmp_path / "html" / "book").mkdir(parents=True)
    texts = {
        "intro": '<a href="one.html#more">On</a> <a href="../_images/a.png">a</a>',
        "one": '<a href="intro.html">Back</a> <a href="../_modules/x.html">x</a>',
    }
    for name, text in texts.items():
        page = PAGE.format(title=name.title(), text=text)
        (tmp_path / "html" / "book" / f"{name}.html").write_text(page)
    monkeypatch.setattr(book_pdf, "HTML", tmp_path / "html")
    monkeypatch.setattr(book_pdf, "WHOLE", tmp_path / "whole.html")
    monkeypatch.setattr(book_pdf, "PDF", tmp_path / "small.pdf")
    book_pdf.write_document(CONFIG, CONTENTS)
    return tmp_path


def test_links_lead_within_the_document(site):
    whole = (site / "whole.html").read_text()
    assert '<a href="#one.more">On</a>' in whole
    # What only the site has, pages and files, is not linked.
    assert '<a href="#intro">Back</a> <a>x</a>' in whole
    assert "On</a> <a>a</a>" in whole
    assert whole.index('id="one"') < whole.index('id="one.sol"')  # in the last chapter


@pytest.mark.skipif(not starts(), reason="no browser")
def test_contents_tell_the_pages(site):
    book_pdf.print_document()
    printed = PdfReader(site / "small.pdf")
    contents = printed.pages[0].extract_text()
    numbers = book_pdf.page_numbers()
    assert numbers["intro"] < numbers["one"] < numbers["solutions"]
    assert f"More of One {numbers['one.more']}" in contents
    assert {"Intro", "One", "Solutions"} <= {
        item.title for item in printed.outline if not isinstance(item, list)
    }
