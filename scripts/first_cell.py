"""The first cell of every chapter: it installs the package where that is missing.

    python scripts/first_cell.py book/ch02_bahdanau.ipynb …

writes it into notebooks, with the address that stands in the file REPOSITORY.
"""

import sys
from pathlib import Path

import nbformat

from run_notebooks import store

ROOT = Path(__file__).resolve().parents[1]

# Not shown in the book, not run by the tests and by run_notebooks.py.
METADATA = {
    "jupyter": {"source_hidden": True},  # folded in JupyterLab
    "tags": ["remove-cell", "nbval-skip"],
}

TEMPLATE = """\
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
            "or `pip install -e .`, or choose the kernel of its .venv."
        )
    elif not REPOSITORY:
        print(
            "This copy does not know where the course is published: write owner/name "
            "of its GitHub repository into REPOSITORY above, and run the cell again."
        )
    else:
        package = f"attnbook @ git+https://github.com/{{REPOSITORY}}"
        subprocess.check_call([sys.executable, "-m", "pip", "install", "-q", package])
"""


def address() -> str:
    """Return "owner/name" from the file REPOSITORY; "" as long as it is unknown."""
    return (ROOT / "REPOSITORY").read_text(encoding="utf-8").strip()


def first_cell(repository: str) -> str:
    """Return the source of the first cell.

    Args:
        repository: "owner/name" on GitHub, or "" as long as it is unknown.
    """
    return TEMPLATE.format(repository=repository).rstrip("\n")


def write(path: Path, repository: str) -> None:
    """Put the first cell into a notebook, in the place of the one it has."""
    notebook = nbformat.read(path, as_version=4)
    cells = notebook.cells
    if cells and cells[0].cell_type == "code" and cells[0].metadata == METADATA:
        cells[0].source = first_cell(repository)
    else:
        cell = nbformat.v4.new_code_cell(first_cell(repository), id="first-cell")
        cell.metadata = nbformat.from_dict(METADATA)
        cells.insert(0, cell)
    store(notebook, path)


if __name__ == "__main__":
    for name in sys.argv[1:]:
        write(Path(name), address())
