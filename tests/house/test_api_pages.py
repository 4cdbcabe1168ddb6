"""Every module of the package is described in the book."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = ROOT / "book" / "api"


def test_every_module_is_described():
    package = ROOT / "code" / "attnbook"
    modules = {path.stem for path in package.glob("[a-z]*.py")}
    text = "\n".join(page.read_text(encoding="utf-8") for page in PAGES.glob("*.md"))
    described = re.findall(r"automodule:: attnbook\.(\w+)$", text, re.MULTILINE)
    assert modules <= set(described)


def test_every_page_stands_in_the_overview_and_in_the_contents():
    names = {page.stem for page in PAGES.glob("*.md")} - {"index"}
    overview = (PAGES / "index.md").read_text(encoding="utf-8")
    contents = (ROOT / "_toc.yml").read_text(encoding="utf-8")
    assert names == set(re.findall(r"- file: book/api/(\w+)", contents)) - {"index"}
    listed = re.findall(r"^   attnbook\.(\w+)$|\((\w+)\.md\)", overview, re.MULTILINE)
    assert names == {module or page for module, page in listed}
