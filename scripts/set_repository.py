"""Write the address of the published course where it must stand.

    python scripts/set_repository.py owner/name

That is: the file REPOSITORY, the first cell of every notebook, CITATION.cff, README.md.
There, the chapters become links to the published pages: sources are no pages to read.
"""

import re
import sys
from pathlib import Path

import first_cell

# An owner has letters, digits, inner hyphens; a repository also dots and underscores.
ADDRESS = re.compile(r"[A-Za-z0-9](?:-?[A-Za-z0-9])*/[\w.-]+", flags=re.ASCII)

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
            f"NAME is {repository!r}; it must be owner/name, as in the address "
            "github.com/owner/name: make repository NAME=owner/name"
        )
    owner, name = repository.split("/")
    (root / "REPOSITORY").write_text(f"{repository}\n", encoding="utf-8")
    for path in sorted((root / "book").glob("*.ipynb")):
        first_cell.write(path, repository)
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
        set_repository(first_cell.ROOT, " ".join(sys.argv[1:]))
    except ValueError as error:
        sys.exit(str(error))
