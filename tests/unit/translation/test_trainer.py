"""The training loop: what an update does, and that a run goes on after any break."""

import json
import math
import random
from dataclasses import asdict
from pathlib import Path

import pytest
import torch
from filelock import FileLock
from safetensors.torch import load_file, save_file
from small_runs import LOG_EVERY, lines_of, small_config, write_texts
from torch import nn
from torch.distributions import Categorical, kl_divergence
from torch.nn import functional as F

from attnbook.core.divergence import DivergedError
from attnbook.core.vocabulary import PAD
from attnbook.data.batching import id_batch
from attnbook.translation import trainer as trainer_module
from attnbook.translation.configs import changed, from_json
from attnbook.translation.feeds import target_tokens
from attnbook.translation.report import finish
from attnbook.translation.run_folder import read_metrics
from attnbook.translation.schedules import (
    inverse_sqrt_learning_rate,
    linear_learning_rate,
    noam_learning_rate,
)
from attnbook.translation.trainer import Trainer
from attnbook.translation.training_state import read_state, save_state


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return write_texts(tmp_path_factory.mktemp("texts"))


@pytest.fixture(scope="module")
def whole(data, tmp_path_factory):
    """A run of the small config that nobody stopped."""
    trainer = Trainer(small_config(data), tmp_path_factory.mktemp("whole"))
    trainer.train()
    return trainer


def fresh(data, folder, **changes):
    return Trainer(small_config(data, **changes), folder)


def weights(trainer):
    return [p.detach().clone() for p in trainer.model.parameters()]


def equal(one, other):
    return all(torch.equal(a, b) for a, b in zip(one, other, strict=True))


# What a run leaves behind


def test_it_learns(whole):
    losses = [line["loss"] for line in lines_of(whole.folder) if "loss" in line]
    words = len(whole.subwords)
    assert losses[0] == pytest.approx(math.log(words), rel=0.15)
    assert losses[-1] < losses[0] - 0.5
    assert all(later < first for first, later in zip(losses, losses[3:], strict=False))


def test_the_same_seed_gives_the_same_run(whole, data, tmp_path):
    again = fresh(data, tmp_path / "again")
    again.train()
    assert lines_of(again.folder) == lines_of(whole.folder)
    assert equal(weights(again), weights(whole))
    other = fresh(data, tmp_path / "other", seed=1, max_epochs=1)
    other.train()
    assert lines_of(other.folder)[0]["loss"] != lines_of(whole.folder)[0]["loss"]


def test_the_log_says_what_happened(whole):
    """A line after each fourth update and each epoch; rates of the schedule."""
    lines = read_metrics(whole.folder / "metrics.jsonl")
    per_epoch = len(whole.feed.groups(0))
    steps = [line["step"] for line in lines if "loss" in line]
    ends = [per_epoch, 2 * per_epoch]
    assert steps == sorted({*range(LOG_EVERY, 2 * per_epoch, LOG_EVERY), *ends})
    for line in lines:
        if "loss" in line:
            assert set(line) == {
                *(
                    "step",
                    "epoch",
                    "loss",
                    "learning_rate",
                    "tokens_per_second",
                    "seconds",
                )
            }
            assert line["learning_rate"] == inverse_sqrt_learning_rate(
                line["step"], 1e-2, 8
            )
            assert line["epoch"] == (line["step"] - 1) // per_epoch
            assert line["tokens_per_second"] > 0
    valid = [line for line in lines if "validation_loss" in line]
    assert [(line["step"], line["epoch"]) for line in valid] == [
        (ends[0], 1),
        (ends[1], 2),
    ]
    assert all(0 <= line["validation_bleu"] <= 100 for line in valid)
    seconds = [line["seconds"] for line in lines]
    assert seconds == sorted(seconds)


