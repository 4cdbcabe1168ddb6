"""A notebook alone in an empty folder runs with only the package installed.

The package is installed from its wheel, so that data it needs but does not carry is
missed here and not by readers on Colab.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from run_notebooks import tags

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "book").glob("*.ipynb"))
# Running all of them a second time would take as long as their comparison. This one
# reads stored results, and has an explorer.
CHEAP = "lab08_layers"
FILES = re.compile(r"\b(open|Path|read_text|read_csv|np\.load|torch\.load)\(")


@pytest.fixture(scope="module")
def installed(tmp_path_factory, copy_tree) -> Path:
    """A folder with the package as its wheel installs it, and nothing else."""
    source = copy_tree(
        tmp_path_factory.mktemp("source"), "pyproject.toml", "README.md", "code"
    )
    target = tmp_path_factory.mktemp("installed")
    options = ["--no-deps", "--no-build-isolation", "--no-index", "--quiet"]
    subprocess.run(
        [sys.executable, "-m", "pip", "install", *options, "--target", target, source],
        check=True,
    )
    return target


def test_nothing_of_the_package_stays_behind(installed):
    """Scripts, weights and results lie beside the code that reads them."""
    here, there = (
        {
            path.relative_to(folder).as_posix()
            for path in folder.rglob("*")
            if path.is_file() and path.suffix != ".pyc" and path.name[0] != "."
        }
        for folder in (ROOT / "code" / "attnbook", installed / "attnbook")
    )
    assert there == here


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_no_cell_reads_a_file_of_its_own(path):
    for cell in nbformat.read(path, as_version=4).cells:
        assert cell.cell_type != "code" or not FILES.search(cell.source), cell.source


def test_runs_in_an_empty_folder(installed, tmp_path):
    notebook = nbformat.read(ROOT / "book" / f"{CHEAP}.ipynb", as_version=4)
    where = nbformat.v4.new_code_cell("import attnbook; print(attnbook.__file__)")
    notebook.cells.append(where)
    client = NotebookClient(
        notebook,
        timeout=1800,
        startup_timeout=600,
        kernel_name="python3",
        skip_cells_with_tag="nbval-skip",
        resources={"metadata": {"path": str(tmp_path)}},
    )
    reader = {"PYTHONPATH": str(installed), "ATTNBOOK_STILL": "0"}
    client.execute(env=os.environ | reader)
    assert Path(where.outputs[0].text.strip()).parent == installed / "attnbook"
    (explorer,) = [c for c in notebook.cells if "explorer" in tags(c)]
    assert "application/vnd.jupyter.widget-view+json" in explorer.outputs[0].data
    assert not list(tmp_path.iterdir()), "the notebook left files behind"
