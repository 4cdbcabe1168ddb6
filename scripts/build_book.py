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
STAMP = "built-from.json"
PDF = "attention-step-by-step.pdf"  # which pages offer, once it is in _build

COMMAND = [
    str(Path(sys.executable).with_name("jupyter-book")),
    *("build", ".", "-W", "-n", "--keep-going"),
]
SOURCES = (
    *("book", "code", "_config.yml", "_toc.yml", "requirements.txt", "REPOSITORY"),
    *("scripts/reader_notebooks.py", "scripts/run_notebooks.py"),
)
NO_SOURCE = re.compile(r"__pycache__|\.ipynb_checkpoints|\.egg-info")
# What the addresses of the launch buttons are made from.
VARIABLES = ("BOOK_REPOSITORY", "GITHUB_REPOSITORY")
# Sphinx knows which pages depend on these.
ONE_PAGE = re.compile(r"book/[^_].*\.(ipynb|md)|code/attnbook/.*\.py")


def built_from() -> dict[str, str]:
    """All that the book is made from, by name.

    Contents rather than times: a fresh clone or a changed branch gives every file a new
    time, and an unchanged book need not be built again for that.
    """
    found = {name: os.environ.get(name, "") for name in VARIABLES}
    found[PDF] = str((BUILD / PDF).exists())
    for source in map(ROOT.joinpath, SOURCES):
        for path in source.rglob("*") if source.is_dir() else [source]:
            name = path.relative_to(ROOT).as_posix()
            if path.is_file() and not NO_SOURCE.search(name):
                found[name] = hashlib.sha256(path.read_bytes()).hexdigest()
    return found


def pages(contents: dict) -> Iterator[str]:
    """The pages a table of contents names, for example "book/intro"."""
    yield contents["root"]
    for part in contents["parts"]:
        for chapter in part["chapters"]:
            yield chapter["file"]
            yield from (section["file"] for section in chapter.get("sections", []))


def missing_pages() -> list[str]:
    """The pages of _toc.yml that are not among the built ones."""
    contents = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    return [page for page in pages(contents) if not (HTML / f"{page}.html").is_file()]


def build(changed: set[str]) -> None:
    """Build the pages; the last good build may stand for those that did not change.

    Args:
        changed: Files that differ from it; none to build from nothing, since what an
            earlier build left behind can hide a warning.
    """
    if not changed:
        for left in ("html", ".doctrees"):
            shutil.rmtree(BUILD / left, ignore_errors=True)
        for left in (STAMP, "references.json"):
            (BUILD / left).unlink(missing_ok=True)
    print("Building the book …", *sorted(changed), flush=True)
    done = subprocess.run(
        COMMAND,
        env=os.environ | {"BOOK_CHANGED": "\n".join(changed)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
    )
    output = re.sub(r"\x1b\[[\d;]*m", "", done.stdout)
    BUILD.mkdir(exist_ok=True)
    (BUILD / "build.log").write_text(output, encoding="utf-8")
    if done.returncode:
        lines = re.findall(r".*(?:WARNING|ERROR|CRITICAL|Error):.*", output)
        print(*dict.fromkeys(lines), sep="\n", file=sys.stderr)
        sys.exit("The book was not built: mend the above; all is in _build/build.log")
    if missing := missing_pages():
        sys.exit(f"Named in _toc.yml, but not built: {', '.join(missing)}")


def main(*, whole: bool) -> None:
    """Build the book if anything it is made from has changed."""
    os.chdir(ROOT)
    stamp = BUILD / STAMP
    last = json.loads(stamp.read_text(encoding="utf-8")) if stamp.exists() else {}
    wanted, known = built_from(), last.get("files", {})
    changed = {name for name, _ in wanted.items() ^ known.items()}
    complete = (BUILD / "notebooks").is_dir() and not missing_pages()
    if complete and not changed and (last["whole"] or not whole):
        print("The book is up to date.")
    else:
        whole = whole or not complete or not all(map(ONE_PAGE.fullmatch, changed))
        build(set() if whole else changed)
        import reader_notebooks  # slow, and not needed for what is up to date

        try:
            reader_notebooks.write(ROOT)
        except ValueError as error:
            sys.exit(f"The readers' notebooks were not made: {error}")
        written = json.dumps({"whole": whole, "files": wanted})
        stamp.write_text(written, encoding="utf-8")
    print(f"Open {(HTML / 'index.html').as_uri()}")


if __name__ == "__main__":
    try:
        main(whole="--whole" in sys.argv)
    except KeyboardInterrupt:
        sys.exit("\nInterrupted. The same command builds the book afresh.")
