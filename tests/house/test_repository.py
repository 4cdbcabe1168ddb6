"""`make repository NAME=owner/name` writes the address where it must stand."""

import nbformat
import pytest
import yaml

import first_cell
from set_repository import replace_between, set_repository


@pytest.fixture
def tree(tmp_path, copy_tree):
    """The files that hold the address, and a chapter with a stored output."""
    copy_tree(tmp_path, "README.md", "CITATION.cff", "REPOSITORY")
    (tmp_path / "book").mkdir()
    output = nbformat.v4.new_output("stream", text="42\n")
    cell = nbformat.v4.new_code_cell("print(42)", execution_count=1, outputs=[output])
    title = nbformat.v4.new_markdown_cell("# A chapter")
    chapter = nbformat.v4.new_notebook(cells=[title, cell])
    nbformat.write(chapter, tmp_path / "book" / "ch01_name.ipynb")
    return tmp_path


def test_writes_the_address_everywhere(tree):
    set_repository(tree, "an-owner/a.name_2")
    assert (tree / "REPOSITORY").read_text() == "an-owner/a.name_2\n"
    readme = (tree / "README.md").read_text()
    assert "https://an-owner.github.io/a.name_2/" in readme
    assert "an-owner/a.name_2/blob/notebooks/book/intro.ipynb" in readme
    assert "an-owner/a.name_2/notebooks?urlpath=lab/tree/book/intro.ipynb" in readme
    page = "https://an-owner.github.io/a.name_2/book/ch01_name.html"
    assert f"| 1 | [Sequence to sequence with RNNs]({page}) | Can one" in readme
    citation = yaml.safe_load((tree / "CITATION.cff").read_text())
    assert citation["repository-code"] == "https://github.com/an-owner/a.name_2"
    assert citation["url"] == "https://an-owner.github.io/a.name_2/"
    cells = nbformat.read(tree / "book" / "ch01_name.ipynb", as_version=4).cells
    assert cells[0].source == first_cell.first_cell("an-owner/a.name_2")
    assert [cell.source for cell in cells[1:]] == ["# A chapter", "print(42)"]
    assert cells[2].outputs[0].text == "42\n"


def test_a_second_address_replaces_the_first(tree):
    set_repository(tree, "an-owner/a-name")
    set_repository(tree, "other/second")
    files = [path for path in tree.rglob("*") if path.is_file()]
    assert not [path for path in files if "an-owner" in path.read_text()]
    assert (
        len(nbformat.read(tree / "book" / "ch01_name.ipynb", as_version=4).cells) == 3
    )


@pytest.mark.parametrize(
    "name",
    ["", "a-name", "a/b/c", "https://github.com/a/b", "a /b", "-a/b", "a/b\nc", "ä/b"],
)
def test_refuses_what_is_no_address(tree, name):
    before = (tree / "REPOSITORY").read_text()
    with pytest.raises(ValueError, match="must be owner/name") as refusal:
        set_repository(tree, name)
    assert repr(name) in str(refusal.value)
    assert (tree / "REPOSITORY").read_text() == before


def test_says_which_line_a_file_lacks(tmp_path):
    file = tmp_path / "README.md"
    file.write_text("<!-- addresses -->\n")
    with pytest.raises(ValueError, match=r"README\.md must hold .*end of addresses"):
        replace_between(file, "<!-- addresses -->", "<!-- end of addresses -->", "")
