"""Write the address of the published course where it must stand.

    python scripts/set_repository.py owner/name
    python scripts/set_repository.py    only the first cells, by the file REPOSITORY

That is: the file REPOSITORY, the first cell of every notebook, which installs the
package where that is missing, CITATION.cff, and README.md. There, the chapters become
links to the published pages: sources are no pages to read.
"""

import re
import sys
from pathlib import Path

import nbformat

from run_notebooks import store

ROOT = Path(__file__).resolve().parents[1]

# An owner has letters, digits, inner hyphens; a repository also dots and underscores.
ADDRESS = re.compile(r"[A-Za-z0-9](?:-?[A-Za-z0-9])*/[\w.-]+", flags=re.ASCII)

# Not shown in the book, not run by the tests and by run_notebooks.py.
FIRST_METADATA = {
    "jupyter": {"source_hidden": True},  # folded in JupyterLab
    "tags": ["remove-cell", "nbval-skip"],
}

FIRST_CELL = """\
# This cell makes the chapter run on Colab. Anywhere else it changes nothing.
import importlib.util
import os
import subprocess
import sys

REPOSITORY = "{repository}"

if importlib.util.find_spec("attnbook") is None:
    if "COLAB_RELEASE_TAG" not in os.environ:
        print(
            "This Python lacks attnbook: in the folder of the course run `make lab`, "
            "or `pip install -e '.[course]'`, or choose the kernel of its .venv."
        )
    elif not REPOSITORY:
        print(
            "This copy does not know where the course is published: write owner/name "
            "of its GitHub repository into REPOSITORY above, and run the cell again."
        )
    else:
        package = f"attnbook[course] @ git+https://github.com/{{REPOSITORY}}"
        subprocess.check_call([sys.executable, "-m", "pip", "install", "-q", package])
"""

README = """\
[The book](https://{owner}.github.io/{name}/) ·
[Colab](https://colab.research.google.com/github/{owner}/{name}\
/blob/notebooks/book/intro.ipynb) ·
[Binder](https://mybinder.org/v2/gh/{owner}/{name}\
/notebooks?urlpath=lab/tree/book/intro.ipynb) ·
`git clone https://github.com/{owner}/{name}`
"""
CITATION = """\
repository-code: "https://github.com/{owner}/{name}"
url: "https://{owner}.github.io/{name}/"
"""


def first_cell(repository: str) -> str:
    """Return the source of the first cell; the address is "" while it is unknown."""
    return FIRST_CELL.format(repository=repository).rstrip("\n")


def write_first_cells(book: Path, repository: str) -> None:
    """Put the first cell into every notebook, in the place of the one it has."""
    for path in sorted(book.glob("*.ipynb")):
        notebook = nbformat.read(path, as_version=4)
        cell = nbformat.v4.new_code_cell(first_cell(repository), id="first-cell")
        cell.metadata = nbformat.from_dict(FIRST_METADATA)
        others = [cell for cell in notebook.cells if cell.metadata != FIRST_METADATA]
        notebook.cells = [cell, *others]
        store(notebook, path)


def replace_between(path: Path, opening: str, closing: str, text: str) -> None:
    """Replace what stands between two lines of a file.

    Raises:
        ValueError: If the file does not hold both lines, once each and in this order.
    """
    old = path.read_text(encoding="utf-8")
    around = re.compile(
        rf"(?<=^{re.escape(opening)}\n).*(?=^{re.escape(closing)}$)", re.M | re.S
    )
    new, count = around.subn(lambda _: text, old)
    if count != 1:
        raise ValueError(f"{path.name} must hold the lines {opening!r} and {closing!r}")
    path.write_text(new, encoding="utf-8")


def link_chapters(readme: Path, book: Path, site: str) -> None:
    """Let each row of the table of chapters, ``| 4 | title |``, lead to its page."""
    text = readme.read_text(encoding="utf-8")
    for path in book.glob("*.ipynb"):
        if found := re.match(r"ch0?(\d+)_|(a\d+)_", path.stem):
            number = (found[1] or found[2]).upper()
            row = rf"^(\| {number} \| )\[?([^]|]+?)(?:\]\([^)]*\))? \|"
            text = re.sub(
                row, rf"\1[\2]({site}book/{path.stem}.html) |", text, flags=re.M
            )
    readme.write_text(text, encoding="utf-8")


def set_repository(root: Path, repository: str) -> None:
    """Write an address into the working tree at `root`.

    Raises:
        ValueError: If `repository` has another form.
    """
    if not ADDRESS.fullmatch(repository):
        raise ValueError(
            f"the address is {repository!r}; it must be owner/name, as in "
            "github.com/owner/name"
        )
    owner, name = repository.split("/")
    (root / "REPOSITORY").write_text(f"{repository}\n", encoding="utf-8")
    write_first_cells(root / "book", repository)
    for file, opening, closing, text in (
        ("README.md", "<!-- addresses -->", "<!-- end of addresses -->", README),
        ("CITATION.cff", "# addresses", "# end of addresses", CITATION),
    ):
        replace_between(
            root / file, opening, closing, text.format(owner=owner, name=name)
        )
    link_chapters(
        root / "README.md", root / "book", f"https://{owner}.github.io/{name}/"
    )


if __name__ == "__main__":
    try:
        if len(sys.argv) > 1:
            set_repository(ROOT, " ".join(sys.argv[1:]))
        else:
            address = (ROOT / "REPOSITORY").read_text(encoding="utf-8").strip()
            write_first_cells(ROOT / "book", address)
    except ValueError as error:
        sys.exit(str(error))
