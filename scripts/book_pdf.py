"""Print the built book into one PDF: title, contents with page numbers, all pages.

    python scripts/book_pdf.py

All pages of _toc.yml become one document without scripts, in which links lead from page
to page of the paper; solutions stand at its end. It is printed twice: the first print
tells the page numbers of the contents.
"""

from __future__ import annotations

import posixpath
import re
import shutil
import sys
import time
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
UNPRINTED = "script, noscript, a.headerlink, img.only-dark"
# They look nearly as the text around them, and each would be an element of the PDF.
PLAIN = (
    ":is(pre, .sig) span:is(.n, .nn, .nb, .bp, .mi, .mf, .o, .p, .w, .pre), "
    "code > span.pre, a.sphinx-codeautolink-a"
)
PAPER = {"prefer_css_page_size": True, "outline": True, "tagged": True}
PAGE = {"width": 642, "height": 930}  # pixels within the margins
FILL_IN = """numbers => document.querySelectorAll("b[data-to]").forEach(
    (place) => { place.textContent = numbers[place.dataset.to]; })"""
DOCUMENT = """<!doctype html>
<html lang="en" data-theme="light"><head><meta charset="utf-8">
<title>{title}</title>
{head}
<link rel="stylesheet" href="html/_static/whole-book.css">
<style>
{styles}
</style></head>
<body><main class="bd-main"><div class="bd-content"><div class="bd-article-container">
{body}
</div></div></main></body></html>
"""
TITLE_PAGE = """<section class="bd-article title-page">
<p class="book-title">{title}</p>
<p>From RNN seq2seq to a trained Transformer</p>
<p class="imprint">{author}<br>Printed on {day} from the published pages, where what is
drawn here can be moved and tried.<br>Text and figures: CC BY 4.0; code: MIT.</p>
</section>"""


def name_of(page: str) -> str:
    """Return what a page is called in addresses: "ch02_bahdanau"."""
    return page.removeprefix("book/").replace("/", "-")


def on_site(page: str, path: str) -> str:
    """Return a path that is relative to a page as one relative to the site."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(page), path))


def file_of(page: str, address: str) -> str:
    """Return the address of a picture or a style sheet as it is in the document."""
    return address if OUTSIDE.match(address) else f"html/{on_site(page, address)}"


class Pages:
    """The built pages of the table of contents, read one after the other."""

    def __init__(self, names: list[str]):
        self.names = names
        self.head: dict[str, None] = {}  # style sheets, each once, in order
        self.solutions: list[str] = []

    def article(self, page: str) -> Tag:
        """Return the text of a page as a part of the whole document."""
        markup = (HTML / f"{page}.html").read_text(encoding="utf-8")
        soup = BeautifulSoup(markup, "lxml")
        for sheet in soup.head.select("link[rel=stylesheet]"):
            sheet["href"] = file_of(page, sheet["href"])
            self.head[str(sheet)] = None
        article = soup.select_one("article.bd-article")
        for element in article.select(UNPRINTED):
            element.decompose()
        for element in article.select(PLAIN):
            element.unwrap()
        for fold in article.select("details"):
            fold["open"] = ""
        for element in article.find_all(True):
            self.point(page, element)
        article["id"] = name_of(page)
        self.take_solutions(article)
        return article

    def point(self, page: str, element: Tag) -> None:
        """Let what an element is, and what it points at, be unique in the document."""
        for event in [name for name in element.attrs if name.startswith("on")]:
            del element[event]
        if "id" in element.attrs:
            element["id"] = f"{name_of(page)}.{element['id']}"
        if "src" in element.attrs:
            element["src"] = file_of(page, element["src"])
            del element["loading"]  # not only once it is near
        if "href" in element.attrs:
            element["href"] = self.target(page, element["href"])
            if not element["href"]:
                del element["href"]

    def target(self, page: str, address: str) -> str:
        """Return where a link leads in the document; "" for what only the site has."""
        if OUTSIDE.match(address):
            return address
        path, _, fragment = address.partition("#")
        to = on_site(page, path).removesuffix(".html") if path else page
        if to not in self.names:
            return ""
        return f"#{name_of(to)}.{fragment}" if fragment else f"#{name_of(to)}"

    def take_solutions(self, article: Tag) -> None:
        """Move the solutions of a page to the end of the book."""
        found = article.select(".exercise ~ .solution")
        if found:
            self.solutions.append(f"<h2>{article.h1.decode_contents()}</h2>")
        for solution in found:
            label = solution["id"]
            line = f'<a href="#{label}">Solution: page {number(label)}</a>'
            solution.insert_before(BeautifulSoup(line, "html.parser").a)
            self.solutions.append(str(solution.extract()))

    def solutions_article(self) -> Tag:
        """Return the last chapter."""
        body = "".join(self.solutions)
        markup = f'<article class="bd-article" id="solutions"><h1>Solutions</h1>{body}'
        return BeautifulSoup(markup, "lxml").article


def captions(contents: dict) -> dict[str, str]:
    """Return the caption of each part, by its first page."""
    return {part["chapters"][0]["file"]: part["caption"] for part in contents["parts"]}


def contents_lines(articles: dict[str, Tag], parts: dict[str, str]) -> Iterator[str]:
    """Write the table of contents."""
    yield '<nav class="bd-article book-contents"><h1>Contents</h1>'
    for page, article in articles.items():
        if page in parts:
            yield f'<p class="part">{escape(parts[page])}</p>'
        yield f'<p class="chapter">{entry(article["id"], article.h1)}</p>'
        headings = [(heading.parent.get("id"), heading) for heading in article("h2")]
        sections = [entry(*section) for section in headings if section[0]]
        yield f"<p>{' · '.join(sections)}</p>"
    yield "</nav>"


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
    names = [*pages(contents)]
    book = Pages(names)
    articles = {page: book.article(page) for page in names}
    articles["solutions"] = book.solutions_article()
    title = TITLE_PAGE.format(**config, day=f"{date.today().day} {date.today():%B %Y}")
    parts = [title, *contents_lines(articles, captions(contents))]
    WHOLE.write_text(
        DOCUMENT.format(
            title=config["title"],
            head="\n".join(book.head),
            styles="\n".join(map(running_head, articles.values())),
            body="\n".join([*parts, *map(str, articles.values())]),
        ),
        encoding="utf-8",
    )


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
        told = page_numbers()
        page.evaluate(FILL_IN, told)
        page.pdf(path=PDF, **PAPER)
    # A heading at the very edge may be on either side of it.
    if wrong := [k for k, v in page_numbers().items() if abs(v - told[k]) > 1]:
        PDF.unlink()
        sys.exit(f"No PDF: the contents would be wrong about {', '.join(wrong[:9])}")


def main() -> None:
    """Print the book that has been built."""
    started = time.monotonic()
    if missing := missing_pages():
        sys.exit(f"Not built: {', '.join(missing)}. Run `make book` first.")
    config = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
    contents = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    write_document(config, contents)
    print(f"Printing the book … {time.monotonic() - started:.0f} s", flush=True)
    print_document()
    WHOLE.unlink()
    shutil.copyfile(PDF, HTML / PDF.name)
    size = PDF.stat().st_size / 1e6
    print(f"{PDF}: {size:.1f} MB, after {time.monotonic() - started:.0f} s")


if __name__ == "__main__":
    main()
