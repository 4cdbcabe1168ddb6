"""What chapter 11's experiments measure, at small size."""

import pytest
import torch
from small_runs import small_config, write_texts

from attnbook.translation.run_folder import LOG, append_metrics
from attnbook.translation.trainer import Trainer
from experiments import ch11, ch11_minutes


def test_the_symbol_to_look_for_is_moved_to_the_front():
    ids, targets = torch.tensor([[3, 1, 2, 3], [5, 6, 4, 6]]), torch.tensor([[1], [4]])
    moved, same = ch11.query_first((ids, targets))
    assert moved.tolist() == [[3, 3, 1, 2], [6, 5, 6, 4]]
    assert torch.equal(same, targets)


@pytest.fixture
def trainer(tmp_path):
    """A training run that hasn't begun."""
    run = small_config(write_texts(tmp_path / "texts"), seed=3)
    trainer = Trainer(run, tmp_path / "run", "cpu")
    yield trainer
    trainer.close()


def test_a_run_is_read_by_epoch_finished_or_not(trainer, monkeypatch):
    lines = [{"loss": 5.0}, {"validation_loss": 2.00004, "validation_bleu": 3.333}]
    for step, line in enumerate(lines):
        append_metrics(trainer.folder / LOG, {"step": step} | line)
    monkeypatch.setenv("ATTNBOOK_RUN", str(trainer.folder))
    found = ch11_minutes.five_by_epoch()
    [run] = found["runs"]
    assert (run["model"], run["seed"]) == ("transformer", 3)
    assert (run["loss"], run["bleu"]) == ([2.0], [3.33])
    assert found["tokens"] == sum(len(p.target) + 1 for p in trainer.train_pairs)


def test_without_a_run_nothing_is_read(monkeypatch):
    monkeypatch.delenv("ATTNBOOK_RUN", raising=False)
    with pytest.raises(ValueError, match="set ATTNBOOK_RUN to folders of runs"):
        ch11_minutes.five_by_epoch()


def test_updates_are_timed_but_the_first(trainer):
    updates = trainer.updates_of(0)[:3]
    assert ch11_minutes.speed(trainer, updates) > 0
    assert trainer.step == 3
