"""The exercises in which a part is written: the skeleton waits, the solution passes."""

import re
from dataclasses import replace
from pathlib import Path

import nbformat
import pytest
from notebook_cells import run_cell

from attnbook.course import my_translator, save_part
from attnbook.course.kit.exercises.stages import MODULES, find_part
from attnbook.toy import TARGET, held_out_pairs, load_toy_model, make_batch
from attnbook.translation.configs import CPU
from attnbook.translation.corpora import Texts

BOOK = Path(__file__).resolve().parents[4] / "book"


def exercises_on(name):
    """For each cell that judges a part: its chapter, and it with the cells before it.

    These begin with the Markdown cell that opens the exercise or the solution.
    """
    for path in sorted(BOOK.glob("ch*.ipynb")):
        cells = nbformat.read(path, as_version=4).cells
        opened = 0
        for place, cell in enumerate(cells):
            if re.search(r"\{(exercise|solution)-start\}", cell.source):
                opened = place
            if cell.cell_type == "code" and f'judge("{name}"' in cell.source:
                yield path.stem, cells[opened : place + 1]


def run(cells, names):
    """Run the code among some cells."""
    for cell in cells:
        if cell.cell_type == "code":
            run_cell(cell.source, names)


def solved(name):
    """The names of a notebook in which a part's skeleton and solution were run."""
    names = {}
    for _, cells in exercises_on(name):
        run(cells, names)
    return names


@pytest.mark.parametrize("name", MODULES)
def test_the_skeleton_waits_and_the_solution_passes_and_explains(name, capsys):
    part, names = find_part(name), {}
    (chapter, skeleton), (same_chapter, solution) = exercises_on(name)
    assert chapter == same_chapter
    assert chapter.startswith(f"ch{part.chapter:02d}_")
    run(skeleton, names)
    assert capsys.readouterr().out.endswith(f"{name}: your turn.\n")
    assert f'save_part("{name}", ' in skeleton[-1].source
    run(solution, names)
    passed = f"{name}: all {len(part.stages)} stages passed."
    assert capsys.readouterr().out.splitlines()[0] == passed
    explanation = solution[0].source.partition("{solution-start}")[2]
    assert len(explanation.split()) > 40, "the solution should explain"


@pytest.fixture(scope="module")
def whole_file(tmp_path_factory):
    """The file of a reader who solves every exercise."""
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("solved")
        patch.chdir(folder)
        patch.delenv("ATTNBOOK_PARTS", raising=False)
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
    translate = my_translator()
    *parts, said = capsys.readouterr().out.splitlines()
    yours = ("Transformer", "greedy", "training")
    assert parts == [f"{name}: yours, from my_transformer.py." for name in yours]
    assert re.fullmatch(
        r"After 300 steps (19|20) of 20 new sentences are right\.", said
    )
    pair = held_out_pairs(clauses=2, number=1)[0]
    assert translate(" ".join(pair.source)) == " ".join(pair.target)
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
