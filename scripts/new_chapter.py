"""Start a new chapter, appendix page or laboratory page from its template.

python scripts/new_chapter.py ch13_my_topic     a notebook and its exercises
python scripts/new_chapter.py a1_one_block      a notebook and its exercises
python scripts/new_chapter.py lab13_my_topic    a notebook
"""

import re
import sys
from pathlib import Path

import jupytext

import first_cell
from run_notebooks import METADATA, store

ROOT = Path(__file__).resolve().parents[1]
FOLDER = Path(__file__).parent / "chapter_template"
TEMPLATES = {"ch": "chapter.md", "a": "chapter.md", "lab": "lab.md"}


def new_chapter(root: Path, name: str) -> list[Path]:
    """Write the files of a new chapter or laboratory page and return their paths.

    Raises:
        ValueError: If `name` has another form.
        FileExistsError: If it, or another of that kind and number, is there already.
    """
    form = re.fullmatch(r"((?P<kind>ch|lab)\d\d|a\d)(_[a-z0-9]+)+", name)
    if not form:
        raise ValueError(
            f"NAME is {name!r}; it must be chNN_words, aN_words or labNN_words in "
            "small letters, for example make chapter NAME=ch13_my_topic"
        )
    kind, page = form["kind"] or "a", form[1]
    notebook = root / "book" / f"{name}.ipynb"
    exercises = root / f"code/attnbook/course/{page}/exercises.py"
    written = [notebook] if kind == "lab" else [notebook, exercises]
    for taken in (*notebook.parent.glob(f"{page}_*.ipynb"), *written):
        if taken.exists():
            raise FileExistsError(f"{taken.relative_to(root)} is there already.")
    write_notebook(root, notebook, filled(TEMPLATES[kind], page))
    if exercises in written:
        exercises.parent.mkdir(exist_ok=True)
        for file in ("__init__.py", "exercises.py"):
            (exercises.parent / file).write_text(filled(file, page), encoding="utf-8")
    return written


def filled(template: str, page: str) -> str:
    """Return a template with the name and the number of a page, such as a1, in it."""
    kind, digits = re.fullmatch(r"([a-z]+)(\d+)", page).groups()
    number = page if kind == "a" else str(int(digits))
    text = (FOLDER / template).read_text(encoding="utf-8")
    if kind == "a":
        text = text.replace("chapter @N@", f"appendix A{digits}")
        text = text.replace("ch@N@", "@N@")
    return text.replace("@N@", number)


def write_notebook(root: Path, path: Path, text: str) -> None:
    """Write a notebook from its text, with the first cell that all have."""
    content = jupytext.reads(text, fmt="md:myst")
    content.metadata = METADATA
    for index, cell in enumerate(content.cells, 1):
        cell.id = f"cell-{index}"  # the same each time, unlike jupytext's
    store(content, path)
    first_cell.write(path, (root / "REPOSITORY").read_text(encoding="utf-8").strip())


if __name__ == "__main__":
    try:
        written = new_chapter(ROOT, " ".join(sys.argv[1:]))
    except (ValueError, FileExistsError) as error:
        sys.exit(str(error))
    print("Written:", *(path.relative_to(ROOT) for path in written))
    where = "_toc.yml, CONTRIBUTING.md and README.md"
    print(f"Next: name book/{written[0].stem} in {where}, then")
    print(f"make notebooks NAME={written[0].stem}")
