"""A notebook alone in an empty folder runs with only the package installed.

The package is installed from its wheel, so that data it needs but does not carry is
missed here and not by readers on Colab.
"""

import os
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "book").glob("*.ipynb"))


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


def test_there_are_notebooks():
    assert NOTEBOOKS


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_runs_in_an_empty_folder(path, installed, tmp_path):
    notebook = nbformat.read(path, as_version=4)
    where = nbformat.v4.new_code_cell("import attnbook; print(attnbook.__file__)")
    notebook.cells.append(where)
    client = NotebookClient(
        notebook,
        timeout=300,
        kernel_name="python3",
        skip_cells_with_tag="nbval-skip",
        resources={"metadata": {"path": str(tmp_path)}},
    )
    client.execute(env={**os.environ, "PYTHONPATH": str(installed)})
    assert Path(where.outputs[0].text.strip()).parent == installed / "attnbook"
    assert not list(tmp_path.iterdir()), "the notebook left files behind"