def test_the_folder_holds_what_is_promised(whole):
    names = sorted(p.name for p in whole.folder.glob("**/*") if p.is_file())
    assert names == [
        *("0001.safetensors", "0002.safetensors"),
        *("config.json", "last.safetensors", "lock", "metrics.jsonl"),
        "subwords.json",
    ]
    assert from_json(whole.folder / "config.json") == whole.config
    numbers = read_state(whole.last)[1]
    assert numbers["epoch"] == 2
    assert numbers["step"] == whole.step == 2 * len(whole.feed.groups(0))
    assert numbers["lowest"] == min(
        line["validation_loss"]
        for line in lines_of(whole.folder)
        if "validation_loss" in line
    )


def test_only_the_last_epochs_are_kept(data, tmp_path):
    trainer = fresh(data, tmp_path / "run", max_epochs=3, average=2)
    trainer.train()
    names = sorted(p.name for p in (trainer.folder / "epochs").iterdir())
    assert names == ["0002.safetensors", "0003.safetensors"]
    kept = load_file(trainer.folder / "epochs" / "0003.safetensors")
    for name, w in trainer.model.named_parameters():
        assert torch.equal(kept[f"model.{name}"], w)


# An update


def one_update(trainer, group):
    """The gradient that an update takes its step with, and its loss."""
    taken = {}

    def spy(parameters, limit):
        taken["gradient"] = [
            torch.zeros_like(p) if p.grad is None else p.grad.clone()
            for p in trainer.model.parameters()
        ]
        return torch.zeros(())

    before = trainer_module.nn.utils.clip_grad_norm_
    trainer_module.nn.utils.clip_grad_norm_ = spy
    try:
        loss = trainer._update(group)
    finally:
        trainer_module.nn.utils.clip_grad_norm_ = before
    return taken["gradient"], loss.item()


def by_pytorch(trainer, pairs, smoothing=0.1):
    """Gradient and value of PyTorch's loss over one batch of all the pairs."""
    batch = id_batch(pairs)
    trainer.model.zero_grad()
    logits = trainer.model(batch.src, batch.tgt_in)
    loss = F.cross_entropy(
        logits.flatten(0, 1),
        batch.tgt_out.flatten(),
        ignore_index=PAD,
        label_smoothing=smoothing,
    )
    return torch.autograd.grad(loss, list(trainer.model.parameters())), loss.item()


def assert_close(gradients, others, atol=1e-6):
    for one, other in zip(gradients, others, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=atol)


@pytest.mark.parametrize("parts", [1, 2, 3])
def test_batches_of_an_update_are_as_one(data, tmp_path, parts):
    """Of unlike numbers of tokens: the mean is over all of them."""
    trainer = fresh(data, tmp_path / "run", dropout=0.0)
    rng = random.Random(0)
    pairs = rng.sample(trainer.train_pairs, 24)
    cuts = {
        1: [pairs],
        2: [pairs[:5], pairs[5:]],
        3: [pairs[:1], pairs[1:9], pairs[9:]],
    }
    wanted, value = by_pytorch(trainer, pairs)
    found, loss = one_update(trainer, cuts[parts])
    assert loss == pytest.approx(value, abs=1e-6)
    assert_close(found, wanted)


def test_r_drop_adds_its_divergence(data, tmp_path):
    """Without dropout both passes agree: what is left is the plain loss."""
    plain = fresh(data, tmp_path / "plain", dropout=0.0)
    calm = fresh(data, tmp_path / "calm", dropout=0.0, r_drop=3.0)
    group = plain.feed.groups(0)[0]
    (one, loss), (other, same) = one_update(plain, group), one_update(calm, group)
    assert same == pytest.approx(loss, abs=1e-6)
    assert_close(other, one, 2e-6)
    losses = {}
    for alpha in (1e-9, 1.0, 2.0):
        trainer = fresh(data, tmp_path / f"{alpha}", dropout=0.3, r_drop=alpha)
        losses[alpha] = one_update(trainer, group)[1]
    first, second = losses[1.0] - losses[1e-9], losses[2.0] - losses[1e-9]
    assert first > 1e-3
    assert second == pytest.approx(2 * first, rel=1e-3)


