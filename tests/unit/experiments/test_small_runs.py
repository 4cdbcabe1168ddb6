"""Each sweep, run once in small: it works, and its runs have the stored ones' form."""

import pytest
import torch
from compare import make_bahdanau

from attnbook.core import results
from attnbook.course.a1.writing import TokenModel
from attnbook.toy.data import SOURCE, TARGET, held_out_pairs
from attnbook.translation.configs import config
from attnbook.translation.corpora import Texts
from attnbook.translation.translator import Translator
from experiments.registry import find_experiments


def untrained(make, seed, steps=0):
    """A model of the toy language, instead of training one."""
    return make(len(SOURCE), len(TARGET)), []


def few(number):
    """So many held-out sentences instead of as many as are asked for."""
    return lambda clauses, *_, **__: held_out_pairs(clauses, number)


def stored(name):
    """The first of the stored runs."""
    return results.load(name)["runs"][0]


def measured(*_, **__):
    """What was measured of a trained model with attention."""
    run = stored("bahdanau")
    return {key: run[key] for key in ("exact", "by_clause", "align", "map")}


SHORT_LADDER = {"STEPS": 1, "WIDTH": 8}
CAPTIONS = Texts(
    ["A man and a woman talk under a tree."],
    ["Ein Mann und eine Frau unterhalten sich unter einem Baum."],
)


def one_caption(*_):
    """A translator, and a caption with an adjective and a possessive."""
    return Translator(), Texts(
        ["Two small children are being watched by their mother."],
        ["Zwei kleine Kinder werden von ihrer Mutter beobachtet."],
    )


ONE_DOG = {"load_texts": lambda *_: Texts(["A dog."], ["Ein Hund."]), "VERBS": ()}
SHORT_TEXTS = {"STEPS": 20, "LENGTH": 12, "HELD_OUT": 3}
TOY_TRANSLATOR = {
    "config": lambda _, **changes: config("toy", **changes | {"max_epochs": 1})
}
UNTRAINED_WRITER = {
    "train": lambda mask_of, *_: TokenModel(mask_of).eval(),
    "NUMBER": 4,
    "held_out_pairs": few(2),
}

# For a sweep what is made small: constants of its module. Then its first run is made.
SMALL = {
    # ch01
    "lost_words": {"train_toy_model": untrained, "held_out_pairs": few(8)},
    "sentence_goes_on": {
        "train_toy_model": untrained,
        "held_out_pairs": few(100),
        "greedy_translations": lambda *_: [("ul",), ("boran",)],
    },
    "exchanged_encoders": {
        "train_toy_model": untrained,
        "STEPS": 1,
        "exact_match": lambda *_: 0.5,
    },
    # ch02
    "halted_early": {"HALT": 2, "held_out_pairs": few(4)},
    "plateau": {"STEPS": 1, "held_out_pairs": few(4)},
    "late_attention": {
        "trained": lambda *_: make_bahdanau(),
        "held_out_pairs": few(2),
        "measure_translation": measured,
        "cover_medians": lambda *_: stored("late_attention")["covered"],
    },
    "click_or_cover": {"held_out_pairs": few(3)},
    # ch03
    "alignment_two_ways": {"train_toy_model": untrained, "held_out_pairs": few(8)},
    # ch04
    "look_up": {"TESTED": range(1, 9)},
    "translator_cuts": {"loaded": one_caption},
    "adjective_heads": {"loaded": one_caption},
    # ch05
    "two_colours": {"VARIANTS": {"one head": {"steps": 1}}},
    "heads": {"STEPS": 1},
    "two_sources": {"loaded": one_caption},
    # ch06
    "mask_by_layer": {"loaded": one_caption, "FIRST": 0},
    # ch07
    "positions": {"SHORT": 1},
    "positions_farther": {"LONG": 1, "LENGTHS": (24, 25, 26, 27)},
    "positions_farther_clamped": {"LONG": 1, "LENGTHS": (24,)},
    "position_vectors": {"SHORT": 1},
    "clock_hands_at_48": {"SHORT": 1},
    "slow_hand_at_48": {"SHORT": 1},
    "few_hands_beyond": {"LONG": 1},
    "captions_without_order": ONE_DOG,
    "captions_moved": ONE_DOG,
    # ch08
    "warm_up": {"STEPS": 1},
    "ladder": SHORT_LADDER,
    "weights_and_norm": SHORT_LADDER,
    "ladder_controls": SHORT_LADDER,
    "linear_weights": SHORT_LADDER,
    "plain_for_longer": SHORT_LADDER,
    "embedding_scale": {"REVERSAL_STEPS": 20},
    "embedding_proportion": {"REVERSAL_STEPS": 20},
    # ch09
    "boxes_off": {"SENTENCES": 2},
    "word_by_box": {"SENTENCES": 2},
    "word_due": {"SENTENCES": 2},
    "word_ending": {"SENTENCES": 2},
    "word_just_read": {"WORDS": 50},
    "suspect_tests": {"STEPS": 1, "new_sequences": lambda task: next(task(99, 8))},
    # ch11
    "first_token": {"RECALL_STEPS": 1},
    "first_token_longer": {"RECALL_STEPS": 1},
    "induction": {"FEW_STEPS": 1},
    "induction_query_first": {"FIRST_STEPS": 1, "EVERY": 1},
    # ch12
    "without_warm_up": TOY_TRANSLATOR,
    "without_scaling": TOY_TRANSLATOR,
    "quick_recipe": TOY_TRANSLATOR,
    "quick_without": TOY_TRANSLATOR,
    # a1
    "writers": UNTRAINED_WRITER,
    "writers_longer": UNTRAINED_WRITER,
    # a2
    "block_nine_seeds": SHORT_TEXTS,
    "block_controls": SHORT_TEXTS,
    "block_advice": SHORT_TEXTS,
    "qk_norm_with_biases": SHORT_TEXTS,
    "sharp_heads": SHORT_TEXTS | {"FULL_ROWS": 4, "WATCHED_AT": (0, 9)},
    # a3
    "sinks": {"load_texts": lambda *_: CAPTIONS},
    "linear_state": {"RECALL_STEPS": 1, "N": 4, "THREE_SEEDS": (0,)},
}


def form(found):
    """What is stored without its numbers."""
    if isinstance(found, dict):
        return {key: form(value) for key, value in found.items()}
    if isinstance(found, list | tuple):
        return [form(found[0])] if found else []
    return "number" if isinstance(found, int | float) else type(found).__name__


OTHER = {"block_controls": {"control": "pre-norm, warm-up"}}
"""Settings of a run that is smaller than the first one."""
SWEEPS = [name for name, run in find_experiments().items() if hasattr(run, "settings")]


@pytest.mark.parametrize("name", SWEEPS)
def test_a_small_run_has_the_form_of_the_stored_ones(name, monkeypatch):
    sweep = find_experiments()[name]
    for constant, value in SMALL.get(name, {}).items():
        monkeypatch.setitem(sweep.run.__globals__, constant, value)
    settings = {key: values[0] for key, values in sweep.settings.items()}
    settings |= {"steps": 1} if "steps" in settings else {}
    settings |= OTHER.get(name, {})
    torch.manual_seed(settings.get("seed", 0))
    run = settings | sweep.run(**settings)
    assert form(run) == form(stored(name))
