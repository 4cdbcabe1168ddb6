"""Runs that are stopped, doubled or spoiled: nothing is lost, and all is told."""

import json
import subprocess
import sys

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from small_runs import LOG_EVERY, lines_of, small_config, write_texts

from attnbook.core import results
from attnbook.core.files import read_object
from attnbook.translation.run_folder import read_metrics
from attnbook.translation.trainer import PROGRESS, Trainer
from attnbook.translation.training_state import read_state

HOLD = """
import sys
from filelock import FileLock

with FileLock(sys.argv[1]):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return write_texts(tmp_path_factory.mktemp("texts"))


@pytest.fixture(scope="module")
def whole(data, tmp_path_factory):
    """A run that nobody stopped."""
    trainer = Trainer(small_config(data), tmp_path_factory.mktemp("whole"))
    trainer.train(bar=False)
    return trainer


def equal(one, other):
    pairs = zip(one.model.parameters(), other.model.parameters(), strict=True)
    return all(torch.equal(a, b) for a, b in pairs)


# One program in a folder


def test_a_folder_in_use_is_refused_and_free_once_its_user_is_killed(data, tmp_path):
    folder = tmp_path / "run"
    Trainer(small_config(data), folder).close()
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(folder / "lock")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert holder.stdout.readline() == "held\n"
    before = {p: p.read_bytes() for p in folder.glob("**/*") if p.is_file()}
    with pytest.raises(ValueError, match=r"another program trains in .*run; wait for"):
        Trainer(small_config(data), folder)
    assert {p: p.read_bytes() for p in folder.glob("**/*") if p.is_file()} == before
    holder.kill()
    holder.communicate()
    Trainer(small_config(data), folder).close()


def test_a_trainer_keeps_other_programs_out_until_it_is_closed(data, tmp_path):
    def taken():
        text = "import sys; from filelock import FileLock as F; F(sys.argv[1], 0)"
        command = [sys.executable, "-c", f"{text}.acquire()", tmp_path / "run" / "lock"]
        return subprocess.run(command, capture_output=True).returncode != 0

    one = Trainer(small_config(data), tmp_path / "run")
    other = Trainer(small_config(data), tmp_path / "run")  # as a notebook may do
    one.close()
    assert taken()
    other.close()
    assert not taken()


# States by the clock


class Clock:
    """A clock that stands still until a test moves it."""

    now = 0.0

    def __call__(self):
        return self.now


@pytest.mark.parametrize(
    ("minutes", "saved"),
    [(0, [4, 8, 12]), (4, [4, 8, 12]), (5, [8]), (8, [8]), (8.1, [12]), (1e9, [])],
)
def test_a_state_is_written_once_it_is_minutes_old(
    data, tmp_path, monkeypatch, minutes, saved
):
    """An update takes a minute; a state can be written at a line of the log."""
    update, save, steps, clock = Trainer._update, Trainer._save, [], Clock()

    def slow(trainer, group):
        clock.now += 60
        return update(trainer, group)

    def noted(trainer):
        steps.append(trainer.step)
        save(trainer)

    monkeypatch.setattr(Trainer, "_update", slow)
    monkeypatch.setattr(Trainer, "_save", noted)
    config = small_config(data, save_minutes=minutes, max_epochs=1)
    trainer = Trainer(config, tmp_path / "run", clock)
    trainer.train(bar=False)
    assert steps == [*saved, trainer.step]  # and one at the end of the epoch
    assert trainer.seconds == 60 * trainer.step


# Asked to stop


@pytest.mark.parametrize("update", [1, 4, 13])
def test_a_stopped_run_has_its_last_update_and_goes_on_from_there(
    whole, data, tmp_path, monkeypatch, update
):
    """Wherever it is stopped: in an epoch, at a line of the log, at an epoch's end."""
    per_epoch = len(whole.feed.groups(0))
    assert per_epoch == 13
    step = Trainer._update

    def stopping(trainer, group):
        loss = step(trainer, group)
        if trainer.step == update:
            trainer.stop()
        return loss

    config = small_config(data, save_minutes=1e9)
    with monkeypatch.context() as patch:
        patch.setattr(Trainer, "_update", stopping)
        trainer = Trainer(config, tmp_path / "run")
        trainer.train(bar=False)
    assert trainer.stopped
    assert not trainer.finished
    numbers = read_state(trainer.last)[1]
    assert numbers["step"] == update
    assert numbers["epoch"] == update // per_epoch
    again = Trainer(config, tmp_path / "run")
    assert again.step == update
    again.train(bar=False)
    assert again.finished
    assert not again.stopped
    assert equal(again, whole)
    logs = [
        [line["step"] for line in lines_of(t.folder) if "loss" in line]
        for t in (again, whole)
    ]
    assert logs[0] == sorted({*logs[1], update})


