"""The training loop: what an update does, and that a run goes on after any break."""

import json
import math
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from small_runs import LOG_EVERY, lines_of, small_config, write_texts
from torch import nn
from torch.nn import functional as F

from attnbook.core.divergence import DivergedError
from attnbook.core.vocabulary import PAD
from attnbook.data.batching import id_batch, target_tokens
from attnbook.translation import trainer as trainer_module
from attnbook.translation.configs import changed, from_json
from attnbook.translation.run_folder import read_metrics
from attnbook.translation.schedules import inverse_sqrt_learning_rate
from attnbook.translation.trainer import CLIP, Trainer
from attnbook.translation.training_state import read_state

PER_EPOCH = 13
"""Updates of an epoch of the small config."""


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return write_texts(tmp_path_factory.mktemp("texts"))


def fresh(data, folder, **changes):
    return Trainer(small_config(data, **changes), folder)


def finish(config, folder):
    """Train to the end, as a new process would."""
    trainer = Trainer(config, folder)
    trainer.train(bar=False)
    return trainer


@pytest.fixture(scope="module")
def whole(data, tmp_path_factory):
    """A run of the small config that nobody stopped."""
    return finish(small_config(data), tmp_path_factory.mktemp("whole"))


def weights(trainer):
    return [p.detach().clone() for p in trainer.model.parameters()]


def equal(one, other):
    """Whether two trainers have the same log and the same weights."""
    logs = lines_of(one.folder) == lines_of(other.folder)
    pairs = zip(weights(one), weights(other), strict=True)
    return logs and all(torch.equal(a, b) for a, b in pairs)


def content(folder):
    return {p: p.read_bytes() for p in folder.glob("**/*") if p.is_file()}


# What a run leaves behind


def test_it_learns_and_the_same_seed_gives_the_same_run(whole, data, tmp_path):
    losses = [line["loss"] for line in lines_of(whole.folder) if "loss" in line]
    assert losses[0] == pytest.approx(math.log(len(whole.subwords)), rel=0.15)
    assert losses[-1] < losses[0] - 0.5
    assert equal(finish(small_config(data), tmp_path / "again"), whole)
    other = finish(small_config(data, seed=1, max_epochs=1), tmp_path / "other")
    assert lines_of(other.folder)[0]["loss"] != losses[0]


def test_the_log_says_what_happened(whole):
    """A line after each fourth update and each epoch; rates of the schedule."""
    lines = read_metrics(whole.folder / "metrics.jsonl")
    updates = [line for line in lines if "loss" in line]
    ends = [PER_EPOCH, 2 * PER_EPOCH]
    steps = sorted({*range(LOG_EVERY, 2 * PER_EPOCH, LOG_EVERY), *ends})
    assert [line["step"] for line in updates] == steps
    for line in updates:
        rate = inverse_sqrt_learning_rate(line["step"], 1e-2, 8)
        assert line["learning_rate"] == rate
        assert line["epoch"] == (line["step"] - 1) // PER_EPOCH
        assert line["tokens_per_second"] > 0
    valid = [line for line in lines if "validation_loss" in line]
    assert [line["step"] for line in valid] == ends
    assert [line["epoch"] for line in valid] == [1, 2]
    assert whole.lowest == min(line["validation_loss"] for line in valid)
    assert all(0 <= line["validation_bleu"] <= 100 for line in valid)
    seconds = [line["seconds"] for line in lines]
    assert seconds == sorted(seconds)


def test_only_the_last_epochs_are_kept(data, tmp_path):
    trainer = finish(small_config(data, max_epochs=3, average=2), str(tmp_path / "run"))
    names = sorted(p.name for p in (trainer.folder / "epochs").iterdir())
    assert names == ["0002.safetensors", "0003.safetensors"]
    kept = load_file(trainer.folder / "epochs" / "0003.safetensors")
    for name, w in trainer.model.named_parameters():
        assert torch.equal(kept[f"model.{name}"], w)


# An update


def by_pytorch(trainer, pairs, smoothing=0.1):
    """Gradients and value of PyTorch's loss over one batch of all the pairs."""
    batch = id_batch(pairs)
    loss = F.cross_entropy(
        trainer.model(batch.src, batch.tgt_in).flatten(0, 1),
        batch.tgt_out.flatten(),
        ignore_index=PAD,
        label_smoothing=smoothing,
    )
    return torch.autograd.grad(loss, list(trainer.model.parameters())), loss.item()


def gradients_at(trainer):
    """The gradients and rates that Adam will be given, as they come."""
    taken, step = [], trainer.optimizer.step

    def spy():
        gradients = [p.grad.clone() for p in trainer.model.parameters()]
        taken.append((gradients, trainer.optimizer.param_groups[0]["lr"]))
        step()

    trainer.optimizer.step = spy
    return taken


