"""What the live models are made from: weights, a table, stored examples."""

import re
from pathlib import Path

import nbformat
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


def test_the_tracked_files_are_those_of_the_checkpoints(tmp_path):
    export_live.main(tmp_path)
    made = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    tracked = {path.name: path.read_bytes() for path in (LIVE / "data").iterdir()}
    assert made.keys() == tracked.keys()
    for name in made:
        assert made[name] == tracked[name], f"{name}: run scripts/export_live.py"


def test_what_the_page_cannot_compute_is_refused():
    with pytest.raises(ValueError, match=r"transformer is post-norm; .* norm_first"):
        export_live.model_spec("transformer", fresh("transformer", norm_first=False))
    model = fresh("bahdanau")
    with torch.no_grad():
        model.score.U.weight[0, 0] = 1e5
    with pytest.raises(ValueError, match=r"score\.U\.weight of bahdanau .* float16"):
        export_live.model_spec("bahdanau", model)


# --- The stored example ---

SAID = [
    ("maron ken lipas dos mirat", 5),
    ("maron ken bodus dos mirat", 4),
    ("maron ken", 2),
    ("", 0),
    ("maron ken lipas dos mirat ul maron ken", 5),
    ("maron velin ken lipas dos mirat", 1),  # all places behind the first are shifted
]


@pytest.mark.parametrize(("said", "hits"), SAID)
def test_words_in_their_place_are_counted(said, hits):
    right = translate_by_rule("the farmer sees a bird").target
    assert sum(live.mark(said.split(), right)) == hits


def test_a_fault_in_one_clause_does_not_shift_the_next():
    right = translate_by_rule("the farmer sees a bird and a dog finds the cat").target
    said = ["maron", "ken", "mirat", "ul", "bodus", "dos", "nikan", "ken", "tekut"]
    wanted = [True, True, False, True, True, True, True, True, True]
    assert live.mark(said, right) == wanted


def test_a_changed_file_gets_a_new_version(tmp_path):
    file = tmp_path / "model.js"
    file.write_text("1")
    first = live.version_of([file])
    assert first == live.version_of([file])
    file.write_text("2")
    assert live.version_of([file]) != first
    assert live.version_of([file], "more") != live.version_of([file])


def test_only_pages_with_a_live_figure_load_its_files():
    class App:
        def __init__(self):
            self.files = []

        def add_css_file(self, name):
            self.files.append(name)

        def add_js_file(self, name, **_):
            self.files.append(name)

    def loaded(body):
        app = App()
        live.add_files(app, "page", "", {"body": body}, None)
        assert len(app.files) == len({*app.files})
        return {*app.files}

    assert loaded("<p>text</p>") == set()
    figures = (
        '<figure data-models="{}"><figure data-translator><div class="live-clicks">'
    )
    every = loaded(figures + '<figure data-preset="free">')
    assert all((LIVE.parent / name).is_file() for name in every)
    assert {Path(name) for name in every} == {
        path.relative_to(LIVE.parent)
        for path in LIVE.rglob("*.*s")
        if path.parent != LIVE / "data"
        and path.name not in {"explorers.js", "charts.js"}  # explorers' own
        and path.relative_to(LIVE).as_posix()  # the loader loads these
        not in {"playground/engine.js", "playground/view.js"}
    }


# --- The engine as course material ---


def equations():
    """The equations of the chapters: label → number, such as 2.4."""
    numbers = {}
    for path in sorted((ROOT / "book").glob("ch*.ipynb")):
        cells = nbformat.read(path, as_version=4).cells
        text = "\n".join(c.source for c in cells if c.cell_type == "markdown")
        labels = re.findall(r"\$\$ \((eq-[a-z0-9-]+)\)", text)
        chapter = int(path.stem[2:4])
        numbers |= {label: f"{chapter}.{i}" for i, label in enumerate(labels, 1)}
    return numbers


def test_the_engine_names_equations_by_their_numbers():
    known, seen = equations(), set()
    for path in LIVE.glob("*.js"):
        text = path.read_text(encoding="utf-8")
        for number, label in re.findall(r"(\d+\.\d+), (eq-[a-z0-9-]+)", text):
            assert number == known[label], f"{path.name}: {label} is {known[label]}"
            seen.add(label)
    assert {"eq-gru", "eq-additive", "eq-attention", "eq-multi-head", "eq-ffn"} <= seen
