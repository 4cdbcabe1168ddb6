"""Print the built book into one PDF: title, contents with page numbers, all pages.

    python scripts/book_pdf.py      after `make book`; another `make book` offers it

All pages of _toc.yml become one document without scripts, in which links lead from page
to page of the paper; solutions stand at its end. It is printed twice: the first print
tells the page numbers of the contents.
"""

from __future__ import annotations

import posixpath
import re
import sys
from collections.abc import Iterator
from datetime import date
from html import escape

import yaml
from bs4 import BeautifulSoup, Tag
from pypdf import PdfReader

import build_book
from browser import NO_BROWSER, open_browser
from build_book import BUILD, HTML, ROOT, missing_pages, pages

PDF = BUILD / build_book.PDF
WHOLE = BUILD / "whole-book.html"  # beside html/, so that nothing publishes it
OUTSIDE = re.compile(r"[a-z]+:")
MINUTES = 10
UNPRINTED = "script, noscript, a.headerlink"
# They look nearly as the text around them, and each would be an element of the PDF.
PLAIN = (
    ":is(pre, .sig) span:is(.n, .nn, .nb, .bp, .mi, .mf, .o, .p, .w, .pre), "
    "code > span.pre"
)
PAPER = {"prefer_css_page_size": True, "outline": True, "tagged": True}
PAGE = {"width": 642, "height": 930}  # pixels within the margins
FILL_IN = """numbers => document.querySelectorAll("b[data-to]").forEach(
    (place) => { place.textContent = numbers[place.dataset.to]; })"""
DOCUMENT = """<!doctype html>
<html lang="en" data-theme="light"><head><meta charset="utf-8">
<title>{title}</title>
{sheets}
<link rel="stylesheet" href="html/_static/whole-book.css">
<style>
{heads}
</style></head>
<body><main class="bd-main"><div class="bd-content"><div class="bd-article-container">
<section class="bd-article title-page">
<p class="book-title">{title}</p>
<p>From RNN seq2seq to a trained Transformer</p>
<p class="imprint">{author}<br>Printed on {day} from the published pages, where what is
drawn here can be moved and tried.<br>Text and figures: CC BY 4.0; code: MIT.</p>
</section>
<nav class="bd-article book-contents"><h1>Contents</h1>{contents}</nav>
{body}
</div></div></main></body></html>
"""


def name_of(page: str) -> str:
    """Return what a page is called in addresses: "ch02_bahdanau"."""
    return page.removeprefix("book/").replace("/", "-")


def address(page: str, target: str, names: list[str]) -> str:
    """Return where an address on a page leads in the document.

    That is to another site, to a file of the site, or to a page of the document; "" if
    it is a page that only the site has.
    """
    path, _, place = target.partition("#")
    if OUTSIDE.match(target):
        return target
    folder = posixpath.dirname(page)
    found = posixpath.normpath(posixpath.join(folder, path)) if path else f"{page}.html"
    if not found.endswith(".html"):
        return f"html/{found}"
    if found.removesuffix(".html") not in names:
        return ""
    return f"#{name_of(found.removesuffix('.html'))}" + (f".{place}" if place else "")


def article_of(soup: BeautifulSoup, page: str, names: list[str]) -> Tag:
    """Return the text of a page as a part of the whole document."""
    article = soup.select_one("article.bd-article")
    for element in article.select(UNPRINTED):
        element.decompose()
    for element in article.select(PLAIN):
        element.unwrap()
    for fold in article.select("details"):
        fold["open"] = ""
    for element in article.find_all(True):
        for event in [name for name in element.attrs if name.startswith("on")]:
            del element[event]
        if "id" in element.attrs:
            element["id"] = f"{name_of(page)}.{element['id']}"
        for key in element.attrs.keys() & {"src", "href"}:
            element[key] = address(page, element[key], names)
            if not element[key] or (key == "href" and element[key].startswith("html/")):
                del element[key]  # paper leads to no file of the site
        del element["loading"]  # not only once it is near
    article["id"] = name_of(page)
    return article


