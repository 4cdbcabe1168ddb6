"""`make book`: when it builds, and when it refuses."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import build_book
import progress

ROOT = Path(__file__).resolve().parents[2]
CONTENTS = """\
format: jb-book
root: book/intro
parts:
  - chapters:
      - file: book/one
        sections:
          - file: book/two
"""


@pytest.fixture
def book(tmp_path, monkeypatch):
    """A small book in a folder of its own."""
    files = {
        "_config.yml": "title: Small\nonly_build_toc_files: true\n",
        "_toc.yml": CONTENTS,
        "requirements.txt": "",
        "REPOSITORY": "",
        "book/intro.md": "# Small\n\n[To page one](one.md)\n",
        "book/one.md": "# One\n",
        "book/two.md": "# Two\n",
        "code/module.py": "",
        "scripts/plain_markdown.py": "",
        "scripts/reader_notebooks.py": "",
        "scripts/run_notebooks.py": "",
        "scripts/notebook_checks.py": "",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    build = tmp_path / "_build"
    monkeypatch.setattr(build_book, "ROOT", tmp_path)
    monkeypatch.setattr(build_book, "BUILD", build)
    monkeypatch.setattr(build_book, "HTML", build / "html")
    monkeypatch.setattr(build_book, "LOG", build / "build.log")
    monkeypatch.setattr(build_book, "STAMP", build / "built-from")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def pretend(book, monkeypatch):
    """Instead of building, write the named pages."""

    def pretend(*pages: str, code: int = 0, output: str = "") -> None:
        def run(*arguments):
            for page in pages:
                path = build_book.HTML / f"{page}.html"
                path.parent.mkdir(parents=True, exist_ok=True)
                path.touch()
            build_book.BUILD.mkdir(exist_ok=True)
            found = {"site": "", "pages": {}}
            (build_book.BUILD / "references.json").write_text(json.dumps(found))
            return code, output

        monkeypatch.setattr(progress, "run", run)

    return pretend


ALL = ("book/intro", "book/one", "book/two")


def test_says_where_to_open_it(pretend, capsys):
    pretend(*ALL)
    build_book.main()
    assert (
        f"Open {(build_book.HTML / 'index.html').as_uri()}" in capsys.readouterr().out
    )


def test_refuses_a_dead_link(book, capfd):
    (book / "book" / "two.md").write_text("# Two\n\n[Nowhere](nowhere.md)\n")
    with pytest.raises(SystemExit, match="mend the above"):
        build_book.main()
    assert "two.md:3: WARNING: " in capfd.readouterr().err
    assert not build_book.STAMP.exists()


def test_refuses_a_missing_page(pretend):
    pretend("book/intro", "book/one")
    with pytest.raises(
        SystemExit, match=r"Named in _toc\.yml, but not built: book/two"
    ):
        build_book.main()
    assert not build_book.STAMP.exists()


def test_says_when_the_disk_is_full(pretend):
    pretend(code=1, output="OSError: [Errno 28] No space left on device")
    with pytest.raises(SystemExit, match="The disk is full"):
        build_book.main()


def test_does_nothing_twice(pretend, capsys):
    pretend(*ALL)
    build_book.main()
    pretend(code=1)  # would fail
    build_book.main()
    assert "up to date" in capsys.readouterr().out


@pytest.mark.parametrize(
    "change",
    [
        *("book/one.md", "code/module.py", "_config.yml", "REPOSITORY", "new", "env"),
        *("scripts/plain_markdown.py", "scripts/run_notebooks.py"),
    ],
)
def test_builds_again_after_a_change(pretend, book, change, capsys, monkeypatch):
    pretend(*ALL)
    build_book.main()
    if change == "new":
        (book / "book" / "picture.svg").touch()
    elif change == "env":
        monkeypatch.setenv("BOOK_REPOSITORY", "an-owner/a-name")
    else:
        (book / change).write_text("changed")
    build_book.main()
    assert "up to date" not in capsys.readouterr().out


@pytest.mark.parametrize("lost", ["html/book/one.html", "notebooks"])
def test_builds_again_what_was_lost(pretend, book, lost, capsys):
    pretend(*ALL)
    build_book.main()
    path = build_book.BUILD / lost
    path.rename(book / "elsewhere")
    build_book.main()
    assert "up to date" not in capsys.readouterr().out


def test_a_caches_change_is_none(pretend, book, capsys):
    pretend(*ALL)
    build_book.main()
    (book / "code" / "__pycache__").mkdir()
    (book / "code" / "__pycache__" / "module.pyc").touch()
    build_book.main()
    assert "up to date" in capsys.readouterr().out


def test_serving_a_book(tmp_path):
    script = ROOT / "scripts" / "serve_book.py"
    answer = subprocess.run(
        [sys.executable, script],
        env={"PORT": "many"},
        capture_output=True,
        text=True,
    )
    assert answer.returncode == 1
    assert answer.stderr == "PORT=many is no port: say a number such as 8000.\n"
