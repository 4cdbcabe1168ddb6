"""States on disk: whole or not at all, never code; and their average."""

import pickle
from pathlib import Path

import pytest
import torch
from compare import close, make_transformer
from safetensors.torch import save_file
from torch import nn

from attnbook.translation.training_state import (
    average_weights,
    load_state,
    save_state,
)

NUMBERS = {
    **{"step": 7, "epoch": 1, "updates_done": 2, "epochs_without_gain": 0, "world": 1},
    **{"lowest": float("inf"), "seconds": 0.1 + 0.2, "peak_memory": 9},
}


def model_of(seed, width=8):
    torch.manual_seed(seed)
    return make_transformer(12, d_model=width, n_heads=2, n_layers=1, d_ff=8)


def adam_of(model, rate=1e-2):
    return torch.optim.Adam(model.parameters(), lr=rate)


def updated(model, optimizer, seed):
    """Make an update whose gradient depends on the seed, and return the weights."""
    g = torch.Generator().manual_seed(seed)
    for parameter in model.parameters():
        parameter.grad = torch.randn(parameter.shape, generator=g)
    optimizer.step()
    return [p.detach().clone() for p in model.parameters()]


@pytest.fixture
def state(tmp_path):
    """A state after two updates: file, model and optimizer."""
    model = model_of(0)
    optimizer = adam_of(model)
    for seed in (1, 2):
        updated(model, optimizer, seed)
    path = tmp_path / "last.safetensors"
    save_state(path, model, optimizer, **NUMBERS)
    return path, model, optimizer


def test_a_read_state_goes_on_exactly_as_the_old_one(state):
    path, model, optimizer = state
    other = model_of(1)
    new = adam_of(other)
    assert load_state(path, other, new) == NUMBERS
    one, two = updated(model, optimizer, 3), updated(other, new, 3)
    assert all(torch.equal(a, b) for a, b in zip(one, two, strict=True))
    assert other.out.weight is other.target_embedding.weight


class Bomb:
    """Unpickled, it would make a file."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


def bomb(path):
    return {"model": Bomb(path.parent / "exploded")}


SPOILED = {
    "missing": lambda path: path.unlink(),
    "foreign": lambda path: save_file({"a": torch.zeros(2)}, path),
    "pickle": lambda path: path.write_bytes(pickle.dumps(bomb(path))),
    "torch.save": lambda path: torch.save(bomb(path), path),
    "empty": lambda path: path.write_bytes(b""),
    "cut": lambda path: path.write_bytes(path.read_bytes()[:-9]),
}


@pytest.mark.parametrize("how", SPOILED)
def test_a_file_that_is_no_state_is_named_and_never_run(state, how):
    path, model, optimizer = state
    SPOILED[how](path)
    before = [p.clone() for p in model.parameters()]
    message = r"last\.safetensors is not a state of a training run"
    with pytest.raises(ValueError, match=message):
        load_state(path, model, optimizer)
    assert not (path.parent / "exploded").exists()
    for parameter, was in zip(model.parameters(), before, strict=True):
        assert torch.equal(parameter, was)
    with pytest.raises(ValueError, match=message):
        average_weights([path])


def test_the_state_of_another_size_is_refused_and_nothing_changes(state):
    path, _, _ = state
    other = model_of(1, width=16)
    new = adam_of(other)
    before = [p.clone() for p in other.parameters()]
    with pytest.raises(ValueError, match=r"in the model, .* another model"):
        load_state(path, other, new)
    assert not new.state
    for parameter, was in zip(other.parameters(), before, strict=True):
        assert torch.equal(parameter, was)


def test_the_average_is_the_mean(tmp_path):
    models = [model_of(seed) for seed in range(3)]
    paths = [tmp_path / f"{i}.safetensors" for i in range(3)]
    for path, model in zip(paths, models, strict=True):
        save_state(path, model, adam_of(model))
    found = average_weights(paths)
    assert set(found) == {name for name, _ in models[0].named_parameters()}
    for name, w in found.items():
        total = sum(dict(m.named_parameters())[name].double() for m in models)
        assert w.dtype == torch.float32
        assert torch.equal(w, (total / 3).float())
    weight = next(iter(found))
    alone = dict(models[1].named_parameters())[weight]
    assert torch.equal(average_weights(paths[1:2])[weight], alone)


def test_it_is_summed_with_more_digits_than_it_has(tmp_path):
    """In float32, a small number after a large one would be lost."""
    paths = [tmp_path / f"{i}" for i in range(3)]
    for path, value in zip(paths, (1e8, 1.0, -1e8), strict=True):
        layer = nn.Linear(1, 1)
        nn.init.constant_(layer.weight, value)
        save_state(path, layer)
    close(average_weights(paths)["weight"], torch.full((1, 1), 1 / 3), atol=1e-7)


def test_whole_numbers_are_the_last_ones(tmp_path):
    paths = [tmp_path / f"{i}" for i in range(2)]
    for path, count in zip(paths, (3, 8), strict=True):
        norm = nn.BatchNorm1d(2)
        norm.num_batches_tracked.fill_(count)
        norm.running_mean.fill_(count)
        save_state(path, norm)
    found = average_weights(paths)
    assert found["num_batches_tracked"] == 8
    assert found["num_batches_tracked"].dtype == torch.int64
    assert found["running_mean"].tolist() == [5.5, 5.5]


def test_nothing_cannot_be_averaged():
    with pytest.raises(ValueError, match="no state to average; train for"):
        average_weights([])