def test_r_drop_is_its_formula(data, tmp_path):
    """Liang et al. 2021, equation 4, for the mean of the two passes."""
    trainer = fresh(data, tmp_path / "run", dropout=0.3, r_drop=3.0)
    batch = id_batch(trainer.train_pairs[:6])
    trainer.model.train()
    torch.manual_seed(5)
    ours = trainer._loss(batch)
    torch.manual_seed(5)
    logits = trainer.model(batch.src.repeat(2, 1), batch.tgt_in.repeat(2, 1))
    p, q = (Categorical(logits=x[batch.tgt_out != PAD]) for x in logits.chunk(2))
    apart = (kl_divergence(p, q) + kl_divergence(q, p)).sum() / 2
    plain = sum(
        F.cross_entropy(
            x.logits,
            batch.tgt_out[batch.tgt_out != PAD],
            label_smoothing=0.1,
            reduction="sum",
        )
        for x in (p, q)
    )
    assert ours.item() == pytest.approx((plain + 3 * apart).item() / 2, rel=1e-5)
    assert apart > 0.1


def test_the_gradient_is_clipped_and_the_rate_is_set(data, tmp_path, monkeypatch):
    trainer = fresh(data, tmp_path / "run", clip=0.01)
    steps = []
    step = trainer.optimizer.step

    def spy():
        norm = nn.utils.get_total_norm(p.grad for p in trainer.model.parameters())
        steps.append((norm.item(), trainer.optimizer.param_groups[0]["lr"]))
        step()

    monkeypatch.setattr(trainer.optimizer, "step", spy)
    for group in trainer.feed.groups(0)[:3]:
        trainer._update(group)
    assert [norm for norm, _ in steps] == pytest.approx([0.01] * 3, rel=1e-3)
    assert [rate for _, rate in steps] == [
        inverse_sqrt_learning_rate(s, 1e-2, 8) for s in (1, 2, 3)
    ]
    assert all(p.grad is None for p in trainer.model.parameters())


def test_without_a_peak_the_rate_is_the_papers(data, tmp_path):
    trainer = fresh(data, tmp_path / "run", peak_learning_rate="None")
    trainer.step = 5
    assert trainer.learning_rate() == noam_learning_rate(5, 32, 8)


def test_the_learning_rate_can_fall_to_zero(data, tmp_path):
    trainer = fresh(data, tmp_path, decay_to_zero=True, max_epochs=3)
    last = 3 * len(trainer.feed.groups(0))
    assert trainer.updates == last
    trainer.step = last
    assert trainer.learning_rate() == linear_learning_rate(last, 1e-2, 8, last)
    with pytest.raises(ValueError, match="name the highest learning rate"):
        changed(trainer.config, peak_learning_rate=None)


def test_adam_is_the_papers(whole):
    (group,) = whole.optimizer.param_groups
    assert (group["betas"], group["eps"]) == ((0.9, 0.98), 1e-9)
    assert group["weight_decay"] == 0


def test_dropout_depends_on_seed_and_step_alone(data, tmp_path):
    one = fresh(data, tmp_path / "one", dropout=0.3)
    other = fresh(data, tmp_path / "other", dropout=0.3)
    group = one.feed.groups(0)[0]
    torch.manual_seed(77)
    first = one._update(group).item()
    torch.manual_seed(99)
    assert other._update(group).item() == first
    third, losses = (
        fresh(data, tmp_path / "third", dropout=0.3, peak_learning_rate=1e-12),
        set(),
    )
    for step in (0, 1, 2, 3, 10, 11):
        third.step = step
        losses.add(round(third._update(group).item(), 6))
    assert len(losses) == 6


@pytest.mark.parametrize(("dropout", "same"), [(0.0, True), (0.3, False)])
def test_each_process_draws_a_dropout_of_its_own(data, tmp_path, dropout, same):
    """Two processes with the same weights and the same batch."""
    losses = []
    for rank in (0, 1):
        trainer = fresh(data, tmp_path / f"{rank}", dropout=dropout)
        trainer.processes.rank, trainer.processes.world = rank, 2
        batch = trainer.train_pairs[:8]
        losses.append(trainer._update([batch, batch]).item())
    assert (losses[0] == losses[1]) == same


