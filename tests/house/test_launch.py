"""The buttons for Colab, Binder and download: each address leads to a file.

One build of some pages, as if they were published: one of each kind. The buttons of all
pages come from one template; that the whole book builds, `make book` has shown before.
"""

import os
import re
import subprocess
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import yaml

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
