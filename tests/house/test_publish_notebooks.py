"""The branch from which Colab and Binder open the readers' notebooks."""

import subprocess

import pytest

from publish_notebooks import publish


def git(folder, *arguments):
    identity = ["-c", "user.name=An Author", "-c", "user.email=a@example.org"]
    command = ["git", *identity, *arguments]
    shown = subprocess.run(command, cwd=folder, check=True, capture_output=True)
    return shown.stdout.decode().strip()


@pytest.fixture
def tree(tmp_path):
    """A working tree with a built book, and a remote."""
    tree = tmp_path / "tree"
    (tree / "book").mkdir(parents=True)
    (tree / "book" / "ch01.ipynb").write_text("the book's")
    (tree / ".gitignore").write_text("_build/\n")
    git(tree, "init", "--quiet")
    git(tree, "add", ".")
    git(tree, "commit", "--quiet", "-m", "A book")
    (tree / "_build" / "notebooks").mkdir(parents=True)
    for name in ("ch01", "glossary"):
        (tree / "_build" / "notebooks" / f"{name}.ipynb").write_text("the reader's")
    git(tmp_path, "init", "--quiet", "--bare", "remote")
    return tree


def published(tree):
    remote = tree.parent / "remote"
    files = git(remote, "ls-tree", "-r", "--name-only", "notebooks").splitlines()
    return {name: git(remote, "show", f"notebooks:{name}") for name in files}


def test_the_branch_holds_the_readers_notebooks_and_all_the_rest(tree):
    publish(tree, str(tree.parent / "remote"))
    assert published(tree) == {
        ".gitignore": "_build/",
        "book/ch01.ipynb": "the reader's",
        "book/glossary.ipynb": "the reader's",
    }


def test_the_working_tree_stays_as_it_is(tree):
    publish(tree, str(tree.parent / "remote"))
    assert git(tree, "status", "--porcelain") == ""
    assert (tree / "book" / "ch01.ipynb").read_text() == "the book's"
    assert git(tree, "rev-list", "--count", "HEAD") == "1"


def test_a_second_publication_replaces_the_first(tree):
    publish(tree, str(tree.parent / "remote"))
    (tree / "_build" / "notebooks" / "glossary.ipynb").unlink()
    (tree / "_build" / "notebooks" / "ch01.ipynb").write_text("newer")
    publish(tree, str(tree.parent / "remote"))
    assert published(tree)["book/ch01.ipynb"] == "newer"
    assert "book/glossary.ipynb" not in published(tree)
    remote = tree.parent / "remote"
    assert git(remote, "rev-list", "--count", "notebooks") == "2"


def test_without_a_built_book_it_says_what_to_do(tmp_path):
    with pytest.raises(ValueError, match="run `make book`"):
        publish(tmp_path, "origin")
