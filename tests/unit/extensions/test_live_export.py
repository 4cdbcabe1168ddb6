"""What the live models are made from: weights, a table, stored examples."""

from pathlib import Path

import pytest
import torch

import export_live
import live
from attnbook.models.registry import make_model
from attnbook.toy import models
from attnbook.toy.data import SOURCE, TARGET
from attnbook.toy.language import translate_by_rule

ROOT = Path(__file__).resolve().parents[3]
LIVE = ROOT / "book" / "_static" / "live"


def fresh(name, **options):
    """A model with random weights."""
    torch.manual_seed(0)
    return make_model(
        name, len(SOURCE), len(TARGET), **models.TOY_MODELS[name] | options
    )


# --- Weights ---


def test_the_tracked_files_are_those_of_the_checkpoints():
    made = export_live.scripts()
    assert {path.name for path in (LIVE / "data").iterdir()} == {*made, "reader.js"}
    for name, text in made.items():
        tracked = (LIVE / "data" / name).read_text(encoding="utf-8")
        assert text == tracked, f"{name}: run scripts/export_live.py"


def test_what_the_page_cannot_compute_is_refused():
    with pytest.raises(ValueError, match=r"transformer is post-norm; .* norm_first"):
        export_live.model_spec("transformer", fresh("transformer", norm_first=False))
    model = fresh("bahdanau")
    with torch.no_grad():
        model.score.U.weight[0, 0] = 1e5
    with pytest.raises(ValueError, match=r"score\.U\.weight of bahdanau .* float16"):
        export_live.model_spec("bahdanau", model)


# --- The stored example ---


def test_a_fault_in_one_clause_does_not_shift_the_next():
    right = translate_by_rule("the farmer sees a bird and a dog finds the cat").target
    said = ["maron", "ken", "mirat", "ul", "bodus", "dos", "nikan", "ken", "tekut"]
    wanted = [True, True, False, True, True, True, True, True, True]
    assert live.mark(said, right) == wanted
