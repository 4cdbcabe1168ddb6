"""Run the tests of what changed: for daily work, in three minutes at most.

    python scripts/quick_tests.py        or: make quick

Changed is what differs from ``origin/main`` or, where there is no such branch, from the
commit before the last one. A module stands for the tests that import it or that name it
in quotes, and for those of its room; a file of a chapter's folder for the tests of that
chapter and for its notebook, which is run and compared; a stored result for the pages
that read it. Two notebooks are run at most. The style and the order of the rooms are
checked each time. No page of the book is opened: that is left to ``make test``.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Collection, Iterator
from functools import cache
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parents[1]
ALWAYS = [f"tests/house/test_{name}.py" for name in ("files", "imports", "style")]
SLOW = ("build", "launch", "lone_notebook", "run_notebooks")
MOST_NOTEBOOKS = 2
MOST_PAGES = 3  # that are looked at for a result of many readers
KIT = "tests/unit/course/kit/test_{}.py"
# Tests that find what they test in a list, by the names of files in a chapter's folder.
BY_LIST = {
    "part_*.py": ("parts", "written_parts"),
    "exercises.py": ("exercises",),
    "*.js": ("scripts", "explorers"),
}


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


@cache
def named(path: Path) -> tuple[set[str], list[re.Pattern]]:
    """Names of all that a file imports or has in quotes, and forms of names it makes.

    A module and a result may be loaded by their name, or by an f-string.
    """
    names: set[str] = set()
    forms = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            inner = {f"{node.module}.{alias.name}" for alias in node.names}
            names |= {node.module, *inner}
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            names.add(node.value.removesuffix(".py"))
        elif isinstance(node, ast.FunctionDef):
            names.add(node.name)  # an experiment has the name of its result
        elif isinstance(node, ast.JoinedStr):
            parts = [getattr(part, "value", None) for part in node.values]
            fixed = [part for part in parts if isinstance(part, str)]
            if len("".join(fixed)) > 3 and re.fullmatch(r"\w+", "".join(fixed)):
                words = (re.escape(p) if isinstance(p, str) else r"\w+" for p in parts)
                forms.append(re.compile("".join(words)))
    return names, forms


def module(path: PurePosixPath) -> str:
    """The name that a file is imported by."""
    parts = path.with_suffix("").parts
    if parts[:2] == ("code", "attnbook"):
        return ".".join(parts[1:]).removesuffix(".__init__")
    return parts[-1]


def readers(result: str, root: Path) -> list[PurePosixPath]:
    """The chapters' files that name a stored result, of the pages that do so most."""
    files = [
        PurePosixPath(path.relative_to(root))
        for path in sorted(root.glob("code/attnbook/course/*/**/*.py"))
        for names, forms in [named(path)]
        if result in names or any(form.fullmatch(result) for form in forms)
    ]
    pages = Counter(file.parent for file in files).most_common(MOST_PAGES)
    return [file for page, _ in pages for file in files if file.parent == page]


def notebooks(path: PurePosixPath) -> list[str]:
    """Forms of the names of the notebooks that show what a chapter's file holds."""
    chapter, laboratory = path.parts[3], path.parts[3].replace("ch", "lab")
    if path.match("mask_card.py"):
        return ["mask_card"]
    if path.match("lab*.py"):
        return [f"{laboratory}_*"]
    if path.match("experiment*.py"):
        return [f"{chapter}_*", f"{laboratory}_*"]
    return [f"{chapter}_*"]


def of_chapters(paths: list[PurePosixPath], root: Path) -> Iterator[str]:
    """Yield folders and files of tests, and notebooks, of what the chapters hold."""
    for path in paths:
        if path.is_relative_to("code/attnbook/course") and len(path.parts) > 4:
            yield f"tests/unit/course/{path.parts[3]}"
            for form, tests in BY_LIST.items():
                if path.match(form):
                    yield from (KIT.format(test) for test in tests)
            if path.parts[3] != "kit":
                for name in notebooks(path):
                    for found in sorted(root.glob(f"book/{name}.ipynb")):
                        yield found.relative_to(root).as_posix()


def chosen(changed: Collection[str], root: Path = ROOT) -> list[str]:
    """Choose what pytest is to run, notebooks first: they take longest.

    Args:
        changed: Paths from the root of the repository.
        root: Where that is.
    """
    paths = [PurePosixPath(name) for name in sorted(changed)]
    modules = {path.parts[4] for path in paths if path.match("stored/models/*/*")}
    for path in [*paths]:
        if path.match("stored/results/*.json"):
            paths += (reading := readers(path.stem, root))
            modules |= set() if reading else {path.stem}
    modules |= {module(path) for path in paths if path.suffix in (".py", ".js")}
    rooms = {path.parts[2] for path in paths if path.match("code/attnbook/*/*")}
    found = {*ALWAYS, *of_chapters(paths, root)}
    for test in [
        *root.glob("tests/unit/**/test_*.py"),
        *root.glob("tests/house/t*.py"),
    ]:
        name = test.relative_to(root).as_posix()
        quick = test.stem.removeprefix("test_") not in SLOW
        about = test.parent.name in rooms or named(test)[0] & modules
        if name in changed or (quick and about):
            found.add(name)
    found |= {path.as_posix() for path in paths if path.match("book/*.ipynb")}
    found = {name for name in found if (root / name).exists()}
    stored = {PurePosixPath(name).stem for name in found if name.endswith("ipynb")}
    tests = {name for name in found if not name.endswith("ipynb")}
    checks = {
        f"tests/house/test_notebooks.py::test_stored_notebook[{n}]" for n in stored
    }
    # What was itself changed goes before what shows a changed module.
    run = sorted(found - tests, key=lambda name: (name not in changed, name))
    inside = {name for name in tests if str(PurePosixPath(name).parent) in tests}
    return [*run[:MOST_NOTEBOOKS], *sorted((tests - inside) | checks)]


def main() -> int:
    """Say what is run, and run it."""
    changed = changed_files()
    tests = chosen(changed)
    print(f"{len(changed)} changed files; testing:", *tests, flush=True)
    pytest = [sys.executable, "-m", "pytest", "-n", "2"]
    return subprocess.call([*pytest, *tests], cwd=ROOT)


if __name__ == "__main__":
    raise SystemExit(main())