def test_an_update_is_adam_by_the_mean_loss_of_its_tokens(data, tmp_path):
    trainer = fresh(data, tmp_path / "run", dropout=0.0)
    taken, (pairs,) = gradients_at(trainer), trainer.updates_of(0)[0]
    wanted, value = by_pytorch(trainer, pairs)
    norm = nn.utils.get_total_norm(wanted)
    assert norm > CLIP
    assert trainer._update([pairs]).item() == pytest.approx(value, abs=1e-6)
    for one, other in zip(taken[0][0], wanted, strict=True):
        torch.testing.assert_close(one, other * CLIP / norm, rtol=0, atol=1e-6)
    (group,) = trainer.optimizer.param_groups
    assert (group["betas"], group["eps"]) == ((0.9, 0.98), 1e-9)
    assert group["weight_decay"] == 0
    assert all(p.grad is None for p in trainer.model.parameters())


def test_the_gradient_is_clipped_and_the_rate_is_set(data, tmp_path, monkeypatch):
    monkeypatch.setattr("attnbook.translation.trainer.CLIP", 0.01)
    trainer = fresh(data, tmp_path / "run")
    taken = gradients_at(trainer)
    for batches in trainer.updates_of(0)[:3]:
        trainer._update(batches)
    norms = [nn.utils.get_total_norm(gradients).item() for gradients, _ in taken]
    assert norms == pytest.approx([0.01] * 3, rel=1e-3)
    wanted = [inverse_sqrt_learning_rate(step, 1e-2, 8) for step in (1, 2, 3)]
    assert [rate for _, rate in taken] == wanted


def test_dropout_depends_on_seed_and_step_alone(data, tmp_path):
    one, other = (fresh(data, tmp_path / name, dropout=0.3) for name in "ab")
    batches = one.updates_of(0)[0]
    torch.manual_seed(77)
    first = one._update(batches).item()
    torch.manual_seed(99)
    assert other._update(batches).item() == first
    still = fresh(data, tmp_path / "c", dropout=0.3, peak_learning_rate=1e-12)
    losses = set()
    for step in (0, 1, 2, 3, 10, 11):
        still.step = step
        losses.add(round(still._update(batches).item(), 6))
    assert len(losses) == 6


def test_validation_is_pytorchs_loss_without_smoothing_or_dropout(whole):
    whole.model.eval()
    wanted = by_pytorch(whole, whole.val_pairs, smoothing=0.0)[1]
    whole.model.train()
    assert whole.validation_loss() == pytest.approx(wanted, abs=1e-5)
    words = [len(pair.target) + 1 for pair in whole.val_pairs]
    assert target_tokens([whole.val_pairs]) == sum(words)


def test_bf16_is_used_for_products_alone(data, tmp_path):
    plain, half = (
        fresh(data, tmp_path / name, precision=name) for name in ("fp32", "bf16")
    )
    batches = plain.updates_of(0)[0]
    one, two = (trainer._update(batches).item() for trainer in (plain, half))
    assert one != two == pytest.approx(one, rel=0.02)
    assert half.model.out.weight.dtype == torch.float32


# When it ends


@pytest.mark.parametrize(
    ("losses", "patience", "epochs"),
    [
        ([5, 4, 3, 2, 1, 1], 2, 6),
        ([5, 4, 4.5, 4.1, 1, 1], 2, 4),
        ([5, 4, 4, 3, 3, 3], 2, 6),  # as long as was asked for
        ([5, 4, 4, 4, 1, 1], 2, 4),
        ([5, 6, 1, 1, 1, 1], 1, 2),
    ],
)
def test_it_ends_when_the_loss_falls_no_more(
    data, tmp_path, monkeypatch, losses, patience, epochs
):
    trainer = fresh(data, tmp_path / "run", max_epochs=6)
    monkeypatch.setattr(type(trainer.config), "patience", patience)
    coming = iter(losses)
    monkeypatch.setattr(trainer, "validation_loss", lambda: float(next(coming)))
    one_update = trainer.updates_of(0)[:1]
    monkeypatch.setattr(trainer, "updates_of", lambda epoch: one_update)
    monkeypatch.setattr(trainer_module, "score_greedy", lambda *_: {})
    trainer.train(bar=False)
    assert trainer.epoch == epochs
    assert trainer.finished
    assert trainer.ended_early == (epochs < 6)


def test_a_state_is_written_once_it_is_old_enough(data, tmp_path, monkeypatch):
    """An update takes a minute here; a state can be written at a line of the log."""
    now, saved, update, save = [0], [], Trainer._update, Trainer._save

    def slow(trainer, batches):
        now[0] += 60
        return update(trainer, batches)

    monkeypatch.setattr(trainer_module, "perf_counter", lambda: now[0])
    monkeypatch.setattr(trainer_module, "SAVE_SECONDS", 300)
    monkeypatch.setattr(Trainer, "_update", slow)
    monkeypatch.setattr(
        Trainer, "_save", lambda trainer: (saved.append(trainer.step), save(trainer))
    )
    trainer = finish(small_config(data, max_epochs=1), tmp_path / "run")
    assert saved == [8, PER_EPOCH]  # and one at the end of the epoch
    assert trainer.seconds == 60 * PER_EPOCH


