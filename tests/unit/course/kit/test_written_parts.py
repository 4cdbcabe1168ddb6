"""What a reader has who writes every part: a file, and a Transformer that learns."""

import re
from dataclasses import replace
from pathlib import Path

import nbformat
import pytest
from notebook_cells import run_cell

from attnbook import course
from attnbook.course import my_translator, save_part
from attnbook.course.kit.exercises.stages import MODULES, find_part
from attnbook.toy import TARGET, held_out_pairs, load_toy_model, make_batch
from attnbook.translation.configs import CPU
from attnbook.translation.corpora import Texts

BOOK = Path(__file__).resolve().parents[4] / "book"


def solved(name):
    """The names of a notebook in which a part's skeleton and solution were run.

    That is each cell that judges the part, with those before it in the exercise.
    """
    names = {}
    for path in sorted(BOOK.glob("ch*.ipynb")):
        cells = nbformat.read(path, as_version=4).cells
        opened = 0
        for place, cell in enumerate(cells):
            if re.search(r"\{(exercise|solution)-start\}", cell.source):
                opened = place
            if cell.cell_type == "code" and f'judge("{name}"' in cell.source:
                for one in cells[opened : place + 1]:
                    if one.cell_type == "code":
                        run_cell(one.source, names)
    return names


@pytest.fixture(scope="module")
def whole_file(tmp_path_factory):
    """The file of a reader who solves every exercise; nbval sees each one judged."""
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("solved")
        patch.chdir(folder)
        patch.delenv("ATTNBOOK_PARTS", raising=False)
        patch.setattr(course, "judge", lambda *answers: None)
        for name in MODULES:
            names = solved(name)
            save_part(name, *(names[label] for label in find_part(name).names))
    return (folder / "my_transformer.py").read_text(encoding="utf-8")


def test_all_solutions_fit_together_in_one_file(whole_file):
    """A reader who solves every exercise has all parts, each made of the others."""
    names = run_cell(whole_file, {})
    labels = {label for name in MODULES for label in find_part(name).names}
    assert labels <= {*names}
    for label in labels:
        assert not re.search(rf"^from attnbook.* import {label}$", whole_file, re.M)


@pytest.fixture
def mine(whole_file):
    """The names in that file."""
    return run_cell(whole_file, {})


def test_the_readers_transformer_translates(mine):
    """With the weights of the package's trained model, and the reader's decoding."""
    trained = load_toy_model("transformer")
    model = mine["Transformer"](trained.config).eval()
    weights = trained.state_dict()
    del weights["out.weight"]  # the table of target embeddings
    model.load_state_dict(weights)
    pairs = held_out_pairs(clauses=2, number=20)
    found = mine["greedy"](model, make_batch(pairs).src, max_len=30).tolist()
    right = [TARGET.encode(pair.target) for pair in pairs]
    ended = [row[: row.index(2)] for row in found]
    assert sum(map(list.__eq__, ended, map(list, right))) >= 19


def test_two_lines_train_the_readers_file_and_translate(
    whole_file, tmp_path, capsys, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ATTNBOOK_PARTS", raising=False)
    (tmp_path / "my_transformer.py").write_text(whole_file, encoding="utf-8")
    translate = my_translator(30)  # by default 300, after which it translates
    *parts, said = capsys.readouterr().out.splitlines()
    yours = ("Transformer", "greedy", "training")
    assert parts == [f"{name}: yours, from my_transformer.py." for name in yours]
    assert re.fullmatch(r"After 30 steps \d+ of 20 new sentences are right\.", said)
    assert {*translate("the dog sees a cat").split()} <= {*TARGET.words}
    with pytest.raises(ValueError, match="'Hund' is not among"):
        translate("the Hund sees a cat")
    with pytest.raises(ValueError, match="is no sentence: give its words as one"):
        translate(["the", "cat"])
    with pytest.raises(ValueError, match=r"steps is .*: give the number of updates"):
        my_translator(["the cat sees a dog"])


def test_the_readers_file_learns_captions(whole_file, tmp_path, capsys, monkeypatch):
    """Two of them by heart, cut into the shipped translator's subwords."""
    module = "attnbook.course.kit.exercises.my_translator"
    both = Texts(["A dog runs.", "Two men sit."], ["Ein Hund rennt.", "Zwei sitzen."])
    monkeypatch.setattr(f"{module}.load_texts", lambda *_: both)
    small = {"d_model": 32, "n_layers": 1, "d_ff": 32, "dropout": 0.0}
    monkeypatch.setattr(f"{module}.CPU", replace(CPU, **small))
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ATTNBOOK_PARTS", raising=False)
    (tmp_path / "my_transformer.py").write_text(whole_file, encoding="utf-8")
    translate = my_translator(250, captions=True)
    assert [translate(text) for text in both.source] == both.target
    *parts, heard, last = capsys.readouterr().out.splitlines()
    assert all("yours, from my_transformer.py." in line for line in parts)
    assert re.fullmatch(r"250 of 250 updates: loss \d\.\d\d", heard)
    assert last == "After 250 steps BLEU is 100.0 on 2 new captions."
