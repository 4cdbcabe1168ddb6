"""Stored results know the code that made them, and how far another run is from them."""

import importlib.util
import json
import math
import sys
from functools import partial
from itertools import count

import pytest

from attnbook.core import results
from experiments import registry
from experiments.provenance import differences, fingerprint, in_part, mark, save

SOURCE = '''
"""A module of experiments."""
from functools import partial
from pathlib import Path
STEPS = 3
SIZES = {"small": 1}
RULES = [
    lambda x: x,
    lambda x: x + 7,
]

class Base:
    def width(self):
        return 2

class Model(Base):
    """A model."""

    @property
    def depth(self):
        return helper(1)

def helper(x):
    """What a model needs."""
    return x + 1  # a comment

def unused(x):
    return x

def run(seed):
    def inner():
        return SIZES["small"]
    return {"loss": RULES[1](Model().depth * STEPS + inner())}

def made(part):
    def closed():
        return part
    return closed

closed = made(STEPS)
filled = partial(run, 4)
'''

EDITED = """def run(seed=0):
    for path in Path().glob("trial*.py"):
        path.write_text("# new" + chr(10) + path.read_text())
    return {"runs": [1]}
"""


@pytest.fixture
def load(tmp_path, monkeypatch):
    """Load the module's code with something in it replaced."""

    number = count()

    def loaded(old="", new="", name="trial"):
        assert old in SOURCE
        path = tmp_path / f"trial{next(number)}.py"
        path.write_text(SOURCE.replace(old, new) if old else SOURCE)
        spec = importlib.util.spec_from_file_location(f"experiments.{name}", path)
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, spec.name, module)
        spec.loader.exec_module(module)
        return module

    return loaded


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("x + 1", "x + 2"),
        ("STEPS = 3", "STEPS = 4"),
        ('"small": 1', '"small": 2'),
        ("return 2", "return 3"),
        ("Model().depth *", "Model().depth +"),
        ("x + 7", "x + 8"),
    ],
    ids=["a function", "a constant", "an entry", "a base class", "the experiment", "λ"],
)
def test_the_code_behind_an_experiment_changes_its_fingerprint(load, old, new):
    assert fingerprint(load(old, new).run) != fingerprint(load().run)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("What a model needs.", "Another word."),
        ("  # a comment", ""),
        ("def unused(x):\n    return x", "def unused(x):\n    return 2"),
    ],
    ids=["a docstring", "a comment", "what it doesn't use"],
)
def test_words_and_other_code_leave_it(load, old, new):
    assert fingerprint(load(old, new).run) == fingerprint(load().run)


def test_code_may_move_to_another_module(load):
    assert fingerprint(load(name="moved").run) == fingerprint(load().run)


def test_what_is_filled_in_and_closed_over_counts(load):
    module = load()
    kinds = [module.run, module.filled, partial(module.run, 5), module.closed]
    kinds += [partial(module.run, seed=5), module.made(4)]
    assert len({fingerprint(kind) for kind in kinds}) == len(kinds)


def test_results_are_stored_whole_and_found_again(load, tmp_path, monkeypatch):
    run = load().run
    path = save("trial", run, {"runs": [1, 2]}, 12.3, tmp_path / "new")
    assert [p.name for p in path.parent.iterdir()] == ["trial.json"]
    monkeypatch.setattr(results, "FOLDER", path.parent)
    found = results.load("trial")
    assert found == json.loads(path.read_text())
    assert found["command"] == "python -m attnbook.course trial"
    assert found["code"] == fingerprint(run)
    assert found["runs"] == [1, 2]
    assert found["seconds"] == 12
    with pytest.raises(ValueError, match="no stored result 'other'; there are trial"):
        results.load("other")


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_a_result_that_is_not_finite_is_not_stored(load, tmp_path, number):
    with pytest.raises(ValueError, match=r"trial\.json.*runs.*NaN or infinite"):
        save("trial", load().run, {"runs": [{"loss": number}]}, 1, tmp_path)
    assert not (tmp_path / "trial.json").exists()


def test_differences_are_told_in_spreads_of_their_kind():
    stored = {"steps": 3, "runs": [{"loss": 1.0, "at": 1}, {"loss": 3.0, "at": 2}]}
    near = {"steps": 3, "runs": [{"loss": 1.5, "at": 1}, {"loss": 3.1, "at": 2}]}
    assert differences(stored, stored) == {}
    assert differences(stored, near) == {"runs/loss": 0.25}
    assert differences(stored, stored | {"steps": 4}) == {"steps": math.inf}
    assert differences(stored, {"steps": 3, "runs": []}) == {"form": math.inf}
    assert differences({"said": ["a", "b"]}, {"said": ["a", "c"]}) == {"said": math.inf}
    spoken, heard = {"said": ["a", 1.0, 2.0]}, {"said": ["a", 1.5, 2.0]}
    assert differences(spoken, heard) == {"said": 0.5}


def test_some_of_the_runs_are_compared_by_the_spread_of_all():
    stored = {"runs": [{"loss": 1.0}, {"loss": 3.0}]}
    assert differences(stored, {"runs": [{"loss": 1.5}]}, runs=1) == {"runs/loss": 0.25}
    assert differences(stored, {"runs": []}, runs=1) == {"form": math.inf}


def test_an_experiment_is_repeated_in_part(monkeypatch):
    monkeypatch.setattr(registry, "EXPERIMENTS", {})

    @registry.sweep(rate=[1, 2], seed=[0, 1])
    def trial(rate, seed):
        return {"loss": rate + seed}

    def of_seeds(seeds=(5, 6, 7)):
        return {"runs": [*seeds]}

    whole = registry.EXPERIMENTS["trial"]
    assert in_part(whole, 3)()["runs"] == whole()["runs"][:3]
    assert in_part(partial(of_seeds, seeds=(8, 9)), 1)() == {"runs": [8]}
    assert in_part(lambda: {}, 1) is None


def test_a_repeated_result_names_the_code_that_ran(load, tmp_path, monkeypatch):
    """Not what its file became meanwhile."""
    run, same = (load("def run(seed):", EDITED).run for _ in range(2))
    path = save("trial", same, {"runs": [1]}, 1, tmp_path / "stored")
    before = json.loads(path.read_text())
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(results, "FOLDER", path.parent)
    monkeypatch.setattr(registry, "EXPERIMENTS", {"trial": run})
    assert registry.again(["trial"], limit=9, marks=True) == 0
    after = json.loads(path.read_text())
    assert "repeated" in after
    assert after["code"] == before["code"]


def test_a_repeated_result_keeps_its_numbers(load, tmp_path):
    path = save("trial", load().run, {"runs": [1, 2]}, 12.3, tmp_path)
    before = json.loads(path.read_text())
    changed = load("x + 1", "x + 2").run
    mark("trial", changed, 0.25, 1, tmp_path)
    after = json.loads(path.read_text())
    assert after["code"] == fingerprint(changed) != before["code"]
    assert (after["repeated"]["runs"], after["repeated"]["apart"]) == (1, 0.25)
    kept = before.keys() - {"code", "commit"}
    assert {key: after[key] for key in kept} == {key: before[key] for key in kept}
