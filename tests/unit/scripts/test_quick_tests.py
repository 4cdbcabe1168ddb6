"""`make quick`: which tests it chooses for which changes."""

import subprocess

import pytest

import quick_tests
from quick_tests import ALWAYS, changed_files, chosen, imports

TREE = {
    "code/attnbook/nn/masks.py": "",
    "code/attnbook/toy/tasks.py": "",
    "code/attnbook/course/ch01/figures.py": "",
    "tests/unit/compare.py": "",
    "tests/unit/nn/test_masks.py": "from attnbook.nn.masks import causal_mask\n",
    "tests/unit/nn/test_scores.py": "from compare import close\n",
    "tests/unit/toy/test_tasks.py": "from attnbook.toy import tasks\n",
    "tests/unit/toy/test_data.py": "def test():\n    import attnbook.nn.masks\n",
    "tests/unit/course/test_ch01.py": "from attnbook.course.ch01 import figures\n",
    "tests/unit/course/test_ch02.py": "from attnbook.nn.masks import key_mask\n",
    "tests/house/test_build.py": "import build_book\n",
    "tests/house/test_links.py": "import build_book\n",
    "tests/unit/course/test_sphinx_setup.py": 'load("folds")\nrun("lab.py")\n',
    "tests/pages/test_pages.py": "from build_book import HTML\n",
    "book/ch01.ipynb": "{}",
}
MASKS = ["unit/nn/test_masks", "unit/toy/test_data", "unit/course/test_ch02"]


@pytest.fixture
def tree(tmp_path):
    for name, text in TREE.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.mark.parametrize(
    ("changed", "tests"),
    [
        ([], []),
        (["README.md", "book/_static/live/map.js"], []),
        (["code/attnbook/nn/masks.py"], [*MASKS, "unit/nn/test_scores"]),
        (
            ["code/attnbook/nn/__init__.py"],
            ["unit/nn/test_masks", "unit/nn/test_scores"],
        ),
        (["code/attnbook/toy/tasks.py"], ["unit/toy/test_tasks", "unit/toy/test_data"]),
        (["code/attnbook/course/ch01/figures.py"], ["unit/course/test_ch01"]),
        (["tests/unit/compare.py"], ["unit/nn/test_scores"]),
        (["tests/unit/course/test_ch01.py"], ["unit/course/test_ch01"]),
        (["tests/unit/course/test_gone.py"], []),
        (["scripts/build_book.py"], ["house/test_links"]),  # the other one builds
        (["book/_ext/folds.py"], ["unit/course/test_sphinx_setup"]),
        (["scripts/lab.py"], ["unit/course/test_sphinx_setup"]),
        (["tests/house/test_build.py"], ["house/test_build"]),
        (["tests/pages/test_pages.py"], []),
        (["book/gone.ipynb"], []),
    ],
)
def test_a_change_chooses_its_tests(tree, changed, tests):
    assert chosen(changed, tree) == sorted(
        [*ALWAYS, *(f"tests/{name}.py" for name in tests)]
    )


def test_a_notebook_is_checked_but_not_run(tree):
    (one,) = set(chosen(["book/ch01.ipynb"], tree)) - set(ALWAYS)
    assert one == "tests/house/test_notebooks.py::test_stored_notebook[ch01]"


def test_what_a_test_imports_is_found_wherever_it_stands(tree):
    assert imports(tree / "tests/unit/toy/test_data.py") == {"attnbook.nn.masks"}
    assert imports(tree / "tests/unit/toy/test_tasks.py") == {
        *("attnbook.toy", "attnbook.toy.tasks")
    }


@pytest.fixture
def git(tree, monkeypatch):
    """A function that asks git, in a repository of two commits."""
    monkeypatch.setattr(quick_tests, "ROOT", tree)
    me = ["-c", "user.name=Me", "-c", "user.email=me@example.org"]

    def ask(*arguments):
        command = ["git", *me, *arguments]
        subprocess.run(command, cwd=tree, check=True, capture_output=True)

    ask("init", "--initial-branch=main")
    ask("add", ".")
    ask("commit", "--message=one")
    (tree / "book/ch01.ipynb").write_text("{ }")
    ask("commit", "--all", "--message=two")
    return ask


def test_changed_is_the_last_commit_and_what_is_not_committed(tree, git):
    assert changed_files() == ["book/ch01.ipynb"]
    (tree / "code/attnbook/nn/masks.py").write_text("x = 1\n")
    (tree / "tests/unit/new file.py").touch()
    (tree / "tests/unit/compare.py").unlink()
    git("add", "tests")
    assert changed_files() == [
        *("book/ch01.ipynb", "code/attnbook/nn/masks.py"),
        *("tests/unit/compare.py", "tests/unit/new file.py"),
    ]


def test_changed_is_what_is_not_published(tree, git):
    git("update-ref", "refs/remotes/origin/main", "HEAD")
    assert changed_files() == []
    (tree / "code/attnbook/nn/masks.py").write_text("x = 1\n")
    git("commit", "--all", "--message=three")
    assert changed_files() == ["code/attnbook/nn/masks.py"]
    (tree / "code/attnbook/toy/tasks.py").write_text("x = 1\n")
    assert len(changed_files()) == 2
    # Others have published something else.
    git("checkout", "--detach", "HEAD~1")
    (tree / "tests/pages/test_pages.py").write_text("")
    git("commit", "--message=other", "tests/pages/test_pages.py")
    git("update-ref", "refs/remotes/origin/main", "HEAD")
    git("checkout", "main")
    assert len(changed_files()) == 2


def test_without_git_it_says_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setattr(quick_tests, "ROOT", tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    with pytest.raises(SystemExit, match="here is none: make test"):
        changed_files()
