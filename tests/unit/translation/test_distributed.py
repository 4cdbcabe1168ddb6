"""One process needs nothing; two act as one."""

from datetime import timedelta

import pytest
import torch
import torch.distributed as dist
from small_runs import command, lines_of, small_config, write_texts
from torch import nn

from attnbook.translation.configs import changed, to_json
from attnbook.translation.distributed import TIMEOUT, Processes
from attnbook.translation.train_command import remarks
from attnbook.translation.trainer import Trainer
from attnbook.translation.training_state import read_state

TOGETHER = """
import runpy, sys
import torch
from attnbook.translation import trainer
from attnbook.translation.distributed import Processes

trainer.LOG_EVERY = 4
p = Processes()
assert p.world == 2 and p.first == (p.rank == 0)
assert p.sum(torch.tensor(1.0 + p.rank)) == 3
assert p.broadcast(7.5 + p.rank) == 7.5
assert p.gather([f"of {p.rank}"] * p.rank) == [[], ["of 1"]]
model = torch.nn.Linear(1, 1)
torch.nn.init.constant_(model.weight, 1.0 + p.rank)
wrapped = p.wrap(model)
x = torch.ones(1, 1) * (1 + p.rank)
with p.no_sync(wrapped):
    wrapped(x).sum().backward()
assert model.weight.grad.item() == 1 + p.rank
wrapped(x).sum().backward()
assert model.weight.grad.item() == 3, model.weight.grad
assert model.weight.item() == 1
p.wait()
print(f"well {p.rank}\\n", end="", flush=True)
sys.argv[1:1] = ["train"]
runpy.run_module("attnbook", run_name="__main__")
assert not torch.distributed.is_initialized()
"""
"""What two processes do together, step by step; then the command itself."""


def test_alone_nothing_is_done(monkeypatch):
    for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK"):
        monkeypatch.delenv(name, raising=False)
    processes = Processes()
    assert (processes.rank, processes.world, processes.first) == (0, 1, True)
    model = nn.Linear(1, 1)
    assert processes.wrap(model) is model
    with processes.no_sync(model):
        assert processes.sum(torch.tensor(2.5)) == 2.5
        assert processes.broadcast(0.1) == 0.1
    assert processes.gather(["one", "two"]) == [["one", "two"]]
    processes.wait()
    processes.close()
    assert not torch.distributed.is_initialized()


@pytest.fixture(scope="module")
def run_of_two(tmp_path_factory):
    """A run in two processes that see two batches each in every update."""
    folder = tmp_path_factory.mktemp("two")
    config = small_config(
        write_texts(folder / "data"),
        **{"batches_per_update": 4, "batch_tokens": 128, "dropout": 0.0, "r_drop": 0.5},
    )
    (folder / "config.json").write_text(to_json(config))
    (folder / "together.py").write_text(TOGETHER)
    shown = command(
        *("torch.distributed.run", "--standalone", "--nproc-per-node", 2),
        *(folder / "together.py", "--config", folder / "config.json"),
        *("--out", folder / "run"),
    )
    assert shown.returncode == 0, shown.stderr[-3000:]
    return config, folder / "run", shown.stdout


def test_two_share_sums_and_gradients(run_of_two):
    """With the gradients of all but the last batch kept to themselves till then."""
    assert "well 0" in run_of_two[2]
    assert "well 1" in run_of_two[2]


def test_two_processes_train_as_one(run_of_two, tmp_path):
    """The same losses, weighted by tokens, and the same weights."""
    config, folder, said = run_of_two
    Trainer(config, tmp_path / "one").train()
    two, one = lines_of(folder), lines_of(tmp_path / "one")
    assert len(two) == len(one) > 5
    for line, other in zip(two, one, strict=True):
        # One other word in a translation changes its scores.
        scores = {name for name in line if name.startswith("validation_")}
        for name in scores - {"validation_loss"}:
            assert line.pop(name) == pytest.approx(other.pop(name), abs=2)
        assert line == pytest.approx(other, abs=1e-5)
    states = [read_state(f / "last.safetensors")[0] for f in (folder, tmp_path / "one")]
    for name, w in states[0].items():
        # A key's bias moves all scores of a query alike: its gradient is nothing but
        # rounding, which Adam makes large.
        if name.startswith("model.") and "W_K.bias" not in name:
            torch.testing.assert_close(w, states[1][name], rtol=0, atol=1e-4)
    assert said.count("BLEU") == 4  # told once
    assert (folder / "results.json").exists()


@pytest.fixture
def joined(monkeypatch):
    """The arguments with which a process of two joins the group."""
    calls = []
    monkeypatch.setattr(
        dist, "init_process_group", lambda *a, **k: calls.append((a, k))
    )
    for name, value in {"RANK": "1", "WORLD_SIZE": "2", "LOCAL_RANK": "1"}.items():
        monkeypatch.setenv(name, value)
    return calls


def test_a_process_gives_up_in_time(joined):
    """Not before the first process has learned subwords from a large text."""
    Processes("cpu")
    ((backend,), options) = joined.pop()
    assert backend == "gloo"
    assert options == {"timeout": TIMEOUT, "device_id": None}
    assert timedelta(minutes=30) < TIMEOUT


def test_several_processes_cannot_use_mps(joined, monkeypatch):
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    with pytest.raises(ValueError, match="2 processes on mps, which only one can use"):
        Processes("mps")
    assert not joined


def pretend_three(processes, device):
    processes.rank, processes.world = 0, 3
    processes.device = torch.device("cpu")


@pytest.mark.parametrize(("wanted", "taken"), [(1, 3), (3, 3), (4, 6)])
def test_each_process_gets_as_many_batches(tmp_path, monkeypatch, wanted, taken):
    monkeypatch.setattr(Processes, "__init__", pretend_three)
    for name in ("wait", "close"):
        monkeypatch.setattr(Processes, name, lambda self: None)
    monkeypatch.setattr(Processes, "wrap", lambda self, model: model)
    run = small_config(write_texts(tmp_path / "data"), batches_per_update=wanted)
    trainer = Trainer(run, tmp_path / "run")
    assert trainer.config == changed(run, batches_per_update=taken)
    assert all(len(group) == taken for group in trainer.feed.groups(0))
    told = " ".join(remarks(trainer, run))
    raised = f"batches_per_update is {taken}, not {wanted}: 3 processes share"
    assert (raised in told) == (wanted != taken)
