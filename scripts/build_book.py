"""Build the HTML book from the stored outputs, unless it is up to date.

Warnings are errors, and every page of the table of contents must be there in the end.
The notebooks that readers open are made with it.
"""

import hashlib
import os
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import yaml

import progress
import reader_notebooks

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / "_build"
HTML = BUILD / "html"
LOG = BUILD / "build.log"
STAMP = BUILD / "built-from"

COMMAND = [
    str(Path(sys.executable).with_name("jupyter-book")),
    *("build", ".", "-W", "-n", "--keep-going"),
]

SOURCE_FOLDERS = ("book", "code")
SOURCE_FILES = (
    *("_config.yml", "_toc.yml", "requirements.txt", "REPOSITORY"),
    # What the readers' notebooks are made by.
    *("scripts/plain_markdown.py", "scripts/reader_notebooks.py"),
    *("scripts/run_notebooks.py", "scripts/notebook_checks.py"),
)
IGNORED = {"__pycache__", ".ipynb_checkpoints"}
# What the addresses of the launch buttons are made from.
VARIABLES = ("BOOK_REPOSITORY", "GITHUB_REPOSITORY")


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


def built_from() -> str:
    """A digest of all that the book is made from.

    Contents rather than times: a fresh clone or a changed branch gives every file a new
    time, and an unchanged book need not be built again for that.
    """
    digest = hashlib.sha256()
    for path in sources():
        digest.update(f"{path.relative_to(ROOT)}\n".encode())
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    for name in VARIABLES:
        digest.update(f"{name}={os.environ.get(name, '')}\n".encode())
    return digest.hexdigest()


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


def build() -> None:
    """Build from nothing: what an earlier build left behind can hide a warning."""
    shutil.rmtree(BUILD / "html", ignore_errors=True)
    shutil.rmtree(BUILD / ".doctrees", ignore_errors=True)
    STAMP.unlink(missing_ok=True)

    def status(line: str) -> str | None:
        found = re.match(r"(reading sources|writing output)\.+ \[ *(\d+)%\]", line)
        return f"{found[1]}, {found[2]} %" if found else None

    code, output = progress.run(COMMAND, "Building the book", status)
    BUILD.mkdir(exist_ok=True)
    LOG.write_text(output, encoding="utf-8")
    if "No space left on device" in output:
        sys.exit(f"The disk is full: the book needs 50 MB in {BUILD}. Free some.")
    if code:
        lines = re.findall(r".*(?:WARNING|ERROR|CRITICAL|Error):.*", output)
        print(*dict.fromkeys(lines), sep="\n", file=sys.stderr)
        sys.exit(f"The book was not built: mend the above. All of the output: {LOG}")


def main() -> None:
    """Build the book if anything it is made from has changed."""
    os.chdir(ROOT)
    wanted = built_from()
    complete = (BUILD / "notebooks").is_dir() and not missing_pages()
    if complete and STAMP.exists() and STAMP.read_text() == wanted:
        print("The book is up to date.")
    else:
        build()
        if missing := missing_pages():
            sys.exit(f"Named in _toc.yml, but not built: {', '.join(missing)}")
        try:
            reader_notebooks.write(ROOT)
        except ValueError as error:
            sys.exit(f"The readers' notebooks were not made: {error}")
        STAMP.write_text(wanted)
    print(f"Open {(HTML / 'index.html').as_uri()}")


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit("\nInterrupted. The same command builds the book afresh.")
