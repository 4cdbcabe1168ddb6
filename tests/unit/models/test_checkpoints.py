"""Weights on disk: what is read is what was written, or an error says what to do."""

import json

import pytest
import torch
from compare import make_transformer, sentences
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from torch import nn

from attnbook.course.kit import toy_translation
from attnbook.models.checkpoints import (
    dequantize,
    load_weights,
    quantize,
    save_weights,
    tensors,
)
from attnbook.toy import models
from attnbook.toy.data import held_out_pairs
from attnbook.toy.metrics import exact_match

SRC = sentences(0, [6, 4], 12)
SIZES = {"d_model": 8, "n_heads": 2, "n_layers": 1, "d_ff": 12}


def model_of(seed, n_target=None, **kwargs):
    torch.manual_seed(seed)
    return make_transformer(12, n_target, **SIZES | kwargs)


@pytest.mark.parametrize("n_target", [None, 9])
def test_what_is_read_is_what_was_written(tmp_path, n_target):
    one, other = model_of(0, n_target).eval(), model_of(1, n_target)
    folder = str(tmp_path / "some" / "model")  # a text or a path
    save_weights(one, folder, model="any", folder=[0.5, 1.0])
    facts = load_weights(other, str(tmp_path / "some" / "model"))
    assert facts == {"model": "any", "folder": [0.5, 1.0]}
    assert not other.training
    assert torch.equal(other(SRC, SRC.clamp(max=8)), one(SRC, SRC.clamp(max=8)))
    assert other.out.weight is other.target_embedding.weight
    for mine, theirs in zip(one.parameters(), other.parameters(), strict=True):
        assert torch.equal(mine, theirs)
        assert theirs.requires_grad


def test_the_files_are_open_to_all(tmp_path):
    """Numbers and JSON; a matrix with two uses is there once."""
    model = model_of(0)
    save_weights(model, tmp_path, steps=700)
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["facts.json", "weights.safetensors"]
    with safe_open(tmp_path / "weights.safetensors", "pt") as file:
        found = set(file.keys())
    assert found == {name for name, _ in model.named_parameters()}
    assert "out.weight" not in found
    assert json.loads((tmp_path / "facts.json").read_text()) == {"steps": 700}
    assert (tmp_path / "facts.json").read_bytes().endswith(b"}\n")


def test_a_failed_save_leaves_the_old_files(tmp_path):
    save_weights(model_of(0), tmp_path, seed=0)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(TypeError):
        save_weights(model_of(1), tmp_path, seed={1, 2})  # no JSON
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_transposed_matrix_can_be_saved(tmp_path):
    """Which does not lie in memory as it is read."""
    one, other = nn.Linear(3, 2), nn.Linear(3, 2)
    one.weight = nn.Parameter(torch.arange(6.0).view(3, 2).T)
    save_weights(one, tmp_path)
    load_weights(other, tmp_path)
    assert torch.equal(other.weight, one.weight)


def spoil(folder, how):
    weights, facts = folder / "weights.safetensors", folder / "facts.json"
    if how == "no weights":
        weights.unlink()
    elif how == "no facts":
        facts.unlink()
    elif how == "cut":
        weights.write_bytes(weights.read_bytes()[:-5])
    elif how == "not safetensors":
        weights.write_bytes(b"not a safetensors file")
    elif how == "not JSON":
        facts.write_text("{seed:")
    elif how == "one less":
        rest = load_file(weights)
        del rest["encoder.0.feed_forward.W_1.bias"]
        save_file(rest, weights)
    else:
        save_file(load_file(weights) | {"more": torch.zeros(2)}, weights)


@pytest.mark.parametrize(
    ("how", "message"),
    [
        (
            "no weights",
            "no weights.safetensors in .*; give the folder of a saved",
        ),
        ("no facts", "no facts.json in"),
        ("cut", "cannot be read"),
        ("not safetensors", "cannot be read"),
        ("not JSON", "cannot be read"),
        ("one less", r"W_1.bias: \(12,\) in the model, missing in the file"),
        ("one more", r"more: missing in the model, \(2,\) in the file"),
    ],
)
def test_a_spoiled_folder_is_named_and_the_model_stays(tmp_path, how, message):
    save_weights(model_of(0), tmp_path)
    spoil(tmp_path, how)
    model = model_of(1)
    before = [p.clone() for p in model.parameters()]
    with pytest.raises(ValueError, match=message):
        load_weights(model, tmp_path)
    assert model.training
    for parameter, was in zip(model.parameters(), before, strict=True):
        assert torch.equal(parameter, was)


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ({"d_model": 16}, "decoder.0.*"),
        ({"n_layers": 2}, "decoder.1"),
        ({"d_ff": 16}, "feed_forward"),
        ({"norm_first": True}, "decoder_norm.bias"),
        ({"n_target": 9}, "target_embedding.weight"),
    ],
)
def test_weights_of_another_model_are_refused(tmp_path, kind, name):
    save_weights(model_of(0), tmp_path)
    with pytest.raises(ValueError, match=rf"{name}.* in the model, .*another model"):
        load_weights(model_of(1, **kind), tmp_path)


