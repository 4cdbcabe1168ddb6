"""Start a new chapter from the template: its notebook and its exercises.

python scripts/new_chapter.py ch02_bahdanau
"""

import re
import sys
from pathlib import Path

import jupytext

import first_cell
from run_notebooks import METADATA, store

ROOT = Path(__file__).resolve().parents[1]
TEMPLATE = Path(__file__).parent / "chapter_template"


def new_chapter(root: Path, name: str) -> list[Path]:
    """Write the files of a new chapter and return their paths.

    Args:
        root: the root of the working tree.
        name: chNN_words, for example ch02_bahdanau.

    Raises:
        ValueError: If `name` has another form.
        FileExistsError: If the chapter, or another of that number, is there already.
    """
    form = re.fullmatch(r"ch(\d\d)(_[a-z0-9]+)+", name)
    if not form:
        raise ValueError(
            f"NAME is {name!r}; it must be chNN_words in small letters, for example "
            "make chapter NAME=ch02_bahdanau"
        )
    number = form[1]
    notebook = root / "book" / f"{name}.ipynb"
    exercises = root / "code/attnbook/pages/exercises" / f"ch{number}.py"
    for taken in (*notebook.parent.glob(f"ch{number}_*.ipynb"), exercises):
        if taken.exists():
            raise FileExistsError(f"{taken.relative_to(root)} is there already.")

    def filled(template: str) -> str:
        text = (TEMPLATE / template).read_text(encoding="utf-8")
        return text.replace("@N@", str(int(number)))

    content = jupytext.reads(filled("chapter.md"), fmt="md:myst")
    content.metadata = METADATA
    for index, cell in enumerate(content.cells, 1):
        cell.id = f"cell-{index}"  # the same each time, unlike jupytext's
    store(content, notebook)
    first_cell.write(
        notebook, (root / "REPOSITORY").read_text(encoding="utf-8").strip()
    )
    exercises.write_text(filled("exercises.py"), encoding="utf-8")
    return [notebook, exercises]


if __name__ == "__main__":
    try:
        written = new_chapter(ROOT, " ".join(sys.argv[1:]))
    except (ValueError, FileExistsError) as error:
        sys.exit(str(error))
    print("Written:", *(path.relative_to(ROOT) for path in written))
    print(f"Next: name book/{written[0].stem} in _toc.yml and in README.md, then")
    print(f"make notebooks NAME={written[0].stem}")
