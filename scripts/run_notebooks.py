"""Run chapters and store their outputs: the same bytes each time, but for times.

    python scripts/run_notebooks.py              all of them, and the front page
    python scripts/run_notebooks.py ch01 ch04    these

A chapter that fails or writes to stderr is refused: its file stays as it was.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
from nbformat import NotebookNode

BOOK = Path(__file__).resolve().parents[1] / "book"
CELL_TIMEOUT = 1800  # seconds; it ends what hangs, on a busy machine too
# What a notebook says of its kernel, less the version of Python it ran on.
METADATA = {
    "kernelspec": {
        "display_name": "Python 3 (ipykernel)",
        "language": "python",
        "name": "python3",
    },
    "language_info": {
        "file_extension": ".py",
        "mimetype": "text/x-python",
        "name": "python",
        "pygments_lexer": "ipython3",
    },
}


def tags(cell: NotebookNode) -> list[str]:
    """Return the tags of a cell."""
    return cell.metadata.get("tags", [])


def place(number: int, cell: NotebookNode) -> str:
    """Name a cell by its number, counted from 1, and its first line."""
    lines = cell.source.strip().splitlines()
    return f"cell {number} ({lines[0][:50]!r})" if lines else f"cell {number} (empty)"


def code_cells(notebook: NotebookNode) -> Iterator[tuple[str, NotebookNode]]:
    """Yield the place and the cell of all code that runs everywhere.

    The first cell installs the package on Colab; it is tagged ``nbval-skip`` and left
    out, here and when the chapters are run.
    """
    for number, cell in enumerate(notebook.cells, 1):
        if cell.cell_type == "code" and "nbval-skip" not in tags(cell):
            yield place(number, cell), cell


def check_outputs(notebook: NotebookNode) -> Iterator[str]:
    """No cell fails but those tagged so, none writes to stderr, none stores a widget.

    What is written there differs from machine to machine, and without its kernel a
    reader would see "model not found" for a widget.
    """
    for where, cell in code_cells(notebook):
        for output in cell.outputs:
            if output.output_type == "error" and "raises-exception" not in tags(cell):
                yield f"{where}: {output.ename}: {output.evalue}".splitlines()[0]
            if output.get("name") == "stderr":
                line = output.text.strip().splitlines()[-1]
                yield f"{where}: wrote to stderr: {line}"
            if any("jupyter.widget" in kind for kind in output.get("data", {})):
                yield (
                    f"{where}: a widget is stored; an explorer stores a still if "
                    "ATTNBOOK_STILL is set"
                )


class ChapterError(Exception):
    """A chapter did not run, or did not run clean."""


def run(path: Path) -> NotebookNode:
    """Run one chapter in a fresh kernel and return it with its outputs.

    Raises:
        ChapterError: With one line for each cell that failed or wrote to stderr.
    """
    notebook = nbformat.read(path, as_version=4)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    client = NotebookClient(
        notebook,
        timeout=CELL_TIMEOUT,
        startup_timeout=CELL_TIMEOUT,
        kernel_name="python3",
        extra_arguments=["--log-level=ERROR"],
        record_timing=False,
        coalesce_streams=True,
        store_widget_state=False,
        skip_cells_with_tag="nbval-skip",
        resources={"metadata": {"path": str(path.parent)}},
    )
    with tempfile.TemporaryDirectory() as profile:  # no start-up files, no history
        fixed = {
            "PYTHONHASHSEED": "0",
            "ATTNBOOK_THREADS": "1",
            "ATTNBOOK_DEVICE": "cpu",  # a GPU would round differently
            "ATTNBOOK_PARTS": "package",  # not those of a reader who uses this folder
            "ATTNBOOK_STILL": "1",  # explorers show what can be stored
            "IPYTHONDIR": profile,
        }
        try:
            client.execute(env=os.environ | fixed)
        except CellExecutionError:
            pass  # the cell keeps its error, which is reported below
        except CellTimeoutError as error:
            limit = f"a cell took longer than {CELL_TIMEOUT} seconds"
            raise ChapterError(f"{path.name}: {limit}") from error
        except DeadKernelError as error:
            raise ChapterError(
                f"{path.name}: the kernel died: out of memory?"
            ) from error
    if refused := [*check_outputs(notebook)]:
        raise ChapterError("\n".join(f"{path.name}, {line}" for line in refused))
    notebook.metadata = nbformat.from_dict(METADATA)
    nbformat.validate(notebook)
    return notebook


def store(notebook: NotebookNode, path: Path) -> None:
    """Write a notebook in one move, so that no failure leaves half a file."""
    draft = path.with_suffix(".tmp")
    try:
        draft.write_text(
            nbformat.writes(notebook) + "\n", encoding="utf-8", newline="\n"
        )
        os.replace(draft, path)
    finally:
        draft.unlink(missing_ok=True)


def chapters(names: list[str]) -> list[Path]:
    """Return the notebooks whose names begin with one of `names`; none means all."""
    found = sorted(BOOK.glob("*.ipynb"))
    for name in names:
        if not any(path.name.startswith(name) for path in found):
            known = ", ".join(path.stem for path in found) or "none"
            raise ChapterError(f"no notebook begins with {name!r}; there are: {known}")
    return [path for path in found if path.name.startswith(tuple(names or [""]))]


def main() -> None:
    """Run the chapters that the command line names."""
    for path in chapters(sys.argv[1:]):
        before, start = os.times(), time.perf_counter()
        store(run(path), path)
        wall = time.perf_counter() - start
        kernel = sum(os.times()[2:4]) - sum(before[2:4])  # of children that have ended
        took = f"{kernel:.0f} s of processor time, {wall:.0f} s"
        print(f"{path.name}: stored ({took})", flush=True)


if __name__ == "__main__":
    try:
        main()
    except ChapterError as refusal:
        sys.exit(str(refusal))
