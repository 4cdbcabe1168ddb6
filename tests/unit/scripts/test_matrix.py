"""Pages in other environments: what counts as a failure, and the table of results."""

import os
import sys
from pathlib import Path

import nbformat

import matrix

CELLS = ["print(6 * 7)", "1 / 0", "raise SystemError"]


def test_an_error_is_a_failure_and_so_is_another_output(tmp_path):
    cells = [nbformat.v4.new_code_cell(cell) for cell in CELLS]
    output = nbformat.v4.new_output("stream", text="41\n")
    cells[0].outputs, cells[0].execution_count = [output], 1
    page = tmp_path / "book" / "page.ipynb"
    page.parent.mkdir()
    nbformat.write(nbformat.v4.new_notebook(cells=cells), page)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    found, seconds, gigabytes = matrix.run(page, os.environ | {"PATH": path}, "--nbval")
    assert found == "3 failed"
    assert seconds > 0
    assert 0.01 < gigabytes < 10


def test_a_column_takes_the_place_of_its_last_one(tmp_path, monkeypatch):
    page = tmp_path / "status.md"
    page.write_text("# Title\n\nWords.\n\n| environment |\n| --- |\n")
    monkeypatch.setattr(matrix, "STATUS", page)
    matrix.add("lowest", {"Python": "3.11", "one": "1 s"})
    matrix.add("newest", {"Python": "3.13", "two": "2 s"})
    matrix.add("lowest", {"Python": "3.12", "one": "3 failed"})
    head, _, table = page.read_text().partition("\n\n| ")
    assert head == "# Title\n\nWords."
    assert table.splitlines() == [
        "environment | lowest | newest |",
        "| --- | --- | --- |",
        "| Python | 3.12 | 3.13 |",
        "| one | 3 failed | – |",
        "| two | – | 2 s |",
    ]