def test_groups_leave_out_what_fills_no_update(data, tmp_path):
    trainer = fresh(data, tmp_path / "run", batches_per_update=5)
    single = len(fresh(data, tmp_path / "single").feed.groups(0))
    assert single % 5
    groups = trainer.feed.groups(0)
    assert [len(group) for group in groups] == [5] * (single // 5)


def test_too_few_batches_for_an_update_are_refused(data, tmp_path):
    with pytest.raises(ValueError, match=r"has \d+ batches, fewer than the 1000 of"):
        fresh(data, tmp_path / "new" / "run", batches_per_update=1000)
    assert not (tmp_path / "new").exists()


def test_validation_is_without_smoothing_and_dropout(whole):
    wanted = by_pytorch(whole, whole.val_pairs, smoothing=0.0)[1]
    whole.model.train()
    assert whole.validation_loss() == pytest.approx(wanted, abs=1e-5)
    assert not whole.model.training
    assert target_tokens([whole.val_pairs]) == sum(
        len(pair.target) + 1 for pair in whole.val_pairs
    )


def test_bf16_runs_on_a_processor(data, tmp_path):
    trainer = fresh(data, tmp_path / "run", precision="bf16", max_epochs=1)
    trainer.train()
    losses = [x["loss"] for x in lines_of(trainer.folder) if "loss" in x]
    assert losses[-1] < losses[0]
    assert trainer.model.out.weight.dtype == torch.float32
    plain = fresh(data, tmp_path / "plain")
    group = plain.feed.groups(0)[0]
    other = fresh(data, tmp_path / "other", precision="bf16")
    one, two = plain._update(group).item(), other._update(group).item()
    assert one != two
    assert one == pytest.approx(two, rel=0.02)


# When it ends


@pytest.mark.parametrize(
    ("losses", "patience", "epochs"),
    [
        ([5, 4, 3, 2, 1, 1], 2, 6),
        ([5, 4, 4.5, 4.1, 1, 1], 2, 4),
        ([5, 4, 4, 3, 3, 3], 2, 6),
        ([5, 4, 4, 4, 1, 1], 2, 4),
        ([5, 6, 1, 1, 1, 1], 1, 2),
    ],
)
def test_it_ends_when_the_loss_falls_no_more(
    data, tmp_path, monkeypatch, losses, patience, epochs
):
    trainer = fresh(data, tmp_path / "run", max_epochs=6, patience=patience)
    coming = iter(losses)
    monkeypatch.setattr(trainer, "validation_loss", lambda shared: float(next(coming)))
    monkeypatch.setattr(trainer, "_train_epoch", lambda *_: None)
    monkeypatch.setattr(trainer_module, "beam_translate", lambda *_, **__: ["a"] * 12)
    trainer.train()
    assert trainer.epoch == epochs
    assert trainer.finished


# Numbers that are no longer finite


def ruin(trainer, update, what):
    """From an update on, make the loss NaN, its gradient or a weight infinite."""
    backward, step = trainer._backward, trainer.optimizer.step

    def spoiled(batch, n_tokens):
        loss = backward(batch, n_tokens)
        if trainer.step < update:
            return loss
        if what == "gradient":
            trainer.model.out.weight.grad[5] = math.inf
        return loss * math.nan if what == "loss" else loss

    def stepping():
        step()
        if what == "weight" and trainer.step >= update:
            with torch.no_grad():
                trainer.model.out.weight[5] = -math.inf

    trainer._backward, trainer.optimizer.step = spoiled, stepping


NAMED = {
    "loss": "the loss of update {} is nan",
    "gradient": "the loss of update {} is nan",
    "weight": "weights that are not finite|the validation loss is|the loss of update",
}


@pytest.mark.parametrize("update", [1, 3, 4, 10, 13, 14, 26])
@pytest.mark.parametrize("what", NAMED)
def test_training_stops_where_a_number_is_not_finite(
    whole, data, tmp_path, update, what
):
    """And keeps what was saved before, from which a run goes on to the same end."""
    trainer = fresh(data, tmp_path / "run")
    ruin(trainer, update, what)
    with pytest.raises(DivergedError, match=NAMED[what].format(update)):
        trainer.train(bar=False)
    for path in tmp_path.glob("run/**/*.safetensors"):
        content, numbers = read_state(path)
        assert all(t.isfinite().all() for t in content.values())
        assert numbers.get("step", 0) < update
    log = (tmp_path / "run" / "metrics.jsonl").read_text()
    assert "NaN" not in log
    assert "Infinity" not in log
    again = until_done(whole.config, tmp_path / "run")
    assert lines_of(again.folder) == lines_of(whole.folder)
    assert equal(weights(again), weights(whole))


def test_asked_to_stop_it_does_not_save_a_loss_that_is_not_finite(data, tmp_path):
    trainer = fresh(data, tmp_path / "run")
    ruin(trainer, 2, "loss")
    trainer.stop()
    step = trainer.optimizer.step
    trainer.optimizer.step = lambda: (step(), trainer.stop())
    trainer.train(bar=False)  # after the first update
    assert read_state(trainer.last)[1]["step"] == 1
    trainer.stopped = trainer.stop_requested = False
    trainer.optimizer.step = lambda: (step(), trainer.stop())
    with pytest.raises(DivergedError, match="the loss of update 2 is nan"):
        trainer.train(bar=False)
    assert read_state(trainer.last)[1]["step"] == 1


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_validation_loss_that_is_not_finite_stops(data, tmp_path, monkeypatch, value):
    trainer = fresh(data, tmp_path / "run", save_minutes=1e9)
    loss = trainer_module.label_smoothing_loss

    def spoiled(logits, targets, smoothing):
        found = loss(logits, targets, smoothing)
        return found if trainer.model.training else found * value

    monkeypatch.setattr(trainer_module, "label_smoothing_loss", spoiled)
    with pytest.raises(DivergedError, match=r"after update 13 the validation loss is"):
        trainer.train(bar=False)
    assert not trainer.last.exists()
    with pytest.raises(DivergedError):
        finish(trainer)
    assert not (trainer.folder / "model").exists()
    assert not (trainer.folder / "results.json").exists()


def test_weights_beyond_half_precision_are_no_finished_model(data, tmp_path):
    trainer = fresh(data, tmp_path / "run")
    with torch.no_grad():
        trainer.model.out.weight[5] = 1e5
    save_state(trainer.folder / "epochs" / "0001.safetensors", trainer.model)
    with pytest.raises(DivergedError, match="weights that are not finite"):
        finish(trainer)
    assert not (trainer.folder / "model").exists()


def test_a_state_of_before_that_was_ruined_is_not_resumed(whole, tmp_path):
    path = tmp_path / "last.safetensors"
    content = load_file(whole.last)
    next(t for t in content.values() if t.dim() == 2)[0, 0] = math.nan
    save_file(content, path, {"state": "{}"})
    with pytest.raises(ValueError, match=r"last\.safetensors .*not finite.*new run in"):
        read_state(path)


@pytest.mark.parametrize(("scale", "stops"), [(2.0**-13, False), (2.0**-14, True)])
def test_fp16_stops_once_no_scale_helps(data, tmp_path, scale, stops):
    """As every update overflows, each is left out, and nothing is learned."""
    trainer = fresh(data, tmp_path / "run")
    trainer.step = 2
    trainer.scaler.is_enabled, trainer.scaler.get_scale = lambda: True, lambda: scale
    losses = [torch.tensor(3.0), torch.tensor(4.0)]
    if stops:
        with pytest.raises(DivergedError, match="overflow in fp16"):
            trainer._mean_loss(losses)
    else:
        assert trainer._mean_loss(losses) == 3.5


# Going on after a break


class Stop(BaseException):
    """The process dies."""


def until_done(config, folder):
    """Train to the end, as a new process would."""
    trainer = Trainer(config, folder)
    trainer.train()
    return trainer


MOMENTS = [
    *[("config.json", "before", 1), ("config.json", "after", 1)],
    *[("last.safetensors", "before", 4), ("last.safetensors", "after", 6)],
    *[("0001.safetensors", "before", 1), ("0002.safetensors", "after", 1)],
    ("subwords.json", "after", 1),
]


@pytest.mark.parametrize(("name", "when", "number"), MOMENTS)
def test_death_at_any_file_does_no_harm(
    whole, tmp_path, monkeypatch, name, when, number
):
    """Before a file takes its name, or right after; then the run goes on."""
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
            until_done(whole.config, folder)
    again = until_done(whole.config, folder)
    assert lines_of(folder) == lines_of(whole.folder)
    assert equal(weights(again), weights(whole))
    assert not list(folder.glob("**/*.unfinished"))


@pytest.mark.parametrize("update", [1, 7, 14])
def test_death_at_any_update_does_no_harm(whole, tmp_path, monkeypatch, update):
    """With rubbish left by writes that were cut off."""

    def dying(trainer, group):
        if trainer.step + 1 == update:
            raise Stop
        return step(trainer, group)

    step, folder = Trainer._update, tmp_path / "run"
    with monkeypatch.context() as patch:
        patch.setattr(Trainer, "_update", dying)
        with pytest.raises(Stop):
            until_done(whole.config, folder)
    if update <= 4:
        assert not (folder / "last.safetensors").exists()
    else:
        kept = read_state(folder / "last.safetensors")[1]["step"]
        assert update - 1 - kept < LOG_EVERY
        for name in ("last.safetensors", "config.json", "epochs/0002.safetensors"):
            (folder / f"{name}.unfinished").write_bytes(b"half")
        with (folder / "metrics.jsonl").open("a") as file:
            file.write('{"step": 9')  # a line cut off
    again = until_done(whole.config, folder)
    assert lines_of(folder) == lines_of(whole.folder)
    assert equal(weights(again), weights(whole))


def test_a_finished_run_is_not_trained_again(whole):
    before = lines_of(whole.folder)
    again = until_done(whole.config, whole.folder)
    assert again.step == whole.step
    assert lines_of(whole.folder) == before
    assert equal(weights(again), weights(whole))


def test_the_peak_of_memory_is_that_of_all_parts_of_a_run(data, tmp_path, monkeypatch):
    """It does not fall, neither later in a process nor in the next one."""
    held = iter([5, 9])
    monkeypatch.setattr(trainer_module, "peak_memory", lambda _: next(held, 3))
    fresh(data, tmp_path / "run", max_epochs=1).train()
    longer = fresh(data, tmp_path / "run", max_epochs=2)
    assert longer.peak_memory == 9
    longer.train()
    assert longer.peak_memory == 9
    assert read_state(longer.last)[1]["peak_memory"] == 9


def test_a_run_can_be_made_longer(whole, data, tmp_path):
    short = fresh(data, tmp_path / "run", max_epochs=1)
    short.train()
    longer = fresh(data, tmp_path / "run", max_epochs=2, patience=7, average=3)
    longer.train()
    assert lines_of(longer.folder) == lines_of(whole.folder)
    assert from_json(tmp_path / "run" / "config.json").patience == 7


@pytest.mark.parametrize(
    ("entry", "value"),
    [("seed", 1), ("dropout", 0.2), ("batch_tokens", 100), ("few_shapes", True)],
)
def test_a_run_of_another_config_is_left_alone(whole, entry, value):
    before = {p: p.read_bytes() for p in whole.folder.glob("**/*") if p.is_file()}
    old = asdict(whole.config)[entry]
    message = f"holds a run with {entry} {old!r}, not {value!r}; name another folder"
    with pytest.raises(ValueError, match=message):
        Trainer(small_config(whole.config.data, **{entry: value}), whole.folder)
    after = {p: p.read_bytes() for p in whole.folder.glob("**/*") if p.is_file()}
    assert after == before


def test_a_config_that_cannot_be_built_takes_no_folder(data, tmp_path):
    """The next try, with what was wrong mended, is welcome there."""
    for wrong in ({"n_heads": 3}, {"model": "gpt"}, {"precision": "fp16"}):
        with pytest.raises(ValueError, match=r"3 heads|gpt|fp16"):
            fresh(data, tmp_path / "run", vocab_size=100, **wrong)
    with pytest.raises(ValueError, match="cannot be read as UTF-8 text"):
        fresh(tmp_path / "nowhere", tmp_path / "run")
    trainer = fresh(data, tmp_path / "run", vocab_size=110)
    other = fresh(data, tmp_path / "other", vocab_size=110)
    assert trainer.subwords.fingerprint() == other.subwords.fingerprint()


def spoil(folder, how):
    last, config = folder / "last.safetensors", folder / "config.json"
    if how == "cut":
        last.write_bytes(last.read_bytes()[:-100])
    elif how == "weights alone":
        last.write_bytes((folder / "epochs" / "0001.safetensors").read_bytes())
    elif how == "another size":
        save_state(last, nn.Linear(2, 2), None, step=1, scaler={})
    elif how == "config":
        config.write_text(config.read_text()[:50])
    elif how == "subwords":
        (folder / "subwords.json").write_text("{}")


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("cut", r"last\.safetensors is not a state of a training run"),
        ("weights alone", r"last\.safetensors has no entry .*step"),
        ("another size", "these are the weights of another model"),
        ("config", r"config\.json cannot be read as a config"),
        ("subwords", r"subwords\.json holds no subwords"),
    ],
)
def test_a_spoiled_folder_is_told_and_left_as_it_is(data, tmp_path, how, message):
    folder = tmp_path / "run"
    fresh(data, folder, max_epochs=1).train()
    spoil(folder, how)
    before = {p: p.read_bytes() for p in folder.glob("**/*") if p.is_file()}
    with pytest.raises(ValueError, match=message):
        fresh(data, folder, max_epochs=1)
    after = {p: p.read_bytes() for p in folder.glob("**/*") if p.is_file()}
    assert after == before


