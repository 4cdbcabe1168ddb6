"""A file is there whole or not at all."""

import errno
import os
from pathlib import Path

import pytest

from attnbook.core.files import write_whole


@pytest.mark.parametrize("content", ["Straße\n", b"\x00\xff"])
def test_text_and_bytes_are_written(tmp_path, content):
    path = tmp_path / "some.txt"
    path.write_text("old", encoding="utf-8")
    write_whole(path, content)
    wanted = content if isinstance(content, bytes) else content.encode()
    assert path.read_bytes() == wanted
    assert [*tmp_path.iterdir()] == [path]


def test_what_cannot_be_written_leaves_the_old_file_alone(tmp_path, monkeypatch):
    def full(_):
        raise OSError(errno.ENOSPC, "No space left on device")

    path = tmp_path / "some.txt"
    path.write_text("old", encoding="utf-8")
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        write_whole(path, "new")
    assert path.read_text(encoding="utf-8") == "old"
    assert [*tmp_path.iterdir()] == [path]


@pytest.mark.parametrize("when", ["written", "renamed"])
def test_an_interruption_leaves_nothing_behind(tmp_path, monkeypatch, when):
    def interrupt(*_):
        raise KeyboardInterrupt

    if when == "written":
        monkeypatch.setattr(os, "fsync", interrupt)
    else:
        monkeypatch.setattr("pathlib.Path.replace", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_whole(tmp_path / "some.txt", "new")
    assert [*tmp_path.iterdir()] == []


def test_it_is_on_the_disk_before_it_takes_the_name(tmp_path, monkeypatch):
    done, sync, replace = [], os.fsync, Path.replace
    monkeypatch.setattr(os, "fsync", lambda f: (done.append("sync"), sync(f)))
    monkeypatch.setattr(
        Path, "replace", lambda *names: (done.append("name"), replace(*names))
    )
    write_whole(tmp_path / "some.txt", "new")
    assert done == ["sync", "name"]
