"""Figures of chapter 1."""

import matplotlib.pyplot as plt
import torch
from matplotlib.figure import Figure
from torch import nn

from attnbook.core.vocabulary import BOS, EOS
from attnbook.course.kit.colours import COLOURS, PALE_GREY
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
