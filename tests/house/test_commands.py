"""make: its commands, and the Python it chooses."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FIND_PYTHON = ROOT / "scripts" / "find_python.sh"
# Stand in for a Python: suitable or not, and what it calls itself.
FAKE = """#!/bin/sh
[ "$1" = -V ] && echo "Python {version}" && exit
exit {code}
"""


def test_help_has_a_line_for_each_command():
    shown = subprocess.run(["make"], cwd=ROOT, capture_output=True, text=True).stdout
    listed = re.findall(r"^make (\w+) +\w", shown, flags=re.MULTILINE)
    phony = re.search(r"\.PHONY: (.+)", (ROOT / "Makefile").read_text())[1].split()
    assert sorted(listed) == sorted(phony)


@pytest.mark.parametrize(
    "path",
    ["README.md", "CONTRIBUTING.md", ".ci/run", *(ROOT / ".github").rglob("*.yml")],
    ids=lambda path: Path(path).name,
)
def test_commands_that_are_named_exist(path):
    phony = re.search(r"\.PHONY: (.+)", (ROOT / "Makefile").read_text())[1].split()
    text = (ROOT / path).read_text()
    code = re.findall(
        r"^    make (\w+)|`make (\w+)|(?:run|exec):? make (\w+)", text, re.M
    )
    for groups in code:
        assert "".join(groups) in phony


@pytest.fixture
def find_python(tmp_path):
    """Run find_python.sh where only the given fake Pythons exist."""

    def find(pythons: dict[str, str], wanted: str) -> subprocess.CompletedProcess:
        for name, version in pythons.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            unsuitable = version.split(".")[1] not in ("11", "12", "13")
            path.write_text(FAKE.format(version=version, code=int(unsuitable)))
            path.chmod(0o755)
        environment = {"PATH": str(tmp_path), "PYTHON": wanted}
        return subprocess.run(
            ["/bin/sh", FIND_PYTHON],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
        )

    return find


@pytest.mark.parametrize(
    ("pythons", "wanted", "chosen"),
    [
        ({"python3": "3.12.1"}, "", "python3"),
        ({"python3": "3.9.2", "python3.11": "3.11.4"}, "", "python3.11"),
        ({"python3": "3.14.0", "python3.13": "3.13.0"}, "", "python3.13"),
        ({"python3": "3.12.1", ".venv/bin/python": "3.11.4"}, "", ".venv/bin/python"),
        ({"python3": "3.12.1", "python3.13": "3.13.0"}, "python3.13", "python3.13"),
    ],
)
def test_chooses_a_python(find_python, pythons, wanted, chosen):
    found = find_python(pythons, wanted)
    assert (found.returncode, found.stdout, found.stderr) == (0, f"{chosen}\n", "")


@pytest.mark.parametrize(
    ("pythons", "wanted", "complaint"),
    [
        ({"python3": "3.9.2"}, "", "found Python 3.9.2"),
        ({}, "", "found no Python"),
        ({"python3": "3.12.1", "old": "3.8.0"}, "old", "PYTHON=old is Python 3.8.0"),
        ({"python3": "3.12.1"}, "missing", "PYTHON=missing is no Python that runs"),
    ],
)
def test_says_in_one_line_what_is_wrong(find_python, pythons, wanted, complaint):
    found = find_python(pythons, wanted)
    assert found.returncode == 1
    assert found.stdout == ""
    assert found.stderr.count("\n") == 1
    assert complaint in found.stderr
    assert "make book PYTHON=python3.12" in found.stderr
