"""Files agree with each other, what they name is there, and nothing is left over."""

import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
LEFTOVERS = {"*.orig", "*.rej", "*.bak", "*~", "*.swp", ".DS_Store"}
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


def test_every_page_is_named_where_it_is_looked_for():
    """Its source for those who write; its title for those who read; the contents."""
    pages = {path.name for path in (ROOT / "book").glob("*.ipynb")} - {"intro.ipynb"}
    sources = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert set(re.findall(r"\]\(book/(\w+\.ipynb)\)", sources)) == pages
    numbers = {re.match(r"ch0?(\d+)_|(a\d)_|", name)[0] for name in pages} - {""}
    rows = re.findall(
        r"^\| (\d+|A\d) \| \S", (ROOT / "README.md").read_text("utf-8"), re.M
    )
    assert len(rows) == len(numbers)
    contents = (ROOT / "_toc.yml").read_text(encoding="utf-8")
    named = set(re.findall(r"- file: book/(\w+)$", contents, re.MULTILINE))
    assert named >= {name.removesuffix(".ipynb") for name in pages}


def test_readme_leads_to_nothing_raw():
    """A notebook's source shows its markup, and the answers of its questions."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert not re.findall(r"\]\([^)]*\.ipynb\)", text)


def git(*arguments: str) -> str:
    """What git says of the repository; nothing of a copy that is none."""
    if not (ROOT / ".git").exists():
        return ""
    # In a container the folder may belong to another user, which git would refuse.
    command = ["git", "-c", "safe.directory=*", *arguments]
    shown = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert not shown.stderr
    return shown.stdout


def test_nothing_is_kept_that_is_to_be_ignored():
    """Files that editors, patches and merges leave behind, and all that is built."""
    assert set((ROOT / ".gitignore").read_text().split()) >= LEFTOVERS
    ignored = ["--cached", "--ignored", "--exclude-per-directory=.gitignore"]
    assert git("ls-files", *ignored) == ""


def test_no_conflict_is_left():
    assert git("grep", "--line-number", "-E", r"^(<{7}|\|{7}|>{7}) ") == ""


def test_the_folder_code_does_not_hide_the_module_of_that_name():
    """The debugger needs it, which is started where the reader is: here."""
    shown = subprocess.run(
        [
            sys.executable,
            "-c",
            "x = 41\nbreakpoint()\nimport code; print(code.interact)",
        ],
        **{"cwd": ROOT, "input": "p x + 1\nc\n", "capture_output": True, "text": True},
    ).stdout
    assert "(Pdb) 42\n" in shown
    assert "<function interact" in shown