def test_a_run_may_go_on_in_another_precision(data, tmp_path, monkeypatch):
    """In fp16 the loss is scaled, which the old state knows nothing of."""
    folder = tmp_path / "run"
    fresh(data, folder, max_epochs=1).train()
    monkeypatch.setattr(trainer_module, "choose_precision", lambda *_: torch.float16)
    again = fresh(data, folder, max_epochs=2, precision="auto")
    assert again.scaler.is_enabled()
    assert again.epoch == 1


def test_a_log_line_cut_off_is_left_out(tmp_path):
    path = tmp_path / "metrics.jsonl"
    assert read_metrics(path) == []
    path.write_text(json.dumps({"step": 1}) + "\n" + '{"step": 2')
    assert read_metrics(path) == [{"step": 1}]


def test_a_state_without_its_config_is_not_resumed(data, tmp_path):
    fresh(data, tmp_path, max_epochs=1).train()
    (tmp_path / "config.json").unlink()
    with pytest.raises(ValueError, match=r"the state of a run, but not its config"):
        fresh(data, tmp_path, seed=7)
    assert not (tmp_path / "config.json").exists()


def test_a_trainer_that_fails_leaves_the_folder_free(data, tmp_path):
    """Even while somebody, such as a notebook, holds its traceback."""
    with pytest.raises(ValueError, match="3 heads") as held:
        fresh(data, tmp_path, n_heads=3)
    fresh(data, tmp_path).close()
    lock = FileLock(tmp_path / "lock")
    lock.acquire(timeout=0)
    lock.release()
    assert held.traceback


def test_the_folder_may_be_text(data, tmp_path):
    assert fresh(data, str(tmp_path / "run")).folder == tmp_path / "run"


def test_lowercased_text_is_scored_in_lower_case(data, tmp_path, monkeypatch):
    trainer = fresh(data, tmp_path, lowercase=True)
    perfect = trainer.val_texts.target
    capitals = [text.upper() for text in perfect]
    trainer.val_texts = trainer.val_texts._replace(target=capitals)
    monkeypatch.setattr(trainer, "_validation_outputs", lambda: perfect)
    trainer._end_epoch()
    assert lines_of(tmp_path)[-1]["validation_bleu"] == pytest.approx(100)
