"""Put the readers' notebooks on a branch, from which Colab and Binder open them.

    python scripts/publish_notebooks.py REMOTE      after `make book`

The branch `notebooks` of the remote is then the present commit, with the readers'
notebooks in place of the book's. The working tree stays as it is.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BRANCH = "notebooks"


def publish(root: Path, remote: str) -> None:
    """Push the notebooks of a built book.

    Args:
        root: Working tree, with a built book.
        remote: Name or address of the repository that is pushed to.

    Raises:
        ValueError: If the book is not built.
    """
    notebooks = sorted((root / "_build" / "notebooks").glob("*.ipynb"))
    if not notebooks:
        raise ValueError("there are no notebooks in _build/notebooks: run `make book`")
    with tempfile.TemporaryDirectory() as folder:
        index = os.environ | {"GIT_INDEX_FILE": str(Path(folder) / "index")}

        def git(*arguments: str) -> str:
            command = ["git", *arguments]
            shown = subprocess.run(
                command, cwd=root, env=index, check=True, stdout=subprocess.PIPE
            )
            return shown.stdout.decode().strip()

        git("read-tree", "HEAD")
        for path in notebooks:
            blob = git("hash-object", "-w", "--no-filters", str(path))
            entry = f"100644,{blob},book/{path.name}"
            git("update-index", "--add", "--cacheinfo", entry)
        author = git("log", "-1", "--format=%an"), git("log", "-1", "--format=%ae")
        for role in ("AUTHOR", "COMMITTER"):
            index[f"GIT_{role}_NAME"], index[f"GIT_{role}_EMAIL"] = author
        message = f"The readers' notebooks of {git('rev-parse', '--short', 'HEAD')}"
        commit = git("commit-tree", git("write-tree"), "-p", "HEAD", "-m", message)
        git("push", "--force", remote, f"{commit}:refs/heads/{BRANCH}")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("Say where to: python scripts/publish_notebooks.py REMOTE")
    try:
        publish(ROOT, sys.argv[1])
    except ValueError as error:
        sys.exit(str(error))
