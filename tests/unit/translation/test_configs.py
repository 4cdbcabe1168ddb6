"""Configs: what may be asked for, from names, entries and files."""

import json
import math
from dataclasses import asdict, fields

import numpy as np
import pytest
import torch

from attnbook.translation.configs import (
    CONFIGS,
    Config,
    changed,
    config,
    from_json,
    from_stored,
    to_json,
)


def test_the_base_config_is_the_papers_base_model():
    base = config("base")
    assert (base.d_model, base.n_heads, base.n_layers, base.d_ff) == (512, 8, 6, 2048)
    assert (base.dropout, base.smoothing, base.warmup) == (0.1, 0.1, 4000)
    assert (base.peak_learning_rate, base.average, base.norm_first) == (None, 5, False)
    assert base.batch_tokens == 25_000


@pytest.mark.parametrize("name", CONFIGS)
def test_a_config_comes_back_from_its_file(tmp_path, name):
    path = tmp_path / "config.json"
    path.write_text(to_json(config(name)))
    assert from_json(path) == from_json(str(path)) == config(name)
    assert json.loads(path.read_text()) == asdict(config(name))


@pytest.mark.parametrize(
    ("entry", "text", "value"),
    [
        ("seed", "3", 3),
        ("dropout", "0.25", 0.25),
        ("optimizer", "muon", "muon"),
        ("norm_first", "True", True),
        ("peak_learning_rate", "null", None),
        ("peak_learning_rate", "5e-4", 5e-4),
        ("source", "7", "7"),
    ],
)
def test_text_is_read_as_the_entrys_kind(entry, text, value):
    found = config("toy", **{entry: text})
    assert getattr(found, entry) == value
    assert type(getattr(found, entry)) is type(value)
    assert asdict(config("toy")) | {entry: value} == asdict(found)


COUNTS = [field.name for field in fields(Config) if field.type == "Count"]


@pytest.mark.parametrize(
    ("entries", "values", "words"),
    [
        (["dropout"], [1.0, -0.1, math.nan, "nan", 1], "a number, from 0 to below 1"),
        (["smoothing"], ["much", "0,2", "None", None, ""], "a number, from 0 to below"),
        (["seed"], [-1, 2**24, "many", "1.5"], "a whole number, from 0 to below 2"),
        (COUNTS, [0, 2**31, 1.0, True, None], "a whole number, 1 or more, below 2"),
        (["n_layers"], [np.float64(2), torch.ones(2), ""], "a whole number, 1 or more"),
        (
            ["peak_learning_rate"],
            ["NaN", "Infinity", -1, 0, math.inf, 1e31, ""],
            "a number, more than 0, at most 1e30",
        ),
        (["norm_first"], ["maybe", 1, 0, "yes"], "true or false"),
        (["precision"], ["fp16", "fp8"], "auto, fp32 or bf16"),
        (["optimizer"], ["sgd", 0], "adam or muon"),
        (["data", "model"], [3], "text"),
    ],
)
def test_a_value_that_is_not_allowed_is_answered_with_what_is(entries, values, words):
    for entry in entries:
        for value in values:
            message = rf"^{entry} is (?s:.*); it must be {words}"
            with pytest.raises(ValueError, match=message):
                config("toy", **{entry: value})


@pytest.mark.parametrize(
    ("entry", "value"),
    [
        ("seed", np.uint8(3)),
        ("norm_first", np.True_),
        ("dropout", torch.tensor(0.25)),
    ],
)
def test_numpys_numbers_become_pythons(entry, value):
    """So that they can be written as JSON."""
    found = getattr(config("toy", **{entry: value}), entry)
    assert found == value.item()
    assert type(found) in (int, float, bool)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Config(source="de"), "source and target are both 'de'; name two"),
        (lambda: config("toy", sed=1), r"no entry 'sed'; did you mean 'seed'\?"),
        (lambda: config("toy", x=1), "no entry 'x'; there are data, source"),
        (lambda: changed(Config(), layers="3"), "no entry 'layers'; .*n_layers"),
        (lambda: config("toi"), r"no config 'toi'; did you mean 'toy'\?"),
    ],
)
def test_what_is_not_there_is_answered_with_what_is(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_a_file_may_leave_entries_out(tmp_path):
    path = tmp_path / "mine.json"
    path.write_text('{"seed": 4, "dropout": 0.2}')
    assert from_json(path) == Config(seed=4, dropout=0.2)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "cannot be read as a config"),
        (b'{"seed": 4', "cannot be read as a config"),
        (b"[1, 2]", "must hold one JSON object"),
        (b'{"sead": 4}', "no entry 'sead'; did you mean 'seed'"),
        (b'{"seed": -4}', "seed is -4; it must be"),
    ],
)
def test_a_file_that_is_no_config_is_refused(tmp_path, content, message):
    path = tmp_path / "mine.json"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ValueError, match=message) as error:
        from_json(path)
    assert str(path) in str(error.value)


def test_entries_of_older_versions_are_left_out_of_a_stored_config():
    assert from_stored(asdict(Config(seed=7)) | {"moses": False}) == Config(seed=7)
    with pytest.raises(ValueError, match="seed is -4; it must be"):
        from_stored({"seed": -4})


@pytest.mark.parametrize(("epochs", "patience"), [(6, 10), (36, 10), (120, 30)])
def test_a_long_run_has_more_patience(epochs, patience):
    assert Config(max_epochs=epochs).patience == patience