@pytest.mark.parametrize("update", [1, 4, PER_EPOCH])
def test_a_stopped_run_has_its_last_update_and_goes_on_from_there(
    whole, data, tmp_path, monkeypatch, update
):
    """Wherever it is stopped: in an epoch, at a line of the log, at an epoch's end."""
    step = Trainer._update

    def stopping(trainer, batches):
        loss = step(trainer, batches)
        if trainer.step == update:
            trainer.stop()
        return loss

    monkeypatch.setattr(trainer_module, "SAVE_SECONDS", math.inf)
    with monkeypatch.context() as patch:
        patch.setattr(Trainer, "_update", stopping)
        trainer = finish(whole.config, tmp_path / "run")
    assert trainer.stopped
    assert not trainer.finished
    numbers = read_state(trainer.last)[1]
    assert (numbers["step"], numbers["epoch"]) == (update, update // PER_EPOCH)
    again = finish(whole.config, tmp_path / "run")
    assert again.finished
    assert not again.stopped
    pairs = zip(weights(again), weights(whole), strict=True)
    assert all(torch.equal(a, b) for a, b in pairs)
    steps, wanted = (
        [line["step"] for line in lines_of(t.folder) if "loss" in line]
        for t in (again, whole)
    )
    assert steps == sorted({*wanted, update})


# Numbers that are no longer finite


def ruin(monkeypatch, update, what):
    """From an update on, make its loss NaN, a gradient or a weight infinite."""
    step, clip = Trainer._update, nn.utils.clip_grad_norm_

    def spoiled(trainer, batches):
        late = trainer.step + 1 >= update
        spoil = clip
        if late and what == "gradient":

            def spoil(parameters, limit):
                trainer.model.out.weight.grad[5] = math.inf
                return clip(trainer.model.parameters(), limit)

        monkeypatch.setattr(nn.utils, "clip_grad_norm_", spoil)
        loss = step(trainer, batches)
        if late and what == "weight":
            with torch.no_grad():
                trainer.model.out.weight[5] = -math.inf
        return loss * math.nan if late and what == "loss" else loss

    monkeypatch.setattr(Trainer, "_update", spoiled)


NAMED = {
    "loss": "the loss of update {} is nan",
    "gradient": "the loss of update {} is nan",
    "weight": "weights that are not finite|the validation loss is|the loss of update",
}


@pytest.mark.parametrize(
    ("what", "update"),
    [("loss", 1), ("gradient", 3), ("weight", PER_EPOCH)],
)
def test_training_stops_where_a_number_is_not_finite(
    whole, tmp_path, monkeypatch, what, update
):
    """And keeps what was saved before, from which a run goes on to the same end."""
    folder = tmp_path / "run"
    with monkeypatch.context() as patch:
        ruin(patch, update, what)
        with pytest.raises(DivergedError, match=NAMED[what].format(update)):
            finish(whole.config, folder)
    for path in folder.glob("**/*.safetensors"):
        tensors, numbers = read_state(path)
        assert all(t.isfinite().all() for t in tensors.values())
        assert numbers.get("step", 0) < update
    log = (folder / "metrics.jsonl").read_text()
    assert "NaN" not in log
    assert "Infinity" not in log
    assert equal(finish(whole.config, folder), whole)


def test_a_validation_loss_that_is_not_finite_stops(data, tmp_path):
    trainer = fresh(data, tmp_path / "run")
    with torch.no_grad():
        trainer.model.out.weight.fill_(1e38)
    with pytest.raises(DivergedError, match="after update 0 the validation loss is"):
        trainer.validation_loss()


# Going on after a break


class Stop(BaseException):
    """The process dies."""


MOMENTS = [
    *[("config.json", "after", 1), ("subwords.json", "after", 1)],
    *[("last.safetensors", "before", 4), ("last.safetensors", "after", 6)],
    ("0001.safetensors", "before", 1),
]


@pytest.mark.parametrize(("name", "when", "number"), MOMENTS)
def test_death_at_any_file_does_no_harm(
    whole, tmp_path, monkeypatch, name, when, number
):
    """Before a file takes its name, or right after; then the run goes on.

    Rubbish is left by writes that were cut off.
    """
    replace, seen, folder = Path.replace, [], tmp_path / "run"

    def dying(path, target):
        if Path(target).name == name:
            seen.append(target)
        ends = Path(target).name == name and len(seen) == number
        if ends and when == "before":
            raise Stop
        replace(path, target)
        if ends:
            raise Stop

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", dying)
        with pytest.raises(Stop):
            finish(whole.config, folder)
    if (folder / "metrics.jsonl").exists():
        with (folder / "metrics.jsonl").open("a") as file:
            file.write('{"step": 9')  # a line cut off
    assert equal(finish(whole.config, folder), whole)
    assert not list(folder.glob("**/*.unfinished"))


def test_a_finished_run_is_not_trained_again_but_can_be_made_longer(
    whole, data, tmp_path, monkeypatch
):
    before = content(whole.folder)
    again = finish(whole.config, whole.folder)
    assert equal(again, whole)
    assert content(whole.folder) == before
    held = iter([5, 9])
    monkeypatch.setattr(trainer_module, "peak_memory", lambda _: next(held, 3))
    finish(small_config(data, max_epochs=1), tmp_path / "run")
    longer = finish(small_config(data, average=3), tmp_path / "run")
    assert equal(longer, whole)
    assert from_json(longer.folder / "config.json").average == 3
    assert longer.peak_memory == 9  # that of all parts of a run


# A folder that can't be used


@pytest.mark.parametrize(
    ("entry", "value"), [("seed", 1), ("dropout", 0.2), ("batch_tokens", 100)]
)
def test_a_run_of_another_config_is_left_alone(whole, entry, value):
    before, old = content(whole.folder), asdict(whole.config)[entry]
    message = f"holds a run with {entry} {old!r}, not {value!r}; name another folder"
    with pytest.raises(ValueError, match=message):
        Trainer(changed(whole.config, **{entry: value}), whole.folder)
    assert content(whole.folder) == before


def spoil(folder, how):
    last, config = folder / "last.safetensors", folder / "config.json"
    if how == "weights alone":
        last.write_bytes((folder / "epochs" / "0001.safetensors").read_bytes())
    elif how in ("a number", "processes", "moments"):
        tensors, numbers = read_state(last)
        if how == "moments":
            tensors["optimizer.0.exp_avg"] = torch.zeros(2, 3, 4)
        numbers |= {"a number": {"step": "7"}, "processes": {"world": 3}}.get(how, {})
        save_file(tensors, last, {"state": json.dumps(numbers)})
    elif how == "config":
        config.write_text(config.read_text()[:50])
    elif how == "no config":
        config.unlink()
    elif how == "subwords":
        (folder / "subwords.json").write_text("{}")


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("weights alone", r"last\.safetensors has no entry .*step"),
        ("a number", r"last\.safetensors: step is '7'.*start a new run in another"),
        ("processes", r"a run of 3 processes, not 1, .*start as many as before, or"),
        ("moments", r"optimizer\.0\.exp_avg of shape \(2, 3, 4\) fits no"),
        ("config", r"config\.json cannot be read as a config"),
        ("no config", r"the state of a run, but not its config"),
        ("subwords", r"subwords\.json holds no subwords"),
    ],
)
def test_a_spoiled_folder_is_named_and_left_as_it_is(data, tmp_path, how, message):
    config, folder = small_config(data, max_epochs=1), tmp_path / "run"
    finish(config, folder)
    spoil(folder, how)
    before = content(folder)
    with pytest.raises(ValueError, match=message):
        Trainer(config, folder)
    assert content(folder) == before


