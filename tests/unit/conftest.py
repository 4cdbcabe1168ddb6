"""Fixtures that the tests of several chapters share."""

import json
from types import SimpleNamespace

import matplotlib as mpl
import matplotlib.pyplot as plt
import pytest
from small_runs import LOG_EVERY, small_config, write_texts

from attnbook.core import results
from attnbook.course.kit.style import SETTINGS
from attnbook.data import multi30k
from attnbook.translation import trainer as trainer_module
from attnbook.translation.report import write_results
from attnbook.translation.trainer import Trainer


@pytest.fixture(scope="session", autouse=True)
def frequent_log():
    """Runs in the tests are short, and so are the parts between lines of their logs.

    A state is due at each line, so that no test depends on the clock.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trainer_module, "LOG_EVERY", LOG_EVERY)
        patch.setattr(trainer_module, "SAVE_SECONDS", 0)
        yield


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


@pytest.fixture
def requires_data():
    """Multi30k on this machine; nothing is downloaded for a test."""
    if not multi30k.available(multi30k.LANGUAGES):
        pytest.skip("Multi30k is not on this machine: set ATTNBOOK_DATA")


@pytest.fixture(scope="session")
def finished_run(tmp_path_factory):
    """A run of the small config, trained and reported; nothing may change it."""
    folder = tmp_path_factory.mktemp("finished")
    config = small_config(write_texts(folder / "texts"))
    trainer = Trainer(config, folder / "run")
    trainer.train()
    results = write_results(trainer)
    output = json.loads(
        (folder / "run" / "hypotheses.json").read_text(encoding="utf-8")
    )
    return SimpleNamespace(
        folder=folder / "run",
        config=config,
        results=results,
        hypotheses=output,
        updates=trainer.step,
    )
