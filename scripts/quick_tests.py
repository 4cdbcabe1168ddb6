"""Run the tests of what changed: for daily work, in three minutes at most.

    python scripts/quick_tests.py        or: make quick

Changed is what differs from ``origin/main`` or, where there is no such branch, from the
commit before the last one. A module stands for the tests that import it or that name
it in quotes to load it and, in the library, for all tests of its room; a helper of
tests or a program in ``scripts/`` for the tests that import it; a notebook for the
checks of its stored form. The style and the order of the rooms are checked each time.
No notebook is run and no page of the book is opened: that is left to ``make test``.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Collection
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parents[1]
ALWAYS = [f"tests/house/test_{name}.py" for name in ("files", "imports", "style")]
# A module of the course is about one chapter or one result.
ONE_BY_ONE = ("course",)
SLOW = ("build", "launch", "lone_notebook", "run_notebooks")


def git(*arguments: str) -> list[str] | None:
    """The paths that git answers with, or None if it refuses."""
    command = ["git", *arguments, "-z"]
    shown = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    return None if shown.returncode else shown.stdout.split("\0")[:-1]


def changed_files() -> list[str]:
    """Paths that differ from the published state, new and deleted ones too.

    Raises:
        SystemExit: If this is no git repository.
    """
    new = git("ls-files", "--others", "--exclude-standard")
    for base in ("origin/main...", "HEAD~1", "HEAD"):
        # With three dots, what others have published since does not count.
        committed = git("diff", "--name-only", "--no-renames", base)
        if new is not None and committed is not None:
            unsaved = git("diff", "--name-only", "--no-renames", "HEAD") or []
            return sorted({*committed, *unsaved, *new})
    raise SystemExit("make quick asks git what changed, and here is none: make test")


def imports(path: Path) -> set[str]:
    """Names of all that a test imports: modules, and what it takes from them.

    A module may be loaded by its name, so words in quotes are names, too.
    """
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            inner = {f"{node.module}.{alias.name}" for alias in node.names}
            names |= {node.module, *inner}
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            names.add(node.value.removesuffix(".py"))
    return names


def module(path: PurePosixPath) -> str:
    """The name that a file is imported by."""
    parts = path.with_suffix("").parts
    if parts[:2] == ("code", "attnbook"):
        return ".".join(parts[1:]).removesuffix(".__init__")
    return parts[-1]


def chosen(changed: Collection[str], root: Path = ROOT) -> list[str]:
    """Choose what pytest is to run.

    Args:
        changed: Paths from the root of the repository.
        root: Where that is.
    """
    paths = [PurePosixPath(name) for name in changed]
    modules = {module(path) for path in paths if path.suffix == ".py"}
    rooms = {
        path.parts[2]
        for path in paths
        if path.match("code/attnbook/*/*") and path.parts[2] not in ONE_BY_ONE
    }
    found = set(ALWAYS)
    for test in [
        *root.glob("tests/unit/**/test_*.py"),
        *root.glob("tests/house/t*.py"),
    ]:
        name = test.relative_to(root).as_posix()
        quick = test.stem.removeprefix("test_") not in SLOW
        about = test.parent.name in rooms or imports(test) & modules
        if name in changed or (quick and about):
            found.add(name)
    for path in paths:
        if path.match("book/*.ipynb") and (root / path).exists():
            one = f"test_stored_notebook[{path.stem}]"
            found.add(f"tests/house/test_notebooks.py::{one}")
    return sorted(found)


def main() -> int:
    """Say what is run, and run it."""
    changed = changed_files()
    tests = chosen(changed)
    print(f"{len(changed)} changed files, {len(tests)} files of tests", flush=True)
    pytest = [sys.executable, "-m", "pytest", "-n", "2"]
    return subprocess.call([*pytest, *tests], cwd=ROOT)


if __name__ == "__main__":
    raise SystemExit(main())
