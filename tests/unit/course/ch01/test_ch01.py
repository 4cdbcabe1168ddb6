"""Chapter 1 and its laboratory: what is computed, and drawn of models just trained."""

import json

import matplotlib.pyplot as plt
import pytest
import torch
from notebook_cells import printed

from attnbook.analysis.occlusion import context_changes
from attnbook.core import results
from attnbook.core.vocabulary import EOS
from attnbook.course.ch01 import figures, lab
from attnbook.data.batching import pad
from attnbook.models.seq2seq import InitialState
from attnbook.toy.baselines import loss_knowing
from attnbook.toy.data import SOURCE, TARGET, held_out_pairs
from attnbook.toy.language import NOUNS, translate_by_rule
from experiments import ch01_runs

pytestmark = pytest.mark.usefixtures("as_in_the_pages")


def untrained(make=InitialState, seed=0):
    torch.manual_seed(seed)
    return make(len(SOURCE), len(TARGET)), []


def test_captions_tell_what_is_drawn():
    model, _ = untrained()
    frames, captions, alts = figures.prediction_frames(model, "a dog sees a cat")
    assert len(frames) == len(captions) == len(alts) == 6
    assert captions[0].startswith("Previous tokens: none. Most probable next token: ")
    assert captions[2].startswith("Previous tokens: bodus dos. ")
    for frame, caption, alt in zip(frames, captions, alts, strict=True):
        top = frame.axes[0].get_yticklabels()[-1].get_text()
        assert f"next token: {top}," in caption
        assert f"tokens: {top} " in alt
        plt.close(frame)


def test_the_loss_stands_next_to_what_is_reached_without_the_source():
    ax = lab.loss_figure([3.0] * 100).axes[0]
    levels = sorted(line.get_ydata()[0] for line in ax.get_lines())
    assert levels == pytest.approx([loss_knowing(1), loss_knowing(0), 3.0])


def test_gradients_are_relative_to_the_last_position():
    norms = {name: torch.tensor([0.1, 1.0, 2.0]) for name in "abc"}
    line = lab.gradient_figure(norms).axes[0].get_lines()[0]
    assert [*line.get_ydata()] == pytest.approx([1.0, 0.5, 0.05])


def test_the_kinds_of_words_are_told_apart():
    def knows_nouns(src, tgt_in):
        targets = [
            [*TARGET.encode(translate_by_rule(SOURCE.decode(row)).target), EOS]
            for row in src.tolist()
        ]
        ids = pad(targets)
        nouns = torch.tensor(TARGET.encode([*NOUNS.values()]))
        found = torch.where(torch.isin(ids, nouns), ids, torch.full_like(ids, EOS))
        return torch.nn.functional.one_hot(found, len(TARGET)).float()

    model = torch.nn.Module()
    model.forward = knows_nouns
    made = dict(lab.kind_table(model, held_out_pairs(1, 50)).rows())
    assert made == {"adjective": 0, "determiner": 0, "noun": 100, "verb": 0}


# What does the context hold?


def test_changes_are_averaged_by_kind_and_clause():
    encoder = untrained()[0].encoder
    pairs = [
        translate_by_rule("the old farmer sees a bird and a dog hears the big cat"),
        translate_by_rule("a dog helps the cat and this king finds a robot"),
    ]
    found = ch01_runs.changes_by_kind(encoder, pairs)
    changes = [context_changes(encoder, pair)[:, 0] for pair in pairs]
    places = {  # of the words of a kind in both sentences, clause by clause
        "determiner": [([0, 4], [0, 3]), ([7, 10], [6, 9])],
        "adjective": [([1], []), ([11], [])],
        "noun": [([2, 5], [1, 4]), ([8, 12], [7, 10])],
        "verb": [([3], [2]), ([9], [8])],
    }
    for kind, clauses in places.items():
        means = [
            torch.cat([of[at] for of, at in zip(changes, where, strict=True)]).mean()
            for where in clauses
        ]
        assert found[kind] == pytest.approx([*map(float, means)], abs=6e-4)


def test_a_small_run_has_the_form_of_the_stored_one(monkeypatch):
    monkeypatch.setattr(ch01_runs, "SEEDS", (0,))
    monkeypatch.setattr(ch01_runs, "SENTENCES", 4)
    monkeypatch.setattr(ch01_runs, "train_toy_model", untrained)
    found = json.loads(json.dumps(ch01_runs.context_contents()))
    stored = results.load("context_contents")
    assert found.keys() <= stored.keys()
    one_seed = [run for run in stored["runs"] if run["seed"] == 0]
    for run, wanted in zip(found["runs"], one_seed, strict=True):
        assert (run["model"], run["changes"].keys()) == (
            wanted["model"],
            wanted["changes"].keys(),
        )


# The page's own code, at its edges


def test_the_encoder_of_the_page_keeps_columns_that_are_padding_alone():
    torch.manual_seed(0)
    encoder = printed("ch01", "Encoder")(9, 4, 3)
    src = pad([[4, 5, 6, EOS], [7, EOS]])
    states, last = encoder(torch.nn.functional.pad(src, (0, 3)))
    alone, alone_last = encoder(src[1:, :2])
    assert states.shape == (2, 7, 6)
    assert torch.allclose(states[1:, :2], alone, atol=1e-6)
    assert torch.allclose(last[1:], alone_last, atol=1e-6)
    assert not states[1, 2:].any()
