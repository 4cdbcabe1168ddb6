"""Files agree with each other, and what they name is there."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def requirements(name: str) -> list[Requirement]:
    """The requirements in a file, without its comments."""
    lines = (ROOT / name).read_text(encoding="utf-8").splitlines()
    stripped = [re.sub(r"\s*#.*", "", line) for line in lines]
    return [Requirement(line) for line in stripped if line]


def test_pins_are_exact_and_follow_from_what_is_wanted():
    pinned = {pin.name: str(pin.specifier) for pin in requirements("requirements.txt")}
    assert all(re.fullmatch("==[^,*]+", version) for version in pinned.values())
    for wanted in requirements("requirements.in"):
        version = pinned[wanted.name].removeprefix("==")
        assert wanted.specifier.contains(version), f"{wanted}: renew the pins"


def test_the_version_is_the_same_everywhere():
    """The workflow `release` compares it with the tag, and the day of two of them."""
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    changes = re.search("^## (.+), ", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert citation["version"] == changes[1] == version


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_actions_are_pinned_and_may_do_little(path):
    text = path.read_text(encoding="utf-8")
    workflow = yaml.safe_load(text)
    assert workflow["permissions"] in ({}, {"contents": "read"})
    for action in re.findall(r"uses: (.+)", text):
        local = action.startswith("./.github/workflows/")
        assert local or re.fullmatch(r"\S+@[0-9a-f]{40}  # v[\d.]+", action), action


@pytest.mark.parametrize(
    "path",
    [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")],
    ids=lambda path: path.name,
)
def test_links_lead_to_files(path):
    text = path.read_text(encoding="utf-8")
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", text):
        assert (path.parent / target).exists(), f"{path.name} links to {target}"


# What only the pages need, its own page lists in part.
FOLDERS = (ROOT / "code" / "attnbook").glob("*/__init__.py")
ROOMS = sorted({path.parent.name for path in FOLDERS} - {"course"})


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_lists_its_modules(room):
    """From this list the page of the room is made."""
    folder = ROOT / "code" / "attnbook" / room
    modules = sorted(path.stem for path in folder.glob("[a-z]*.py"))
    docstring = (folder / "__init__.py").read_text(encoding="utf-8").split('"""')[1]
    assert sorted(re.findall(r"^- ``(\w+)``:", docstring, re.MULTILINE)) == modules


def test_every_page_of_the_library_stands_in_the_overview_and_in_the_contents():
    pages = ROOT / "book" / "api"
    names = {page.stem for page in pages.glob("*.md")} - {"index"}
    overview = (pages / "index.md").read_text(encoding="utf-8")
    contents = (ROOT / "_toc.yml").read_text(encoding="utf-8")
    assert names == set(re.findall(r"- file: book/api/(\w+)", contents)) - {"index"}
    listed = re.findall(r"^   attnbook\.(\w+)$|\((\w+)\.md\)", overview, re.MULTILINE)
    assert names == {module or page for module, page in listed}
