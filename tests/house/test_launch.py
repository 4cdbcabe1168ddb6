"""The buttons for Colab, Binder and download: each address leads to a file.

One build of some pages, as if they were published: one of each kind, and the chapter,
the appendix page and the laboratory page that `make chapter` makes, which have to run
and to build without a warning as well. The buttons of all pages come from one template;
that the whole book builds, `make book` has shown before.
"""

import os
import re
import subprocess
from pathlib import Path
from urllib.parse import urlsplit

import nbformat
import pytest
import yaml

import hidden_checks
import lab_checks
import notebook_checks
from build_book import COMMAND, pages
from new_chapter import new_chapter
from reader_notebooks import write
from run_notebooks import run, store

SITE = "https://github.com/an-owner/a-name"
COLAB = "https://colab.research.google.com/github/an-owner/a-name/blob/notebooks/"
BINDER = "https://mybinder.org/v2/gh/an-owner/a-name/notebooks?urlpath=lab/tree/"
NEW = "ch99_from_template"
LAB = "lab99_from_template"
APPENDIX = "a9_from_template"
CONTENTS = {
    "format": "jb-book",
    "root": "book/intro",
    "parts": [
        {"numbered": 2, "chapters": [{"file": "book/ch06_masks"}]},
        {"numbered": 2, "chapters": [{"file": f"book/{NEW}"}]},
        {"chapters": [{"file": f"book/{APPENDIX}"}]},
        {"chapters": [{"file": "book/lab01_rnn_seq2seq"}, {"file": f"book/{LAB}"}]},
        {"chapters": [{"file": "book/notation"}]},
    ],
}
"""Links to the pages that are left out lead nowhere, which is not looked at."""
PARTS = [
    *("chapter-box", "> **The question", "## The problem", "(eq-PAGE", "show_source"),
    *("## Check against PyTorch", "## See it work", ":::{predict}", "silent bugs"),
    *("## The answer", "} Limits", "**Summary.**", "## Exercises", "Write it yourself"),
    *("## Further reading", "## References"),
]
"""What a chapter consists of, in its order."""


@pytest.fixture(scope="module")
def tree(tmp_path_factory, copy_tree) -> Path:
    """A copy of the working tree with a new chapter; some pages of it, built."""
    tree = tmp_path_factory.mktemp("published")
    copy_tree(tree, "_config.yml", "_toc.yml", "REPOSITORY", "book", "code")
    chapter, _ = new_chapter(tree, NEW)
    appendix, _ = new_chapter(tree, APPENDIX)
    (lab,) = new_chapter(tree, LAB)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(tree / "code"))
        for notebook in (chapter, appendix, lab):
            store(run(notebook), notebook)
    (tree / "_toc.yml").write_text(yaml.safe_dump(CONTENTS))
    built = subprocess.run(
        [word for word in COMMAND if word != "-W"],
        cwd=tree,
        env={**os.environ, "BOOK_REPOSITORY": "an-owner/a-name"},
        capture_output=True,
        text=True,
    )
    assert built.returncode == 0, built.stdout + built.stderr
    assert "from_template.ipynb" not in built.stderr
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


def test_every_chapter_can_be_opened_elsewhere(tree, links):
    chapters = [page for page in links if (tree / f"{page}.ipynb").exists()]
    new = [f"book/{NEW}", f"book/{APPENDIX}"]
    labs = ["book/lab01_rnn_seq2seq", f"book/{LAB}"]
    assert chapters == ["book/intro", "book/ch06_masks", *new, *labs]
    for page in chapters:
        assert f"{COLAB}{page}.ipynb" in links[page]
        assert f"{BINDER}{page}.ipynb" in links[page]
        assert f"../_sources/{page}.ipynb" in links[page]
        offered = tree / "_build" / "html" / "_sources" / f"{page}.ipynb"
        reader = tree / "_build" / "notebooks" / offered.name
        assert offered.read_bytes() == reader.read_bytes()
        assert offered.read_bytes() != (tree / f"{page}.ipynb").read_bytes()
    front = (tree / "_build" / "html" / "book" / "intro.html").read_text("utf-8")
    assert "open a chapter on Colab or Binder" in front


def test_every_address_leads_to_a_file(tree, links):
    files = (
        r"(?:/(?:blob|raw|edit|tree)/(?:main|notebooks)/|urlpath=lab/tree/)([^?#&]+)"
    )
    found = 0
    for page, addresses in links.items():
        for address in addresses:
            if "an-owner" in address and (path := re.search(files, address)):
                found += 1
                assert (tree / path[1]).is_file(), f"{page} links to {address}"
    assert found


def test_every_address_is_the_one_given(links):
    """Jupyter Book's own repository is the default of several buttons."""
    for page, addresses in links.items():
        hosts = {urlsplit(address).netloc for address in addresses}
        assert "executablebooks.org" not in hosts
        launched = [a for a in addresses if re.search("colab|mybinder|github.com", a)]
        cited = "github.com/multi30k/dataset/issues/"  # a source, not a button
        others = [a for a in launched if "an-owner/a-name" not in a and cited not in a]
        assert not others, page


@pytest.mark.parametrize(("name", "number"), [(NEW, "99"), (APPENDIX, "a9")])
def test_the_template_is_complete(tree, name, number):
    notebook = nbformat.read(tree / "book" / f"{name}.ipynb", as_version=4)
    printed = [
        output.text
        for cell in notebook.cells
        for output in cell.get("outputs", [])
        if output.output_type == "stream"
    ]
    assert f"ex{number}_softmax: your turn.\n" in printed
    assert f"ex{number}_softmax: right.\n" in printed
    text = "\n".join(cell.source for cell in notebook.cells)
    assert "@N@" not in text
    page = name.partition("_")[0]
    places = [text.index(part.replace("PAGE", page)) for part in PARTS]
    assert places == sorted(places)


@pytest.mark.parametrize("name", [NEW, APPENDIX, LAB])
def test_what_comes_from_a_template_has_no_findings(tree, name):
    notebook = nbformat.read(tree / "book" / f"{name}.ipynb", as_version=4)
    assert notebook_checks.findings(notebook) == []
    assert hidden_checks.findings(notebook) == []
    if name == LAB:
        assert [*lab_checks.check_form(name, notebook)] == []


@pytest.mark.parametrize(
    "name", ["", "ch2_x", "chapter_02", "ch02", "ch02_Upper", "a1"]
)
def test_a_chapter_has_a_name_of_one_form(tree, name):
    told = f"{name!r}.*must be chNN_words, aN_words or labNN_words"
    with pytest.raises(ValueError, match=told):
        new_chapter(tree, name)


def test_a_chapter_is_not_overwritten(tree):
    for name in ("ch99_other_name", "a9_other_name", "lab99_other_name"):
        with pytest.raises(FileExistsError, match="is there already"):
            new_chapter(tree, name)