@pytest.mark.parametrize("name", models.TOY_MODELS)
def test_a_shipped_model_is_as_good_as_its_facts_say(name):
    """At its first 128 sentences of one clause and of four."""
    model = models.load_toy_model(name)
    assert not model.training
    path = models.FOLDER / name / "facts.json"
    facts = json.loads(path.read_text(encoding="utf-8"))
    assert (facts["seed"], facts["steps"]) == (0, toy_translation.STEPS)
    for clauses in (1, 4):
        found = exact_match(model, held_out_pairs(clauses)[:128])
        assert found == pytest.approx(facts["exact"][str(clauses)], abs=0.08)


def by_loop(w):
    """Round each entry to the nearest of 255 steps between the row's extremes."""
    rows = []
    for row in w.tolist():
        step = max(abs(x) for x in row) / 127
        rows.append([round(x / step) * step for x in row])
    return torch.tensor(rows)


def test_eight_bits_round_each_row_to_its_own_steps():
    g = torch.Generator().manual_seed(0)
    w = torch.randn(5, 7, generator=g) * torch.tensor([[1e-3], [1], [10], [0.1], [2]])
    bias = torch.randn(5, generator=g)
    small = quantize({"w": w, "bias": bias, "count": torch.tensor(3)})
    assert small["w"].dtype == torch.int8
    assert small["bias"].dtype == torch.float16
    back = dequantize(small)
    assert set(back) == {"w", "bias", "count"}
    assert torch.allclose(back["w"], by_loop(w), rtol=1e-5)
    assert (back["w"] - w).abs().le(w.abs().amax(-1, keepdim=True) / 254 * 1.01).all()
    assert torch.equal(back["count"], torch.tensor(3))


def test_weights_of_eight_bits_are_loaded_as_others(tmp_path):
    one, other = model_of(0).eval(), model_of(1)
    save_weights(one, tmp_path)
    save_file(quantize(tensors(one)), tmp_path / "weights.safetensors")
    load_weights(other, tmp_path)
    assert other.out.weight.dtype == torch.float32
    assert torch.allclose(other(SRC, SRC), one(SRC, SRC), atol=0.1)
    assert not torch.equal(other(SRC, SRC), one(SRC, SRC))


def test_eight_bits_without_their_scales_are_refused(tmp_path):
    one = model_of(0)
    save_weights(one, tmp_path)
    small = quantize(tensors(one))
    bare = {name: w for name, w in small.items() if not name.endswith(".scale")}
    save_file(bare, tmp_path / "weights.safetensors")
    with pytest.raises(ValueError, match=r"integers in the file"):
        load_weights(model_of(1), tmp_path)


# Wrappers


class Wrapped(nn.Module):
    """Names its model as ``DistributedDataParallel`` does."""

    def __init__(self, module):
        super().__init__()
        self.module = module


def partly_compiled(model):
    model.encoder[0].feed_forward = torch.compile(model.encoder[0].feed_forward)
    return model


WRAPPERS = {
    "none": lambda model: model,
    "compiled": torch.compile,
    "partly": partly_compiled,
    "both": lambda model: torch.compile(partly_compiled(model)),
    "parallel": Wrapped,
    "compiled in parallel": lambda model: Wrapped(torch.compile(model)),
    "parallel compiled": lambda model: torch.compile(Wrapped(model)),
}


@pytest.mark.parametrize(
    ("wrapper", "to"), zip(WRAPPERS, [*WRAPPERS][::-1], strict=True)
)
def test_a_compiled_model_has_the_weights_of_its_model(tmp_path, wrapper, to):
    """Whichever of the two is saved, whichever reads it: the names are the model's."""
    one, other = model_of(0).eval(), model_of(1)
    names = set(tensors(one))
    wanted = one(SRC, SRC)
    saved, read = WRAPPERS[wrapper](one), WRAPPERS[to](other)
    save_weights(saved, tmp_path, seed=0)
    assert set(load_file(tmp_path / "weights.safetensors")) == names
    assert load_weights(read, tmp_path) == {"seed": 0}
    assert not read.training
    other.encoder[0].feed_forward = getattr(
        other.encoder[0].feed_forward, "_orig_mod", other.encoder[0].feed_forward
    )
    assert torch.equal(other(SRC, SRC), wanted)
