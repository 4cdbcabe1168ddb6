"""`make book`: when it builds, and when it refuses."""

import json
import subprocess
from types import SimpleNamespace

import pytest

import build_book

CONTENTS = """\
format: jb-book
root: book/intro
parts:
  - chapters:
      - file: book/one
        sections:
          - file: book/two
"""
FILES = {
    "_config.yml": "title: Small\nonly_build_toc_files: true\n",
    "_toc.yml": CONTENTS,
    "book/intro.md": "# Small\n\n[To page one](one.md)\n",
    "book/one.md": "# One\n",
    "book/two.md": "# Two\n",
    "code/attnbook/module.py": "",
    **dict.fromkeys(build_book.SOURCES[4:], ""),
}
ALL = ("book/intro", "book/one", "book/two")


@pytest.fixture
def book(tmp_path, monkeypatch):
    """A small book in a folder of its own."""
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    build = tmp_path / "_build"
    for name, place in (("ROOT", tmp_path), ("BUILD", build), ("HTML", build / "html")):
        monkeypatch.setattr(build_book, name, place)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def pretend(book, monkeypatch):
    """Instead of building, write the named pages; return what was to be read anew."""
    asked = []

    def pretend(*pages: str, code: int = 0) -> list[str]:
        def run(*_, env, **__):
            asked.append(env["BOOK_CHANGED"])
            for page in pages:
                path = build_book.HTML / f"{page}.html"
                path.parent.mkdir(parents=True, exist_ok=True)
                path.touch()
            build_book.BUILD.mkdir(exist_ok=True)
            found = {"site": "", "pages": {}}
            (build_book.BUILD / "references.json").write_text(json.dumps(found))
            return SimpleNamespace(returncode=code, stdout="")

        monkeypatch.setattr(subprocess, "run", run)
        return asked

    return pretend


def test_refuses_a_dead_link(book, capfd):
    (book / "book" / "two.md").write_text("# Two\n\n[Nowhere](nowhere.md)\n")
    with pytest.raises(SystemExit, match="mend the above"):
        build_book.main(whole=False)
    assert "two.md:3: WARNING: " in capfd.readouterr().err
    assert not (build_book.BUILD / build_book.STAMP).exists()


def test_refuses_a_missing_page(pretend):
    pretend("book/intro", "book/one")
    told = r"Named in _toc\.yml, but not built: book/two"
    with pytest.raises(SystemExit, match=told):
        build_book.main(whole=False)
    assert not (build_book.BUILD / build_book.STAMP).exists()


@pytest.mark.parametrize("change", ["book/one.md", "code/attnbook/module.py"])
def test_reads_anew_what_changed_until_it_is_without_fault(pretend, book, change):
    asked = pretend(*ALL)
    build_book.main(whole=False)
    (book / change).write_text("changed")
    (book / "code" / "__pycache__").mkdir()
    (book / "code" / "__pycache__" / "module.pyc").touch()
    pretend(*ALL, code=1)
    for _ in range(2):
        with pytest.raises(SystemExit, match="mend the above"):
            build_book.main(whole=False)
    pretend(*ALL)
    build_book.main(whole=False)
    build_book.main(whole=False)  # is up to date
    build_book.main(whole=True)
    build_book.main(whole=True)  # is up to date
    assert asked == ["", change, change, change, ""]


@pytest.mark.parametrize(
    "change", ["_config.yml", "book/_ext/one.py", "scripts/reader_notebooks.py", "env"]
)
def test_builds_all_again_after_another_change(pretend, book, change, monkeypatch):
    asked = pretend(*ALL)
    build_book.main(whole=False)
    if change == "env":
        monkeypatch.setenv("BOOK_REPOSITORY", "an-owner/a-name")
    else:
        (book / change).parent.mkdir(exist_ok=True)
        (book / change).write_text("changed")
    left = build_book.HTML / "left.html"
    left.touch()
    build_book.main(whole=False)
    assert asked == ["", ""]
    assert not left.exists()


@pytest.mark.parametrize("lost", ["html/book/one.html", "notebooks"])
def test_builds_again_what_was_lost(pretend, book, lost, capsys):
    pretend(*ALL)
    build_book.main(whole=False)
    (build_book.BUILD / lost).rename(book / "elsewhere")
    build_book.main(whole=False)
    assert "up to date" not in capsys.readouterr().out
