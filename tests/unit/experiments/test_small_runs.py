"""Each sweep, run once in small: it works, and its runs have the stored ones' form."""

from types import SimpleNamespace

import pytest
import torch
from compare import make_bahdanau

from attnbook.core import results
from attnbook.course.a1.writing import TokenModel
from attnbook.toy.data import SOURCE, TARGET, held_out_pairs
from attnbook.translation.corpora import Texts
from attnbook.translation.translator import Translator
from experiments.registry import find_experiments


def untrained(make, seed):
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


ONE_STEP = {"STEPS": 1, "new_sequences": lambda task: next(task(99, 8))}

# For each sweep what is made small: constants of its module, and one run's settings.
SMALL = {
    # ch01
    "lost_words": (
        {"train_toy_model": untrained, "held_out_pairs": few(8)},
        {"seed": 0},
    ),
    "context_contents": ({"SENTENCES": 4}, {"seed": 0, "model": "untrained"}),
    "sentence_goes_on": (
        {
            "train_toy_model": untrained,
            "held_out_pairs": few(100),
            "greedy_translations": lambda *_: [("ul",), ("boran",)],
        },
        {"seed": 0},
    ),
    "exchanged_encoders": (
        {"train_toy_model": untrained, "STEPS": 1, "exact_match": lambda *_: 0.5},
        {"seed": 0, "encoder": "static_last"},
    ),
    # ch02
    "halted_early": (
        {"HALT": 2, "held_out_pairs": few(4)},
        {"model": "static", "seed": 0},
    ),
    "frozen_at_first": (
        {"HALT": 0, "alignment_accuracy": lambda *_: 1.0},
        {"frozen": "the score", "seed": 0},
    ),
    "scaled_gradients": (
        {"HALT": 0, "alignment_accuracy": lambda *_: 1.0},
        {"scaled": "W, U and v", "factor": 10, "seed": 0},
    ),
    "plateau": ({"STEPS": 1, "held_out_pairs": few(4)}, {"seed": 0}),
    "late_attention": (
        {
            "trained": lambda *_: make_bahdanau(),
            "held_out_pairs": few(2),
            "measure_translation": measured,
            "cover_medians": lambda *_: stored("late_attention")["covered"],
        },
        {"held": 0, "seed": 0},
    ),
    "click_or_cover": ({"held_out_pairs": few(3)}, {"held": 0}),
    # ch03
    "alignment_two_ways": (
        {"train_toy_model": untrained, "held_out_pairs": few(8)},
        {"model": "dot", "seed": 0},
    ),
    "frozen_encoders": (
        {"held_out_pairs": few(1)},
        {"seed": 0, "encoder": "untrained", "steps": 1},
    ),
    # ch04
    "look_up": ({"TESTED": range(1, 9)}, {"d_k": 4, "score": "additive", "seed": 0}),
    "root_and_start": (
        {"TESTED": range(1, 9)},
        {
            "d_k": 4,
            "form": "no root, small start",
            "learning_rate": 0.01,
            "seed": 0,
        },
    ),
    "translator_cuts": (
        {"loaded": one_caption},
        {"translator": "shipped", "cut": "cross-attention"},
    ),
    "adjective_heads": ({"loaded": one_caption}, {"translator": "shipped"}),
    "fused_cost": ({}, {"n": 8, "form": "readable"}),
    # ch05
    "two_colours": (
        {"VARIANTS": {"one head": {"steps": 1}}},
        {"model": "one head", "seed": 0},
    ),
    "heads": ({"STEPS": 1}, {"heads": 1, "seed": 0}),
    "encoder_heads": (
        {"loaded": one_caption, "N_SENTENCES": 0},
        {"translator": "shipped"},
    ),
    "two_sources": ({"loaded": one_caption}, {"translator": "shipped"}),
    "wrong_split": ({"STEPS": 1}, {"split": "wrong", "length": 8, "seed": 0}),
    # ch06
    "mask_at_inference": (
        {"held_out_pairs": few(2)},
        {"model": "toy", "causal": False},
    ),
    "mask_by_layer": (
        {"loaded": one_caption, "FIRST": 0},
        {"translator": "shipped", "layers": "none"},
    ),
    "padding_toy": ({"held_out_pairs": few(1)}, {"with_mask": False}),
    # ch07
    "positions": ({"SHORT": 1}, {"positions": "none", "steps": 1, "seed": 0}),
    "positions_farther": (
        {"LONG": 1, "LENGTHS": (24, 25, 26, 27)},
        {"positions": "rotary", "seed": 0},
    ),
    "positions_farther_clamped": ({"LONG": 1, "LENGTHS": (24,)}, {"seed": 0}),
    "position_vectors": ({"SHORT": 1}, {"vector": "p and p²", "seed": 0}),
    "clock_hands_at_48": ({"SHORT": 1}, {"hands": 2, "seed": 0}),
    "slow_hand_at_48": ({"SHORT": 1}, {"seed": 0}),
    "few_hands_beyond": ({"LONG": 1}, {"hands": 1, "seed": 0}),
    "order_by_mask": (
        {"ch06": SimpleNamespace(train_recall=lambda *_: [0.5, 0.5])},
        {"masked": 1, "seed": 0},
    ),
    "captions_without_order": (
        {"load_texts": lambda *_: Texts(["A dog."], ["Ein Hund."]), "VERBS": ()},
        {"kept": "encoder"},
    ),
    "captions_moved": (
        {"load_texts": lambda *_: Texts(["A dog."], ["Ein Hund."]), "VERBS": ()},
        {"moved": "by 1"},
    ),
    # ch08
    "warm_up": (
        {"STEPS": 1},
        {"rate": 1e-3, "norm_first": False, "warm_up": 30, "seed": 0},
    ),
    "ladder": (SHORT_LADDER, {"row": "1 plain", "seed": 0}),
    "weights_and_norm": (
        SHORT_LADDER,
        {"row": "skip, network", "rate": 1e-3, "warm_up": False, "seed": 0},
    ),
    "ladder_rates": (
        SHORT_LADDER,
        {"row": "post-norm", "rate": 1e-3, "warm_up": True, "seed": 0},
    ),
    "ladder_controls": (SHORT_LADDER, {"row": "pre-norm, no network", "seed": 0}),
    "linear_weights": (SHORT_LADDER, {"row": "post-norm", "rate": 1e-3, "seed": 0}),
    "plain_for_longer": (SHORT_LADDER, {"n_layers": 1, "rate": 1e-3, "seed": 0}),
    "xor_of_two_bits": ({"XOR_STEPS": 1}, {"heads": 0, "network": "none", "seed": 0}),
    "embedding_scale": (
        {"REVERSAL_STEPS": 20},
        {"draw": "N(0, 1)", "scaled": True, "seed": 0},
    ),
    "embedding_proportion": (
        {"REVERSAL_STEPS": 20},
        {"draw": "N(0, 1)", "scaled": True, "seed": 0},
    ),
    # ch09
    "boxes_off": ({"SENTENCES": 2}, {"box": "decoder positions", "clauses": 1}),
    "word_by_box": ({"SENTENCES": 2}, {"clauses": 1}),
    "word_due": ({"SENTENCES": 2}, {"change": "decoder positions"}),
    "word_ending": ({"SENTENCES": 2}, {"exchanged": "word read"}),
    "word_just_read": (
        {"WORDS": 50},
        {"tables": "N(0, 1)", "layers": "nn.Linear", "norm_first": True, "seed": 0},
    ),
    "broken_builds": (ONE_STEP, {"build": "as published", "seed": 0}),
    "sixteen_heads": (ONE_STEP, {"bugs": [], "seed": 0}),
    "broken_builds_longer": (ONE_STEP, {"bug": "softmax", "seed": 0}),
    "suspect_tests": (ONE_STEP, {"seed": 0}),
    "suspect_sevens": ({"STEPS": 1}, {"seed": 0}),
    # ch10
    # ch11
    "first_token": ({"RECALL_STEPS": 1}, {"n": 8, "kind": "GRU", "seed": 0}),
    "first_token_longer": (
        {"RECALL_STEPS": 1},
        {"n": 8, "kind": "contiguous", "seed": 0},
    ),
    "first_token_room": ({"RECALL_STEPS": 1}, {"n": 8, "seed": 0}),
    "induction": ({"FEW_STEPS": 1}, {"kind": "dilated", "seed": 0}),
    "induction_longer": ({"FEW_STEPS": 1}, {"kind": "GRU", "seed": 0}),
    "induction_query_first": (
        {"FIRST_STEPS": 1, "EVERY": 1},
        {"kind": "GRU", "d": 64, "seed": 0},
    ),
    "running_parity": ({}, {"steps": 1, "kind": "two encoder layers", "seed": 0}),
    "layer_batches": ({}, {"batch": 1, "kind": "self-attention"}),
    "weights_tell": (
        {"train_toy_model": untrained, "held_out_pairs": few(1)},
        {"model": "transformer", "seed": 0},
    ),
    # ch12
    "toy_ablation": (
        {
            "train_variant": lambda *_: SimpleNamespace(
                validation_loss=lambda: 0.5, model=torch.nn.Linear(1, 1), step=1
            ),
            "greedy_exact_match": lambda *_: 0.5,
        },
        {"change": "as it is", "seed": 0},
    ),
    # a1
    "writers": (
        {
            "train": lambda mask_of, *_: TokenModel(mask_of).eval(),
            "NUMBER": 4,
            "held_out_pairs": few(2),
        },
        {"seed": 0},
    ),
    "writers_longer": (
        {
            "train": lambda mask_of, *_: TokenModel(mask_of).eval(),
            "NUMBER": 4,
            "held_out_pairs": few(2),
        },
        {"seed": 0},
    ),
    # a2
    "block_nine_seeds": (
        {"STEPS": 20, "LENGTH": 12, "HELD_OUT": 3},
        {"variant": "linear_start, no_biases", "seed": 0},
    ),
    "block_controls": (
        {"STEPS": 20, "LENGTH": 12, "HELD_OUT": 3},
        {"control": "pre-norm, warm-up", "seed": 0},
    ),
    # a3
    "sinks": (
        {"load_texts": lambda *_: CAPTIONS},
        {"translator": "shipped", "keeps": "average"},
    ),
    "sink_weights": ({"load_texts": lambda *_: CAPTIONS}, {"translator": "shipped"}),
    "linear_state": (
        {"RECALL_STEPS": 1, "N": 4, "THREE_SEEDS": (0,)},
        {"kind": "linear", "heads": 2},
    ),
}


def form(found):
    """What is stored without its numbers."""
    if isinstance(found, dict):
        return {key: form(value) for key, value in found.items()}
    if isinstance(found, list | tuple):
        return [form(found[0])] if found else []
    return "number" if isinstance(found, int | float) else type(found).__name__


@pytest.mark.parametrize("name", SMALL)
def test_a_small_run_has_the_form_of_the_stored_ones(name, monkeypatch):
    constants, settings = SMALL[name]
    sweep = find_experiments()[name]
    for constant, value in constants.items():
        monkeypatch.setitem(sweep.run.__globals__, constant, value)
    torch.manual_seed(settings.get("seed", 0))
    run = settings | sweep.run(**settings)
    assert form(run) == form(stored(name))


def test_every_sweep_is_run_in_small():
    sweeps = {n for n, run in find_experiments().items() if hasattr(run, "settings")}
    assert sweeps == {*SMALL}
