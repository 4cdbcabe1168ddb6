"""A book of a few chapters, built with the extensions and static files of this one."""

import io
from pathlib import Path

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from sphinx.application import Sphinx
from sphinx.util.docutils import docutils_namespace

BOOK = Path(__file__).resolve().parents[2] / "book"

CONFIGURATION = """
project = "Tiny"
extensions = ["myst_nb", "sphinx_exercise", "formulas", "book_setup", {own}]
myst_enable_extensions = ["colon_fence", "dollarmath"]
nb_execution_mode = "off"
numfig = True
html_theme = "sphinx_book_theme"
html_context = {{"default_mode": "auto"}}
html_static_path = [{static!r}]
html_css_files = ["book.css", "kit.css", "print.css"]
html_js_files = ["book.js"]
html_favicon = {favicon!r}
html_math_renderer = "mathml"
# Its own: Sphinx adds the forms of extensions to the dictionary that other books share.
source_suffix = {{}}
"""
PYTHON = {"name": "python", "pygments_lexer": "ipython3"}
INDEX = "# Tiny\n\n```{{toctree}}\n{pages}\n```\n"


def code(
    source: str, printed: str = "", *tags: str, **metadata
) -> nbformat.NotebookNode:
    """A cell that was run and has printed something."""
    outputs = [new_output("stream", name="stdout", text=printed)] if printed else []
    metadata = {"tags": list(tags), **metadata}
    return new_code_cell(source, outputs=outputs, metadata=metadata)


def build_tiny_book(folder: Path, extensions: list[str], **chapters: list) -> Path:
    """Build the chapters, of Markdown and cells, and return the folder of the site.

    Args:
        folder: Where to work.
        extensions: Those of ``book/_ext`` that are under test.
        chapters: Name of each, such as ``ch01_one``, with its parts: strings of
            Markdown, and cells.
    """
    (folder / "book").mkdir(parents=True)
    static = BOOK / "_static"
    configuration = CONFIGURATION.format(
        own=", ".join(map(repr, extensions)),
        static=str(static),
        favicon=str(static / "logo.svg"),
    )
    (folder / "conf.py").write_text(configuration, encoding="utf-8")
    index = INDEX.format(pages="\n".join(f"book/{name}" for name in chapters))
    (folder / "index.md").write_text(index, encoding="utf-8")
    for name, parts in chapters.items():
        cells = [
            new_markdown_cell(part) if isinstance(part, str) else part for part in parts
        ]
        notebook = new_notebook(cells=cells, metadata={"language_info": PYTHON})
        nbformat.write(notebook, folder / "book" / f"{name}.ipynb")
    told, places = io.StringIO(), [folder, folder, folder / "html", folder / "doctrees"]
    with docutils_namespace():
        app = Sphinx(*places, "html", status=None, warning=told, freshenv=True)
        app.build()
    assert not told.getvalue(), told.getvalue()
    return folder / "html"
