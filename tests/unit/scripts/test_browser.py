"""Which browser the page tests take."""

import shutil
from types import SimpleNamespace

import pytest
from playwright.sync_api import Error

from browser import launch


@pytest.fixture
def started(monkeypatch):
    """A function that says which starts if only the given ones do."""

    def start(*good, chosen=""):
        monkeypatch.setenv("BOOK_BROWSER", chosen)
        monkeypatch.setattr(
            shutil, "which", lambda name: (name in good and name) or None
        )

        def try_one(args, timeout, executable_path="", channel="", downloaded="own"):
            name = executable_path or channel or downloaded
            if name not in good:
                raise Error("does not start")
            return name

        return launch(SimpleNamespace(chromium=SimpleNamespace(launch=try_one)))

    return start


def test_takes_the_chosen_one_then_the_first_that_starts(started):
    assert started("my-browser", "chromium", chosen="my-browser") == "my-browser"
    assert started("google-chrome", "chromium", "own") == "chromium"
    assert started("own", "msedge") == "msedge"
    assert started("own") == "own"
    assert started() is None


def test_a_chosen_one_must_exist(started):
    with pytest.raises(ValueError, match="BOOK_BROWSER is 'gone', which is no program"):
        started("chromium", chosen="gone")
