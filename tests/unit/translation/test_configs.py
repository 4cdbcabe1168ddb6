"""Configs: what may be asked for, from names, entries and files."""

import json
import math
from dataclasses import asdict, fields

import numpy as np
import pytest
import torch

from attnbook.translation.configs import (
    CONFIGS,
    RULES,
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


def test_the_published_config_is_the_recipe_of_wu_et_al():
    """As in the arguments and defaults of their code, on two processes.

    They end after ten epochs without gain. We test every tenth epoch, to save time, and
    never end early.
    """
    run = config("multi30k-published")
    assert (run.d_model, run.n_heads, run.n_layers, run.d_ff) == (128, 4, 4, 256)
    assert (run.dropout, run.smoothing, run.clip, run.norm_first) == (0.3, 0.1, 25, 0)
    assert (run.peak_learning_rate, run.warmup) == (0.005, 2000)
    assert run.patience == run.max_epochs
    assert (run.batch_tokens, run.batches_per_update, run.average) == (4096, 2, 10)
    assert (run.lowercase, run.moses, run.per_token) == (True, True, True)
    assert not run.score_tests


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
        ("clip", "2", 2),
        ("norm_first", "True", True),
        ("norm_first", "false", False),
        ("peak_learning_rate", "None", None),
        ("peak_learning_rate", "null", None),
        ("peak_learning_rate", "5e-4", 5e-4),
        ("peak_learning_rate", "NONE", None),
        ("dropout", ".2", 0.2),
        ("dropout", "0.", 0.0),
        ("clip", "5.", 5.0),
        ("dropout", "+.2", 0.2),
        ("norm_first", "TRUE", True),
        ("data", "some/folder", "some/folder"),
        ("source", "fr", "fr"),
    ],
)
def test_text_is_read_as_the_entrys_kind(entry, text, value):
    found = getattr(config("toy", **{entry: text}), entry)
    assert found == value
    assert type(found) is type(value)


def test_only_what_is_named_changes():
    old, new = config("toy"), config("toy", seed=5)
    assert asdict(old) | {"seed": 5} == asdict(new)
    assert config("toy").seed == 0


@pytest.mark.parametrize(
    ("entry", "value", "words"),
    [
        ("dropout", 1.0, "from 0 to below 1"),
        ("dropout", -0.1, "from 0 to below 1"),
        ("dropout", math.nan, "from 0 to below 1"),
        ("smoothing", 1, "from 0 to below 1"),
        ("seed", -1, "from 0 to below"),
        ("seed", 2**24, "from 0 to below"),
        ("r_drop", -1.0, "0 or more"),
        ("r_drop", math.inf, "0 or more, and finite"),
        ("peak_learning_rate", math.inf, "more than 0, at most"),
        ("clip", 0, "more than 0"),
        *[
            (name, value, "more than 0, at most 1e30")
            for name in ("clip", "peak_learning_rate")
            for value in ("NaN", "Infinity", "-Infinity", math.nan, 1e31, -1)
        ],
        ("scored_share", math.nan, "more than 0, at most 1"),
        ("save_minutes", math.inf, "0 or more, and finite"),
        ("warmup", 2**31, "1 or more, below"),
        ("peak_learning_rate", 0.0, "more than 0"),
        ("device", "gpu", "auto, cpu, cuda or mps"),
        ("precision", "fp8", "auto, fp32, bf16 or fp16"),
        ("seed", "many", "of type int"),
        ("seed", "1.5", "of type int"),
        ("n_layers", 1.0, "of type int"),
        ("n_layers", True, "of type int"),
        ("n_layers", None, "of type int"),
        ("norm_first", "maybe", "of type bool"),
        ("norm_first", 1, "of type bool"),
        ("dropout", "much", "of type float"),
        ("dropout", "None", "of type float"),
        ("data", 3, "of type str"),
        *[(name, 0, "1 or more") for name in RULES["1 or more, below 2**31"][1]],
    ],
)
def test_a_value_that_is_not_allowed_is_named(entry, value, words):
    with pytest.raises(ValueError, match=rf"{entry} is .*; it must be ({words})"):
        config("toy", **{entry: value})


