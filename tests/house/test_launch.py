"""What is published: the buttons for Colab, Binder and download, and lost addresses.

One build of some pages, as if they were published: one of each kind. The buttons of all
pages come from one template; that the whole book builds, `make book` has shown before.
"""

import os
import re
import subprocess
from pathlib import Path
from urllib.parse import urldefrag, urlsplit

import pytest
import yaml
from playwright.sync_api import expect

from browser import NO_BROWSER, open_browser
from build_book import COMMAND, pages
from reader_notebooks import write

COLAB = "https://colab.research.google.com/github/an-owner/a-name/blob/notebooks/"
BINDER = "https://mybinder.org/v2/gh/an-owner/a-name/notebooks?urlpath=lab/tree/"
CONTENTS = {
    "format": "jb-book",
    "root": "book/intro",
    "parts": [
        {"numbered": 2, "chapters": [{"file": "book/ch06_masks"}]},
        {"chapters": [{"file": "book/lab01_rnn_seq2seq"}]},
        {"chapters": [{"file": "book/notation"}]},
    ],
}
"""Links to the pages that are left out lead nowhere, which is not looked at."""
OPENED = ["book/intro", "book/ch06_masks", "book/lab01_rnn_seq2seq"]


@pytest.fixture(scope="module")
def tree(tmp_path_factory, copy_tree) -> Path:
    """A copy of the working tree; some pages of it, built."""
    tree = tmp_path_factory.mktemp("published")
    copy_tree(tree, "_config.yml", "_toc.yml", "REPOSITORY", "book", "code")
    (tree / "_toc.yml").write_text(yaml.safe_dump(CONTENTS))
    built = subprocess.run(
        [word for word in COMMAND if word != "-W"],
        cwd=tree,
        env={**os.environ, "BOOK_REPOSITORY": "an-owner/a-name"},
        capture_output=True,
        text=True,
    )
    assert built.returncode == 0, built.stdout + built.stderr
    write(tree)
    return tree


@pytest.fixture(scope="module")
def links(tree) -> dict[str, list[str]]:
    """The addresses that each page links to."""
    html = tree / "_build" / "html"
    return {
        page: re.findall(r'href="([^"]+)"', (html / f"{page}.html").read_text("utf-8"))
        for page in pages(CONTENTS)
    }


@pytest.mark.parametrize("page", OPENED)
def test_every_chapter_can_be_opened_elsewhere(tree, links, page):
    assert f"{COLAB}{page}.ipynb" in links[page]
    assert f"{BINDER}{page}.ipynb" in links[page]
    assert f"../_sources/{page}.ipynb" in links[page]
    offered = tree / "_build" / "html" / "_sources" / f"{page}.ipynb"
    reader = tree / "_build" / "notebooks" / offered.name
    assert offered.read_bytes() == reader.read_bytes()
    assert offered.read_bytes() != (tree / f"{page}.ipynb").read_bytes()


def test_before_its_exercises_a_page_says_where_they_run(tree):
    page = (tree / "_build" / "html" / f"{OPENED[1]}.html").read_text("utf-8")
    line = r"<p>Run the cells in the notebook: (.*)</p><div class=\"exercise admonition"
    [found] = re.findall(line, page)
    names = re.findall(r">(\w+)</a>", found)
    assert sorted(names) == ["Binder", "Colab", "download"]


def test_every_address_is_the_one_given_and_leads_to_a_file(tree, links):
    """Jupyter Book's own repository is the default of several buttons."""
    files = (
        r"(?:/(?:blob|raw|edit|tree)/(?:main|notebooks)/|urlpath=lab/tree/)([^?#&]+)"
    )
    cited = "github.com/multi30k/dataset/issues/"  # a source, not a button
    for page, addresses in links.items():
        assert "executablebooks.org" not in {
            urlsplit(link).netloc for link in addresses
        }
        for link in addresses:
            if re.search("colab|mybinder|github.com", link) and cited not in link:
                assert "an-owner/a-name" in link, page
                if path := re.search(files, link):
                    assert (tree / path[1]).is_file(), f"{page} links to {link}"


def test_the_published_site_is_walked_from_an_address_that_leads_nowhere(tree):
    """The server is pretended: GitHub Pages, which answers with 404.html."""
    site, html = "https://an-owner.github.io/a-name/", tree / "_build" / "html"

    def answer(route):
        path = html / urlsplit(route.request.url).path.removeprefix("/a-name/")
        found = path.is_file()
        route.fulfill(
            path=path if found else html / "404.html", status=404 - 204 * found
        )

    with open_browser() as browser:
        if browser is None:
            pytest.skip(NO_BROWSER)
        page = browser.new_page()
        page.route("**", answer)
        page.goto(f"{site}book/ch99/nowhere.html")
        expect(page.get_by_role("heading", level=1)).to_have_text(
            "There is no such page"
        )
        page.locator("main input[type=search]").fill("causal mask")
        page.locator("#search-results li a, .search-results li a").first.click()
        expect(page.get_by_role("heading", level=1)).to_contain_text("Masks")
        canonical = page.locator("link[rel=canonical]").get_attribute("href")
        assert (
            canonical
            == urldefrag(page.url.partition("?")[0])[0]
            == f"{site}book/ch06_masks.html"
        )
        preview = page.locator("meta[property='og:image']").get_attribute("content")
    assert canonical in (html / "sitemap.txt").read_text().split()
    assert preview.startswith(site)
    assert (html / preview.removeprefix(site)).is_file()
