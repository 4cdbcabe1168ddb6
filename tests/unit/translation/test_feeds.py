"""What a run is fed with; and that updates on fixed shapes can be recorded."""

from collections import Counter
from types import SimpleNamespace

import pytest
import torch
from small_runs import lines_of, small_config, write_texts
from torch.utils._python_dispatch import TorchDispatchMode

from attnbook.core.vocabulary import PAD
from attnbook.translation.feeds import Feed, FixedFeed, target_tokens
from attnbook.translation.trainer import Trainer

CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return write_texts(tmp_path_factory.mktemp("texts"))


@pytest.fixture
def trainer(data, tmp_path):
    return Trainer(small_config(data, few_shapes=True, dropout=0.3), tmp_path / "run")


@pytest.mark.parametrize("kind", [Feed, FixedFeed])
def test_every_epoch_has_another_order_and_all_pairs(trainer, kind):
    feed = kind(trainer.train_pairs, trainer.config, CPU)
    one, other = feed.groups(0), feed.groups(1)
    assert one == kind(trainer.train_pairs, trainer.config, CPU).groups(0)
    assert one != other
    for groups in (one, other):
        pairs = [pair for group in groups for cut in group for pair in cut]
        assert sorted(pairs) == sorted(trainer.train_pairs)
        made = [feed.make(cut) for group in groups for cut in group]
        words = sum((batch.tgt_out != PAD).sum().item() for batch in made)
        assert words == target_tokens([trainer.train_pairs])


def test_fixed_batches_are_made_once_and_have_few_shapes(trainer):
    first, second = (
        Counter(id(trainer.feed.make(cut)) for cut in trainer.feed.cut(epoch))
        for epoch in (0, 1)
    )
    assert first == second
    assert {*first.values()} == {1}
    shapes = {trainer.feed.make(cut).src.shape for cut in trainer.feed.batches}
    assert len(shapes) < len(first) / 2
    for rows, length in shapes:
        assert rows * length <= trainer.config.batch_tokens


RECORDED = {
    **{
        "few_shapes": True,
        "cuda_graphs": True,
        "compile": False,
        "model": "transformer",
    },
    **{"precision": torch.bfloat16, "world": 1, "device": "cuda"},
}


@pytest.mark.parametrize(
    ("entry", "value"),
    [
        *{"few_shapes": False, "cuda_graphs": False, "compile": True}.items(),
        *{"model": "luong", "precision": torch.float16, "world": 2}.items(),
        ("device", "cpu"),
    ],
)
def test_only_what_stays_the_same_is_recorded(entry, value):
    def recorded(**facts):
        facts = SimpleNamespace(**facts)
        trainer = SimpleNamespace(
            config=facts,
            processes=facts,
            precision=facts.precision,
            device=torch.device(facts.device),
        )
        return Trainer.recorded.fget(trainer)

    assert recorded(**RECORDED)
    assert not recorded(**{**RECORDED, entry: value})


class NoWaiting(TorchDispatchMode):
    """Refuses what must wait for a GPU: to read values, or sizes that follow from them.

    Its recording would fail, or hold the first batch's numbers.
    """

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        name = func.overloadpacket.__name__
        if name in ("_local_scalar_dense", "nonzero", "lift_fresh", "masked_select"):
            raise AssertionError(f"{name} in what is to be recorded")
        return func(*args, **kwargs or {})


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
@pytest.mark.parametrize("changes", [{}, {"norm_first": True}, {"r_drop": 1.0}])
def test_nothing_that_is_recorded_waits(
    data, tmp_path, monkeypatch, precision, changes
):
    """As on a GPU: ids are looked at on a CPU alone, and not while it is traced."""
    monkeypatch.setattr(torch.compiler, "is_compiling", lambda: True)
    changes = {"few_shapes": True, "precision": precision, **changes}
    trainer = Trainer(small_config(data, **changes), tmp_path / "run")
    batch = trainer.feed.make(trainer.feed.batches[0])
    n_tokens = torch.full((), 7.0)
    trainer._gradient(*batch, n_tokens)  # first calls may set something up
    with NoWaiting():
        trainer._gradient(*batch, n_tokens)
        with pytest.raises(AssertionError, match="_local_scalar_dense"):
            n_tokens.item()


def test_a_run_that_is_recorded_is_a_plain_one(data, tmp_path, monkeypatch):
    """On a CPU each recording is a call; gradients stay where they are."""
    config = small_config(data, few_shapes=True, max_epochs=1, dropout=0.3)
    plain = Trainer(config, tmp_path / "plain")
    monkeypatch.setattr(Trainer, "recorded", True)
    recorded = Trainer(config, tmp_path / "recorded")
    places = [p.grad for p in recorded.model.parameters()]
    recorded.seconds_per_update()
    recorded.train(bar=False)
    monkeypatch.undo()
    plain.train(bar=False)
    for line, other in zip(
        *map(lines_of, (plain.folder, recorded.folder)), strict=True
    ):
        assert line == pytest.approx(other, abs=1e-5)
    for p, place in zip(recorded.model.parameters(), places, strict=True):
        assert p.grad is place
        assert not p.grad.any()


def test_validation_may_be_rare_and_of_a_share(data, tmp_path):
    changes = {
        "max_epochs": 5,
        "validate_every": 2,
        "scored_share": 0.25,
        "patience": 2,
    }
    trainer = Trainer(small_config(data, **changes), tmp_path / "run")
    asked, validate = [], trainer._validate
    trainer._validate = lambda epochs: asked.append(epochs) or validate(epochs)
    trainer.lowest = -1.0  # never reached
    assert len(trainer._validation_outputs()) == 3  # of 12
    trainer.train(bar=False)
    assert trainer.epoch == 2
    assert trainer.epochs_without_gain == 2
    again = Trainer(small_config(data, **{**changes, "patience": 9}), tmp_path / "run")
    again.train(bar=False)
    log = [line for line in lines_of(again.folder) if "validation_loss" in line]
    assert [line["epoch"] for line in log] == [2, 4, 5]
    assert again.epochs_without_gain == 5
    assert asked == [2]
    names = sorted(path.name for path in (again.folder / "epochs").iterdir())
    assert names == ["0004.safetensors", "0005.safetensors"]


def test_a_stop_after_an_epoch_without_validation_loses_nothing(data, tmp_path):
    config = small_config(data, max_epochs=3, validate_every=3, save_minutes=1e9)
    trainer = Trainer(config, tmp_path / "run")
    end = trainer._end_epoch
    trainer._end_epoch = lambda: trainer.stop() or end()
    trainer.train(bar=False)
    assert trainer.stopped
    assert Trainer(config, tmp_path / "run").epoch == 1
