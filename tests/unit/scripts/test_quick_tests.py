"""`make quick`: which tests it chooses for which changes."""

import subprocess

import pytest

import quick_tests
from quick_tests import ALWAYS, ROOT, changed_files, chosen, named

TREE = {
    "code/attnbook/nn/masks.py": "",
    "code/attnbook/toy/tasks.py": "",
    "code/attnbook/stored/models/toy_a/weights": "",
    "code/attnbook/stored/results/one_a.json": "",
    "code/attnbook/stored/results/two.json": "",
    "code/attnbook/stored/results/three.json": "",
    "code/attnbook/course/ch01/experiment_one.py": 'run(f"one_{kind}")\n',
    "code/attnbook/course/ch01/figures.py": 'load("two")\n',
    "code/attnbook/course/ch01/part_one.py": "",
    "code/attnbook/course/ch01/widget_w.js": "",
    "code/attnbook/course/ch02/lab.py": "def two():\n    return 2\n",
    "code/attnbook/course/kit/curves.py": "",
    "tests/unit/compare.py": "",
    "tests/unit/nn/test_masks.py": "from attnbook.nn.masks import causal_mask\n",
    "tests/unit/nn/test_scores.py": "from compare import close\n",
    "tests/unit/toy/test_tasks.py": "from attnbook.toy import tasks\n",
    "tests/unit/toy/test_data.py": "def test():\n    import attnbook.nn.masks\n",
    "tests/unit/toy/test_toy_a.py": 'load("toy_a")\nload("three")\n',
    "tests/unit/course/ch01/test_ch01.py": "",
    "tests/unit/course/ch02/test_ch02.py": "from attnbook.nn.masks import key_mask\n",
    "tests/unit/course/ch02/test_lab02.py": "import attnbook.course.kit.curves\n",
    "tests/unit/course/kit/test_curves.py": "",
    "tests/unit/course/kit/test_parts.py": "",
    "tests/unit/course/kit/test_scripts.py": "",
    "tests/house/test_build.py": "import build_book\n",
    "tests/house/test_links.py": "import build_book\n",
    "tests/unit/extensions/test_folds.py": 'load("folds")\nrun("lab.py")\n',
    "tests/pages/test_pages.py": "from build_book import HTML\n",
    "book/ch01_a.ipynb": "{}",
    "book/ch02_b.ipynb": "{}",
    "book/lab01_a.ipynb": "{}",
    "book/lab02_b.ipynb": "{}",
    **dict.fromkeys(ALWAYS, ""),
}
MASKS = ["unit/course/ch02/test_ch02", "unit/nn/test_masks", "unit/nn/test_scores"]
COURSE, RESULTS = "code/attnbook/course", "code/attnbook/stored/results"


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
        (["code/attnbook/nn/masks.py"], [*MASKS, "unit/toy/test_data"]),
        (["code/attnbook/nn/__init__.py"], MASKS[1:]),
        (
            ["code/attnbook/toy/tasks.py"],
            [f"unit/toy/test_{name}" for name in ("data", "tasks", "toy_a")],
        ),
        (["code/attnbook/stored/models/toy_a/weights"], ["unit/toy/test_toy_a"]),
        ([f"{COURSE}/ch01/figures.py"], ["unit/course/ch01"]),
        ([f"{COURSE}/ch01/part_one.py"], ["unit/course/ch01", "kit/test_parts"]),
        ([f"{COURSE}/ch01/widget_w.js"], ["unit/course/ch01", "kit/test_scripts"]),
        ([f"{COURSE}/kit/curves.py"], ["unit/course/ch02/test_lab02", "kit"]),
        ([f"{COURSE}/kit/curves.js"], ["unit/course/ch02/test_lab02", "kit"]),
        ([f"{RESULTS}/one_a.json"], ["unit/course/ch01"]),
        ([f"{RESULTS}/two.json"], ["unit/course/ch01", "unit/course/ch02"]),
        ([f"{RESULTS}/three.json"], ["unit/toy/test_toy_a"]),
        (["tests/unit/compare.py"], ["unit/nn/test_scores"]),
        (["tests/unit/nn/test_masks.py"], ["unit/nn/test_masks"]),
        (["tests/unit/nn/test_gone.py"], []),
        (["scripts/build_book.py"], ["house/test_links"]),  # the other one builds
        (["book/_ext/folds.py", "scripts/lab.py"], ["unit/extensions/test_folds"]),
        (["tests/house/test_build.py"], ["house/test_build"]),
        (["tests/pages/test_pages.py", "book/gone.ipynb"], []),
    ],
)
def test_a_change_chooses_its_tests(tree, changed, tests):
    found = [name for name in chosen(changed, tree) if ".ipynb" not in name]
    found = [name for name in found if "test_notebooks.py::" not in name]
    names = [f"unit/course/{t}" if t.startswith("kit") else t for t in tests]
    names = [t if (tree / "tests" / t).is_dir() else f"{t}.py" for t in names]
    assert found == sorted([*ALWAYS, *(f"tests/{name}" for name in names)])