def solutions_of(article: Tag) -> str:
    """Take the solutions out of a page; a line says where they stand."""
    found = article.select(".exercise ~ .solution")
    taken = f"<h2>{article.h1.decode_contents()}</h2>" if found else ""
    for solution in found:
        label = solution["id"]
        line = f'<a href="#{label}">Solution: page {number(label)}</a>'
        solution.insert_before(BeautifulSoup(line, "html.parser").a)
        taken += str(solution.extract())
    return taken


def contents_lines(articles: list[Tag], parts: dict[str, str]) -> Iterator[str]:
    """Write the table of contents; `parts` has captions, by the id of a first page."""
    for article in articles:
        if article["id"] in parts:
            yield f'<p class="part">{escape(parts[article["id"]])}</p>'
        yield f'<p class="chapter">{entry(article["id"], article.h1)}</p>'
        headings = [(heading.parent.get("id"), heading) for heading in article("h2")]
        sections = [entry(*section) for section in headings if section[0]]
        yield f"<p>{' · '.join(sections)}</p>"


def entry(target: str, heading: Tag) -> str:
    """Write an entry of the contents."""
    title = heading.decode_contents()
    return f'<a href="#{target}"><span>{title}</span> {number(target)}</a>'


def number(target: str) -> str:
    """Write where the number of a page is to stand."""
    return f'<b data-to="{target}">000</b>'


def running_head(article: Tag) -> str:
    """Write the style that puts the title of a chapter over its pages."""
    title = article.h1.get_text().replace("\\", r"\\").replace('"', r"\"")
    name = f"page-{article['id']}"
    return (
        f"article#{article['id']} {{ page: {name} }}\n"
        f'@page {name} {{ @top-left {{ content: "{title}" }} }}'
    )


def write_document(config: dict, contents: dict) -> None:
    """Write the whole book as one page of HTML."""
    names, sheets, articles, solutions = [*pages(contents)], {}, [], ""
    for page in names:
        markup = (HTML / f"{page}.html").read_text(encoding="utf-8")
        soup = BeautifulSoup(markup, "lxml")
        for sheet in soup.head.select("link[rel=stylesheet]"):
            sheet["href"] = address(page, sheet["href"], names)
            sheets[str(sheet)] = None  # each once, in order
        articles.append(article_of(soup, page, names))
        solutions += solutions_of(articles[-1])
    last = f'<article class="bd-article" id="solutions"><h1>Solutions</h1>{solutions}'
    articles.append(BeautifulSoup(last, "lxml").article)
    firsts = {
        name_of(part["chapters"][0]["file"]): part["caption"]
        for part in contents["parts"]
    }
    text = DOCUMENT.format(
        title=config["title"],
        author=config["author"],
        day=f"{date.today().day} {date.today():%B %Y}",
        sheets="\n".join(sheets),
        heads="\n".join(map(running_head, articles)),
        contents="\n".join(contents_lines(articles, firsts)),
        body="\n".join(map(str, articles)),
    )
    WHOLE.write_text(text, encoding="utf-8")


def page_numbers() -> dict[str, int]:
    """Return the page of each place that links lead to, as printed."""
    printed = PdfReader(PDF)
    order = {
        page.indirect_reference.idnum: i for i, page in enumerate(printed.pages, 1)
    }
    places = printed.named_destinations
    return {name.lstrip("/"): order[places[name].page.idnum] for name in places}


def print_document() -> None:
    """Let a browser print it, and again with the page numbers."""
    with open_browser() as browser:
        if browser is None:
            sys.exit(f"No PDF: {NO_BROWSER}")
        page = browser.new_page()
        page.set_default_timeout(MINUTES * 60_000)
        page.goto(WHOLE.as_uri(), wait_until="load")
        page.emulate_media(media="print")
        page.set_viewport_size(PAGE)  # style sheets choose fonts by the width
        page.evaluate("document.fonts.ready.then(() => 0)")
        page.pdf(path=PDF, **PAPER)
        page.evaluate(FILL_IN, page_numbers())
        page.pdf(path=PDF, **PAPER)


def main() -> None:
    """Print the book that has been built."""
    if missing := missing_pages():
        sys.exit(f"Not built: {', '.join(missing)}. Run `make book` first.")
    config = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
    contents = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    write_document(config, contents)
    print("Printing the book, which takes some minutes …", flush=True)
    print_document()
    WHOLE.unlink()
    print(f"{PDF}: {PDF.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