HOLD = """
import sys
from filelock import FileLock

with FileLock(sys.argv[1]):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_folder_in_use_is_refused_until_its_user_ends(data, tmp_path):
    """Even if a failed trainer's traceback is held, as a notebook does."""
    folder = tmp_path / "run"
    with pytest.raises(ValueError, match="3 heads") as held:
        fresh(data, folder, n_heads=3)
    one, other = fresh(data, folder), fresh(data, folder)  # of one notebook
    program = [sys.executable, "-c", HOLD, str(folder / "lock")]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    one.close()
    other.close()
    holder = subprocess.Popen(program, **pipes)
    assert holder.stdout.readline() == "held\n"
    before = content(folder)
    with pytest.raises(ValueError, match=r"another program trains in .*run; wait for"):
        fresh(data, folder)
    assert content(folder) == before
    holder.kill()
    holder.communicate()
    fresh(data, folder).close()
    assert held.traceback


@pytest.mark.parametrize("line", ["7", '{"loss": 3}', '{"step": "7"}', "{step: 7}"])
def test_a_log_line_of_another_kind_is_named(tmp_path, line):
    path = tmp_path / "metrics.jsonl"
    path.write_text('{"step": 1}\n{"step": 2')
    assert read_metrics(path) == [{"step": 1}]  # without one that was cut off
    path.write_text('{"step": 1}\n' + line + "\n")
    with pytest.raises(ValueError, match=r"metrics\.jsonl"):
        read_metrics(path)