@pytest.mark.parametrize(
    ("changed", "names"),
    [
        (["book/lab01_a.ipynb"], ["lab01_a"]),
        ([f"{COURSE}/ch01/figures.py"], ["ch01_a"]),
        ([f"{COURSE}/ch02/lab.py"], ["lab02_b"]),
        ([f"{COURSE}/ch01/experiment_one.py"], ["ch01_a", "lab01_a"]),
        ([f"{RESULTS}/two.json"], ["ch01_a", "lab02_b"]),
        ([f"{COURSE}/kit/curves.py", f"{COURSE}/__init__.py"], []),
        (
            ["book/lab02_b.ipynb", f"{COURSE}/ch01/lab.py", f"{COURSE}/ch02/a.py"],
            ["lab02_b", "ch02_b", "lab01_a"],
        ),
    ],
)
def test_its_notebooks_are_checked_and_two_of_them_are_run(tree, changed, names):
    found = chosen(changed, tree)
    stored = "tests/house/test_notebooks.py::test_stored_notebook"
    checks = [name for name in found if stored in name]
    assert checks == sorted(f"{stored}[{name}]" for name in names)
    run = [f"book/{name}.ipynb" for name in names[:2]]
    assert [name for name in found if name.endswith("ipynb")] == run
    assert found[: len(run)] == run


def test_what_a_test_imports_is_found_wherever_it_stands(tree):
    assert "attnbook.nn.masks" in named(tree / "tests/unit/toy/test_data.py")[0]
    found = named(tree / "tests/unit/toy/test_tasks.py")[0]
    assert found == {"attnbook.toy", "attnbook.toy.tasks"}


def test_every_module_script_and_result_of_the_course_has_its_tests():
    """Those that are found by lists or by forms of their names, too."""
    course = [
        path for path in (ROOT / COURSE).glob("*/**/*.*") if path.suffix != ".pyc"
    ]
    for path in [*course, *(ROOT / RESULTS).glob("*.json")]:
        name = path.relative_to(ROOT).as_posix()
        assert {*chosen([name])} - {*ALWAYS}, name


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
    (tree / "book/ch01_a.ipynb").write_text("{ }")
    ask("commit", "--all", "--message=two")
    return ask


def test_changed_is_the_last_commit_and_what_is_not_committed(tree, git):
    assert changed_files() == ["book/ch01_a.ipynb"]
    (tree / "code/attnbook/nn/masks.py").write_text("x = 1\n")
    (tree / "tests/unit/new file.py").touch()
    (tree / "tests/unit/compare.py").unlink()
    git("add", "tests")
    assert changed_files() == [
        *("book/ch01_a.ipynb", "code/attnbook/nn/masks.py"),
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
