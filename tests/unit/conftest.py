"""Fixtures that the tests of several chapters share."""

import json

import matplotlib as mpl
import matplotlib.pyplot as plt
import pytest

from attnbook import results
from attnbook.book.style import SETTINGS


@pytest.fixture
def as_in_the_pages():
    """Figures in the style of the pages; all are closed afterwards."""
    with mpl.rc_context(SETTINGS):
        yield
    plt.close("all")


@pytest.fixture
def stored(tmp_path, monkeypatch):
    """A folder in which a test puts results of its own."""
    monkeypatch.setattr(results, "FOLDER", tmp_path)

    def put(name, **values):
        (tmp_path / f"{name}.json").write_text(json.dumps(values), encoding="utf-8")

    return put
