"""Build the HTML book from the stored outputs, unless it is up to date.

    python scripts/build_book.py             what changed since the last build
    python scripts/build_book.py --whole     all pages, unless they were built so

Warnings are errors, and every page of the table of contents must be there in the end.
The notebooks that readers open are made with it. A changed page or module alone is
read anew, which takes seconds; numbers on the other pages that depend on it stay until
the next whole build, and `make test` asks for one.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / "_build"
HTML = BUILD / "html"
LOG = BUILD / "build.log"
STAMP = BUILD / "built-from.json"
PDF = "attention-step-by-step.pdf"  # which pages offer, once it is in _build

COMMAND = [
    str(Path(sys.executable).with_name("jupyter-book")),
    *("build", ".", "-W", "-n", "--keep-going"),
]

SOURCE_FOLDERS = ("book", "code")
SOURCE_FILES = (
    *("_config.yml", "_toc.yml", "requirements.txt", "REPOSITORY"),
    # What the readers' notebooks are made by.
    "scripts/reader_notebooks.py",
    *("scripts/run_notebooks.py", "scripts/notebook_checks.py"),
)
IGNORED = {"__pycache__", ".ipynb_checkpoints"}
# What the addresses of the launch buttons are made from.
VARIABLES = ("BOOK_REPOSITORY", "GITHUB_REPOSITORY")
# Sphinx knows which pages depend on these.
ONE_PAGE = re.compile(r"book/[^_].*\.(ipynb|md)|code/attnbook/.*\.py")


def sources() -> Iterator[Path]:
    """All files that the built pages depend on."""
    for name in SOURCE_FILES:
        yield ROOT / name
    for folder in SOURCE_FOLDERS:
        for path in sorted((ROOT / folder).rglob("*")):
            parts = set(path.parts)
            egg_info = any(part.endswith(".egg-info") for part in parts)
            if path.is_file() and not parts & IGNORED and not egg_info:
                yield path


def built_from() -> dict[str, str]:
    """All that the book is made from, by name.

    Contents rather than times: a fresh clone or a changed branch gives every file a new
    time, and an unchanged book need not be built again for that.
    """
    others = {name: os.environ.get(name, "") for name in VARIABLES}
    others[PDF] = str((BUILD / PDF).exists())
    return others | {
        path.relative_to(ROOT).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sources()
    }


def pages(entry: dict | list) -> Iterator[str]:
    """The pages a table of contents names, for example "book/intro"."""
    if isinstance(entry, list):
        for item in entry:
            yield from pages(item)
    else:
        yield from (entry[key] for key in ("root", "file") if key in entry)
        for key in ("parts", "chapters", "sections"):
            yield from pages(entry.get(key, []))


def missing_pages() -> list[str]:
    """The pages of _toc.yml that are not among the built ones."""
    contents = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    return [page for page in pages(contents) if not (HTML / f"{page}.html").is_file()]


def build(changed: set[str] | None) -> None:
    """Build the pages; the last good build may stand for those that did not change.

    Args:
        changed: Files that differ from it; None to build from nothing, since what an
            earlier build left behind can hide a warning.
    """
    if changed is None:
        STAMP.unlink(missing_ok=True)
        (BUILD / "references.json").unlink(missing_ok=True)
        for folder in ("html", ".doctrees"):
            shutil.rmtree(BUILD / folder, ignore_errors=True)
    print("Building the book …", *sorted(changed or ()), flush=True)
    done = subprocess.run(
        COMMAND,
        env=os.environ | {"BOOK_CHANGED": "\n".join(changed or ())},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
    )
    output = re.sub(r"\x1b\[[\d;]*m", "", done.stdout)
    BUILD.mkdir(exist_ok=True)
    LOG.write_text(output, encoding="utf-8")
    if done.returncode:
        lines = re.findall(r".*(?:WARNING|ERROR|CRITICAL|Error):.*", output)
        print(*dict.fromkeys(lines), sep="\n", file=sys.stderr)
        sys.exit(f"The book was not built: mend the above. All of the output: {LOG}")


def main(*, whole: bool) -> None:
    """Build the book if anything it is made from has changed."""
    os.chdir(ROOT)
    wanted = built_from()
    last = json.loads(STAMP.read_text(encoding="utf-8")) if STAMP.exists() else {}
    known = last.get("files", {})
    changed = {
        name for name in {*wanted, *known} if wanted.get(name) != known.get(name)
    }
    complete = (BUILD / "notebooks").is_dir() and not missing_pages()
    if complete and not changed and (last["whole"] or not whole):
        print("The book is up to date.")
    else:
        whole = whole or not complete or not all(map(ONE_PAGE.fullmatch, changed))
        build(None if whole else changed)
        if missing := missing_pages():
            sys.exit(f"Named in _toc.yml, but not built: {', '.join(missing)}")
        import reader_notebooks  # slow, and not needed for what is up to date

        try:
            reader_notebooks.write(ROOT)
        except ValueError as error:
            sys.exit(f"The readers' notebooks were not made: {error}")
        STAMP.write_text(
            json.dumps({"whole": whole, "files": wanted}), encoding="utf-8"
        )
    print(f"Open {(HTML / 'index.html').as_uri()}")


if __name__ == "__main__":
    try:
        main(whole="--whole" in sys.argv)
    except KeyboardInterrupt:
        sys.exit("\nInterrupted. The same command builds the book afresh.")
