"""Which browser the page tests take."""

import shutil
from types import SimpleNamespace

import pytest

from browser import find_browser

PLAYWRIGHT = SimpleNamespace(chromium=SimpleNamespace(executable_path="/downloaded"))


@pytest.fixture
def found(monkeypatch):
    """A function that says which is found if only the given programs are installed."""

    def find(*installed, chosen=""):
        monkeypatch.setenv("BOOK_BROWSER", chosen)
        programs = {name: name for name in installed}
        monkeypatch.setattr(shutil, "which", programs.get)
        return find_browser(PLAYWRIGHT)

    return find


def test_takes_the_chosen_one_then_the_first_installed(found):
    assert found("my-browser", "chromium", chosen="my-browser") == "my-browser"
    assert found("google-chrome", "chromium") == "chromium"
    assert found("/downloaded", "google-chrome") == "google-chrome"
    assert found("/downloaded") == "/downloaded"
    assert found() is None


def test_a_chosen_one_must_exist(found):
    with pytest.raises(ValueError, match="BOOK_BROWSER is 'gone', which is no program"):
        found("chromium", chosen="gone")
