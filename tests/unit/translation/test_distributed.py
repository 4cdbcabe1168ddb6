"""One process needs nothing; two share each update."""

import json
from datetime import timedelta

import pytest
import torch
import torch.distributed as dist
from small_runs import command, lines_of, small_config, write_texts
from torch import nn
from torch.nn import functional as F

from attnbook.core.signals import Ended
from attnbook.core.vocabulary import PAD
from attnbook.data.batching import id_batch
from attnbook.translation.configs import to_json
from attnbook.translation.corpora import cut_updates, encode_pairs, load_texts
from attnbook.translation.distributed import TIMEOUT, Processes
from attnbook.translation.models import model_from_config
from attnbook.translation.schedules import learning_rate
from attnbook.translation.train_command import train_until_asked
from attnbook.translation.trainer import Trainer

TOGETHER = """
import runpy, sys
import torch
from attnbook.translation import trainer
from attnbook.translation.distributed import Processes

trainer.LOG_EVERY = 1
p = Processes()
assert p.world == 2
assert p.sum(torch.tensor([1.0 + p.rank, 5.0])) == [3, 10]
assert p.mean(7.5 + p.rank) == 8
p.wait()
print(f"well {p.rank}\\n", end="", flush=True)
sys.argv[1:1] = ["train"]
runpy.run_module("attnbook", run_name="__main__")
assert not torch.distributed.is_initialized()
"""
"""What two processes do together, step by step; then the command itself."""


def test_two_processes_take_a_batch_each_of_every_update(tmp_path):
    """Their first updates are Adam's by the mean loss of the tokens of both batches."""
    changes = {"batch_tokens": 128, "dropout": 0.0, "max_epochs": 1}
    config = small_config(write_texts(tmp_path / "data"), **changes)
    (tmp_path / "config.json").write_text(to_json(config))
    (tmp_path / "together.py").write_text(TOGETHER)
    shown = command(
        *("torch.distributed.run", "--standalone", "--nproc-per-node", 2),
        *(tmp_path / "together.py", "--config", tmp_path / "config.json"),
        *("--out", tmp_path / "run"),
    )
    assert shown.returncode == 0, shown.stderr[-3000:]
    assert "well 0" in shown.stdout
    assert "well 1" in shown.stdout
    assert shown.stdout.count("BLEU") == 4  # told once
    assert json.loads((tmp_path / "run" / "results.json").read_text())["processes"] == 2
    losses = [line["loss"] for line in lines_of(tmp_path / "run") if "loss" in line]
    with pytest.raises(ValueError, match="a run of 2 processes, not 1"):
        Trainer(config, tmp_path / "run")
    alone = Trainer(config, tmp_path / "alone")
    pairs = encode_pairs(alone.subwords, load_texts(config, "train"))
    torch.manual_seed(config.seed)
    model = model_from_config(config, len(alone.subwords))
    adam = torch.optim.Adam(model.parameters(), betas=(0.9, 0.98), eps=1e-9)
    updates = cut_updates(pairs, config, 2, 0)
    assert len(losses) == len(updates) > 5
    for step, (one, other) in enumerate(updates[:4], 1):
        batch = id_batch([*one, *other])
        logits = model(batch.src, batch.tgt_in).flatten(0, 1)
        how = {"ignore_index": PAD, "label_smoothing": 0.1}
        loss = F.cross_entropy(logits, batch.tgt_out.flatten(), **how)
        assert losses[step - 1] == pytest.approx(loss.item(), abs=1e-4)
        adam.param_groups[0]["lr"] = learning_rate(config, step, len(updates))
        adam.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        adam.step()


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


def test_each_process_joins_with_a_device_of_its_own(joined, monkeypatch):
    """And does not give up before subwords are learned from a large text."""
    assert Processes("cpu").device == torch.device("cpu")
    assert joined.pop() == (("gloo",), {"timeout": TIMEOUT, "device_id": None})
    assert timedelta(minutes=30) < TIMEOUT
    used = []
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "set_device", used.append)
    second = torch.device("cuda", 1)
    assert Processes("cuda").device == second
    assert used == [second]
    assert joined.pop() == (("nccl",), {"timeout": TIMEOUT, "device_id": second})
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    with pytest.raises(ValueError, match="2 processes on mps, which only one can use"):
        Processes("mps")
    assert not joined


def test_several_stop_where_all_know_it(tmp_path, monkeypatch):
    """Here two that always agree: not before the next line of the log."""
    trainer = Trainer(small_config(write_texts(tmp_path / "data")), tmp_path / "run")
    monkeypatch.setattr(trainer, "world", 2)
    monkeypatch.setattr(trainer, "updates_of", lambda epoch: [[trainer.val_pairs]] * 9)
    train = trainer.train
    monkeypatch.setattr(trainer, "train", lambda: (trainer.stop(), train(bar=False)))
    with pytest.raises(Ended):
        train_until_asked(trainer)
    assert (trainer.stopped, trainer.step) == (True, 4)
