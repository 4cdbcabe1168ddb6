"""What stored results say of their making."""

import re
import subprocess

from attnbook.core import results


def test_the_commit_is_that_of_the_repository_that_tracks_the_code(
    tmp_path, monkeypatch
):
    """Changes count in all of its Python, and in nothing else."""

    def git(*arguments):
        who = ("-c", "user.name=A", "-c", "user.email=a@b.c")
        command = ["git", "-C", str(tmp_path), *who, *arguments]
        subprocess.run(command, check=True, capture_output=True)

    file = tmp_path / "results.py"
    file.write_text("1\n")
    monkeypatch.setattr(results, "__file__", str(file))
    assert results.commit() == "unknown"
    git("init", "--quiet")
    git("commit", "--quiet", "--allow-empty", "--message=of something else")
    assert results.commit() == "unknown"
    git("add", "results.py")
    git("commit", "--quiet", "--message=of the code")
    assert re.fullmatch("[0-9a-f]{7,}", results.commit())
    (tmp_path / "result.json").write_text("{}")
    assert "dirty" not in results.commit()
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "run.py").write_text("1\n")
    assert results.commit().endswith("-dirty")
    (tmp_path / "new" / "run.py").unlink()
    file.write_text("2\n")
    assert results.commit().endswith("-dirty")