@pytest.mark.parametrize(
    ("entry", "value"),
    [
        ("d_model", np.int64(64)),
        ("seed", np.uint8(3)),
        ("dropout", np.float32(0.25)),
        ("clip", np.float64(2)),
        ("clip", np.int32(2)),
        ("norm_first", np.True_),
        ("dropout", torch.tensor(0.25)),
        ("seed", torch.tensor(3)),
        ("data", np.str_("toy")),
    ],
)
def test_numpys_numbers_become_pythons(entry, value, tmp_path):
    """So that they can be written as JSON."""
    found = config("toy", **{entry: value})
    assert found == config("toy", **{entry: value.item()} if entry != "data" else {})
    assert type(getattr(found, entry)) in (int, float, bool, str)
    (tmp_path / "config.json").write_text(to_json(found))
    assert from_json(tmp_path / "config.json") == found


@pytest.mark.parametrize(
    ("entry", "value", "message"),
    [
        ("dropout", "0,2", "'0,2'; it must be of type float: a number, such as 0.1$"),
        (
            "n_layers",
            np.float64(2),
            "2.0; it must be of type int: a whole number, such",
        ),
        ("n_layers", "", "''; it must be of type int: a whole number"),
        ("n_layers", torch.ones(2), r"tensor\(\[1., 1.\]\); it must be of type int"),
        ("norm_first", "yes", "'yes'; it must be of type bool: true or false$"),
        ("norm_first", 0, "0; it must be of type bool: true or false$"),
        ("peak_learning_rate", "", "''; it must be of type float | None: a number"),
        ("dropout", "nan", "nan; it must be from 0 to below 1$"),
    ],
)
def test_what_is_no_such_value_is_told_what_is_one(entry, value, message):
    with pytest.raises(ValueError, match=f"^{entry} is {message}"):
        config("toy", **{entry: value})


def test_every_number_has_a_rule():
    numbers = {f.name for f in fields(Config) if "str" not in f.type} - {
        f.name for f in fields(Config) if f.type == "bool"
    }
    ruled = {name for _, names in RULES.values() for name in names}
    assert numbers <= ruled


def test_two_languages_must_differ():
    with pytest.raises(ValueError, match="source and target are both 'de'; name two"):
        Config(source="de", target="de")


@pytest.mark.parametrize(
    ("wrong", "right"),
    [("sed", "seed"), ("max_epoch", "max_epochs"), ("layers", "n_layers"), ("x", None)],
)
def test_a_mistyped_entry_is_answered_with_the_nearest(wrong, right):
    message = f"did you mean '{right}'" if right else "there are data, source"
    with pytest.raises(ValueError, match=rf"no entry '{wrong}'; {message}"):
        config("toy", **{wrong: 1})


def test_unknown_names_are_answered_with_the_known_ones():
    with pytest.raises(ValueError, match=r"no config 'toi'; did you mean 'toy'\?"):
        config("toi")
    with pytest.raises(ValueError, match=r"no config 'huge'; .* toy, .*multi30k-tiny"):
        config("huge")
    with pytest.raises(ValueError, match=r"no entry 'layers'; .*n_layers"):
        config("toy", layers=3)
    with pytest.raises(ValueError, match="no entry 'layers'"):
        changed(Config(), layers="3")


def test_a_file_may_leave_entries_out(tmp_path):
    path = tmp_path / "mine.json"
    path.write_text('{"seed": 4, "dropout": 0.2}')
    assert from_json(path) == Config(seed=4, dropout=0.2)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "cannot be read as a config"),
        (b"{seed: 4}", "cannot be read as a config"),
        (b'{"seed": 4', "cannot be read as a config"),
        (b"\xff\xfe", "cannot be read as a config"),
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


def test_the_config_of_another_version_is_named():
    values = asdict(Config()) | {"beta_2": 0.98}
    with pytest.raises(
        ValueError, match=r"^facts: no entry 'beta_2'; .* another version of attnbook"
    ):
        from_stored(values, "facts")
    with pytest.raises(ValueError, match=r"^the stored config: no entry 'beta_2'"):
        from_stored(values)
    assert from_stored(asdict(Config()) | {"save_every": 3}) == Config()


def test_only_the_transformer_can_be_compiled():
    assert config("toy", compile=True).compile
    with pytest.raises(ValueError, match="compile is True and model is 'bahdanau'"):
        config("toy", compile=True, model="bahdanau")
    with pytest.raises(ValueError, match=r"'luong'; batches of few shapes .*=false"):
        config("multi30k-tiny", model="luong")
