"""Files that repeat each other say the same, and what they name is there."""

import re
from importlib import metadata
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
PROSE = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"]


def requirements(name: str) -> list[Requirement]:
    """The requirements in a file, without its comments."""
    lines = (ROOT / name).read_text(encoding="utf-8").splitlines()
    stripped = [re.sub(r"\s*#.*", "", line) for line in lines]
    return [Requirement(line) for line in stripped if line]


def test_pins_follow_from_what_is_wanted():
    pinned = {pin.name: pin.specifier for pin in requirements("requirements.txt")}
    for wanted in requirements("requirements.in"):
        version = str(pinned[wanted.name]).removeprefix("==")
        assert wanted.specifier.contains(version), f"{wanted}: run `make pins`"


def test_pins_are_exact_and_installed():
    for pin in requirements("requirements.txt"):
        (specifier,) = pin.specifier
        assert specifier.operator == "==", pin
        if pin.marker is None or pin.marker.evaluate():
            assert specifier.contains(metadata.version(pin.name)), (
                f"{pin}: run `make env`"
            )


def test_binder_has_the_same_pins():
    lines = (ROOT / ".binder" / "requirements.txt").read_text().splitlines()
    assert [line for line in lines if not line.startswith("#")] == [
        "--extra-index-url https://download.pytorch.org/whl/cpu",
        "-r ../requirements.txt",
    ]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_actions_are_pinned_and_may_do_little(path):
    text = path.read_text(encoding="utf-8")
    workflow = yaml.safe_load(text)
    assert workflow["permissions"] in ({}, {"contents": "read"})
    for action in re.findall(r"uses: (.+)", text):
        local = action.startswith("./.github/workflows/")
        assert local or re.fullmatch(r"\S+@[0-9a-f]{40}  # v[\d.]+", action), action


@pytest.mark.parametrize("name", PROSE)
def test_links_lead_to_files(name):
    text = (ROOT / name).read_text(encoding="utf-8")
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", text):
        assert (ROOT / target).exists(), f"{name} links to {target}"


def test_readme_names_every_chapter():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    chapters = {path.name for path in (ROOT / "book").glob("ch*.ipynb")}
    assert set(re.findall(r"\]\(book/(ch\w+\.ipynb)\)", text)) == chapters