def test_a_run_of_several_processes_stops_where_all_know_it(
    data, tmp_path, monkeypatch
):
    """Here two that always agree: not before the next line of the log."""
    trainer = Trainer(small_config(data, save_minutes=1e9), tmp_path / "run")
    trainer.stop()
    step = Trainer._update

    def alone(trainer, group):
        trainer.processes.world = 1
        loss = step(trainer, group)
        trainer.processes.world = 2
        return loss

    monkeypatch.setattr(Trainer, "_update", alone)
    monkeypatch.setattr(trainer.processes, "sum", lambda numbers: numbers.tolist())
    monkeypatch.setattr(trainer.processes, "broadcast", lambda number: number)
    monkeypatch.setattr(trainer.processes, "wait", lambda: None)
    trainer.processes.world = 2
    trainer.train(bar=False)
    trainer.processes.world = 1
    assert (trainer.stopped, trainer.step) == (True, LOG_EVERY)


# Files of another kind


def change_numbers(path, **changes):
    """Write a state anew with other numbers; None leaves one out."""
    with safe_open(path, "pt") as file:
        numbers = json.loads(file.metadata()["state"]) | changes
    kept = {name: value for name, value in numbers.items() if value is not None}
    save_file(load_file(path), path, {"state": json.dumps(kept)})


@pytest.mark.parametrize("name", [*PROGRESS, "scaler"])
@pytest.mark.parametrize("value", ["7", None])
def test_a_number_of_another_type_is_named(data, tmp_path, stopped, name, value):
    change_numbers(stopped.last, **{name: value})
    message = rf"last\.safetensors.*\b{name}\b.*start a new run in another folder"
    with pytest.raises(ValueError, match=message):
        Trainer(stopped.config, stopped.folder)


@pytest.fixture
def stopped(data, tmp_path):
    """A run stopped after its first update."""
    trainer = Trainer(small_config(data), tmp_path / "run")
    trainer.stop()
    trainer.train(bar=False)
    return trainer


@pytest.mark.parametrize("name", ["optimizer.x.exp_avg", "optimizer.0.exp_avg"])
def test_moments_of_another_model_are_named(stopped, name):
    content = load_file(stopped.last)
    with safe_open(stopped.last, "pt") as file:
        metadata = file.metadata()
    save_file({**content, name: torch.zeros(2, 3, 4)}, stopped.last, metadata)
    with pytest.raises(ValueError, match=rf"{name} of shape \(2, 3, 4\) fits no"):
        Trainer(stopped.config, stopped.folder)


@pytest.mark.parametrize("line", ["7", '{"loss": 3}', '{"step": "7"}', "{step: 7}"])
def test_a_log_line_of_another_kind_is_named(tmp_path, line):
    path = tmp_path / "metrics.jsonl"
    path.write_text('{"step": 1}\n' + line + "\n")
    with pytest.raises(ValueError, match=r"metrics\.jsonl"):
        read_metrics(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "is not JSON"),
        ("[1, 2]", r"must hold a JSON object, and has '\[1, 2\]'"),
        ("{}", "has no entry 'n'; do so"),
        ('{"n": "7"}', "n is '7'; it must be a whole number; do so"),
        ('{"n": 7.5}', "n is 7.5; it must be a whole number"),
        ('{"n": true}', "n is True; it must be a whole number"),
        ('{"n": 7, "x": "1"}', "x is '1'; it must be a number"),
    ],
)
def test_a_json_file_is_checked(tmp_path, text, message):
    path = tmp_path / "a.json"
    path.write_text(text)
    with pytest.raises(ValueError, match=rf"a\.json.*{message}"):
        read_object(path, "do so", n=int, x=float)
    path.write_text('{"n": 7, "x": 1, "more": null}')
    assert read_object(path, "do so", n=int, x=float)["x"] == 1
    with pytest.raises(ValueError, match=r"b\.json cannot be read .*; do so"):
        read_object(tmp_path / "b.json", "do so")


def test_a_stored_result_of_another_kind_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(results, "FOLDER", tmp_path)
    (tmp_path / "heads.json").write_text("[]")
    with pytest.raises(ValueError, match=r"heads\.json .*run python -m .* heads again"):
        results.load("heads")
