"""Figures of chapter 1."""

import matplotlib.pyplot as plt
import torch
from matplotlib.figure import Figure
from torch import nn

from attnbook.core import results
from attnbook.core.vocabulary import BOS, EOS
from attnbook.course.kit.colours import COLOURS, PALE_GREY
from attnbook.course.kit.exact_match import with_clauses
from attnbook.course.kit.html_tables import Table
from attnbook.course.kit.tables import Value, pivot, stored_runs
from attnbook.decoding.steps import token_log_probs
from attnbook.toy.data import SOURCE, TARGET
from attnbook.toy.language import translate_by_rule


@torch.no_grad()
def prediction_frames(
    model: nn.Module, sentence: str
) -> tuple[list[Figure], list[str], list[str]]:
    """Draw what the decoder predicts at each step under teacher forcing."""
    targets = translate_by_rule(sentence).target
    state = model.start(torch.tensor([[*SOURCE.encode(sentence.split()), EOS]]))
    inputs = [BOS, *TARGET.encode(targets)]
    figures, captions, alts = [], [], []
    for t, target in enumerate([*targets, "<eos>"]):
        logits, state = model.step(torch.tensor([inputs[t]]), state)
        p, ids = token_log_probs(logits)[0].exp().topk(5)
        words = [TARGET.words[i] for i in ids.tolist()]
        figures.append(_frame(words, p.tolist(), target))
        verdict = "correct" if words[0] == target else f"the target is {target}"
        captions.append(
            f"Previous tokens: {' '.join(targets[:t]) or 'none'}. Most probable next "
            f"token: {words[0]}, {p[0]:.2f} ({verdict})."
        )
        shares = ", ".join(f"{word} {x:.2f}" for word, x in zip(words, p, strict=True))
        alts.append(f"Bars of the five most probable tokens: {shares}.")
    return figures, captions, alts


def _frame(words: list[str], p: list[float], target: str) -> Figure:
    fig, ax = plt.subplots(figsize=(5.5, 2.5))
    colours = [COLOURS["target"] if word == target else PALE_GREY for word in words]
    ax.barh(words[::-1], p[::-1], color=colours[::-1])
    ax.set(xlim=(0, 1), xlabel="probability of the next token")
    ax.tick_params(left=False)
    return fig


MODELS = {
    "initial_state": "initial state only",
    "static_narrow": "static context, s_0 instead of c",
    "static_last": "static context",
}
SETTINGS = {  # how the names of stored results end: the width of a decoder state
    "": 64,
    "_faster": 64,
    "_longer": 64,
    "_faster_longer": 64,
    "_thirty_times": 64,
    "_wider": 192,
    "_wider_longer": 192,
}


def models_table() -> Table:
    """Exact match on one clause and on two: a row a model, mean and range."""
    runs = [{"model": MODELS[key], **run} for key in MODELS for run in stored_runs(key)]
    values = (with_clauses("exact", "exact match", n) for n in (1, 2))
    return pivot(runs, "model", None, *values)


def settings_table() -> Table:
    """Exact match on two clauses: a row a setting, a column each for two models."""
    runs = []
    for key in ("initial_state", "static_last"):
        for how, width in SETTINGS.items():
            if key + how == "static_last_wider_longer":  # never trained
                continue
            stored = results.load(key + how)
            setting = f"{stored['steps']:,} steps, learning rate {stored['rate']}"
            about = {"model": MODELS[key], "width": width, "setting": setting}
            runs += [{**about, **run} for run in stored["runs"]]
    name = "exact match, two clauses"
    two = Value(lambda run: run["exact"]["2"], "%", 100, 1, name)
    names = {"width": "states of width {}"}
    return pivot(runs, "setting", "model", two, groups="width", names=names)
