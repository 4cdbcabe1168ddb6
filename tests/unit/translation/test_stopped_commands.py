"""`attnbook train`, stopped by signals as they come: nothing is lost."""

import hashlib
import signal
import subprocess
import sys

import pytest
from small_runs import lines_of, small_config, write_texts

from attnbook.core.signals import Ended
from attnbook.translation import command_line
from attnbook.translation.configs import to_json
from attnbook.translation.report import finish
from attnbook.translation.train_command import duration, train, train_until_asked
from attnbook.translation.trainer import Trainer
from attnbook.translation.training_state import read_state

STOPPED = """
import os, runpy, sys
from attnbook.translation.trainer import Trainer

number, update, step = int(sys.argv.pop(1)), int(sys.argv.pop(1)), Trainer._update

def stopping(trainer, group):
    if trainer.step + 1 == update:
        os.kill(os.getpid(), number)
    return step(trainer, group)

Trainer._update = stopping
runpy.run_module("attnbook", run_name="__main__")
"""
"""A training that gets a signal just before an update."""

STOP = ("stopped", True)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return write_texts(tmp_path_factory.mktemp("texts"))


@pytest.fixture
def config_file(data, tmp_path):
    """The small config without a state but those of epochs and of signals."""
    path = tmp_path / "mine.json"
    path.write_text(to_json(small_config(data, save_minutes=1e9)))
    return path


def hash_of(folder):
    weights = folder / "model" / "weights.safetensors"
    return hashlib.sha256(weights.read_bytes()).hexdigest()


def test_signals_in_a_row_lose_nothing(data, config_file, tmp_path, capsys):
    """Asked to end, it saves the update that it is at; killed, it repeats some."""
    run = tmp_path / "run"
    arguments = ["--config", str(config_file), "--out", str(run)]
    kept = 0
    for number, update in (
        (signal.SIGINT, 6),
        (signal.SIGKILL, 10),
        (signal.SIGTERM, 15),
    ):
        program = [sys.executable, "-c", STOPPED, str(int(number)), str(update)]
        shown = subprocess.run(
            [*program, "train", *arguments], capture_output=True, encoding="utf-8"
        )
        if number == signal.SIGKILL:
            assert shown.returncode == -number
        else:
            assert shown.returncode == 128 + number, shown.stderr
            words = f"stopped; the same command resumes the run in {run}"
            assert shown.stderr.strip().split("\n")[-1] == words
            assert "Traceback" not in shown.stderr
            kept = update
        assert read_state(run / "last.safetensors")[1]["step"] == kept
    command_line.main(["train", *arguments])
    assert f"{run}: resumes after update 15" in capsys.readouterr().out
    whole = Trainer(small_config(data), tmp_path / "whole")
    whole.train(bar=False)
    finish(whole)
    assert hash_of(run) == hash_of(whole.folder)
    validation = [
        [line for line in lines_of(folder) if "validation_loss" in line]
        for folder in (run, whole.folder)
    ]
    assert validation[0] == validation[1]


def test_ctrl_c_reaches_each_of_several_processes_twice(data, tmp_path, monkeypatch):
    """By the terminal, and by torchrun: the state is saved all the same."""

    def twice(trainer):
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
        trainer.stopped = trainer.stop_requested

    def train_with(processes):
        trainer = Trainer(small_config(data), tmp_path / "run")
        monkeypatch.setattr(Trainer, "train", twice)
        trainer.processes.world = processes
        with pytest.raises(Ended):
            train_until_asked(trainer)
        return trainer.stopped

    assert train_with(2)
    assert not train_with(1)


def test_a_second_signal_ends_at_once(data, tmp_path, monkeypatch):
    step, folder = Trainer._update, tmp_path / "run"

    def twice(trainer, group):
        loss = step(trainer, group)
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGTERM)
        return loss

    monkeypatch.setattr(Trainer, "_update", twice)
    with pytest.raises(Ended) as end:
        train(small_config(data), folder)
    assert end.value.number == signal.SIGTERM
    assert not (folder / "last.safetensors").exists()
    assert isinstance(end.value, KeyboardInterrupt)  # as a notebook expects it


def test_a_stop_leaves_the_folder(data, tmp_path, monkeypatch):
    closed, close = [], Trainer.close

    def stop(trainer):
        signal.raise_signal(signal.SIGTERM)
        trainer.stopped = trainer.stop_requested

    monkeypatch.setattr(Trainer, "train", stop)
    monkeypatch.setattr(Trainer, "close", lambda t: (closed.append(t.step), close(t)))
    with pytest.raises(Ended):
        train(small_config(data), tmp_path / "run")
    assert closed == [0]


def test_a_signal_to_another_process_stops_this_one_too(data, tmp_path, monkeypatch):
    monkeypatch.setattr(Trainer, "train", lambda trainer: setattr(trainer, *STOP))
    with pytest.raises(Ended) as end:
        train(small_config(data), tmp_path / "run")
    assert end.value.number == signal.SIGTERM


def test_timing_a_few_updates_changes_nothing(data, tmp_path):
    one, other = (
        Trainer(small_config(data, max_epochs=1), tmp_path / name) for name in "ab"
    )
    assert one.seconds_per_update() > 0
    for trainer in (one, other):
        trainer.train(bar=False)
    assert lines_of(one.folder) == lines_of(other.folder)


def test_the_time_is_that_of_the_updates_left(data, tmp_path):
    """By a clock that moves a second at each look."""
    ticks = iter(range(100))
    trainer = Trainer(small_config(data), tmp_path / "run", lambda: next(ticks))
    assert trainer.updates_left() == 26
    assert trainer.seconds_per_update() == 1
    trainer.step = 20
    assert trainer.updates_left() == 6


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.2, "1 second"),
        (45.4, "45 seconds"),
        (119, "119 seconds"),
        (121, "2 minutes"),
        (7199, "120 minutes"),
        (7300, "2 hours"),
        (86400, "24 hours"),
    ],
)
def test_a_time_is_told_in_the_unit_that_suits(seconds, words):
    assert duration(seconds) == words
