"""Figures and exercises of chapter 2."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import matplotlib.pyplot as plt
import seaborn as sns
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from torch import Tensor, nn

from attnbook.bahdanau import Bahdanau, BahdanauState
from attnbook.batches import SOURCE, TARGET, Batch, make_batch
from attnbook.book.exercises import register
from attnbook.book.style import COLOURS, INK, TEXT_COLOURS, WEIGHTS, text_colour
from attnbook.masks import masked_softmax
from attnbook.measures import alignment_score, attention_weights
from attnbook.toy_language import ADJECTIVES, DETERMINERS, NOUNS, VERBS, Pair, translate
from attnbook.vocabulary import BOS, EOS

GREY = "#B8BEC6"


# What an annotation has read


def annotations_figure(moved: dict[str, Tensor], words: Sequence[str]) -> Figure:
    """Draw which annotation reacts to which source word.

    Args:
        moved: For each title a matrix (S, S), True at [j, k] where annotation j changes
            when word k is changed.
        words: The S words.

    Returns:
        The figure, one panel a title, side by side.
    """
    fig, axes = plt.subplots(1, len(moved), figsize=(5.5, 3.5), sharey=True)
    for ax, (title, matrix) in zip(axes, moved.items(), strict=True):
        ax.pcolormesh(
            matrix.float(), cmap=WEIGHTS, vmax=1.5, edgecolors="white", linewidth=2
        )
        ax.set_title(title, pad=8)
        ax.set(xlabel="word changed", aspect="equal")
        _name_cells(ax, words, [f"$h_{j + 1}$" for j in range(len(words))])
    axes[0].set_ylabel("annotation")
    return fig


def _name_cells(ax: Axes, columns: Sequence[str], rows: Sequence[str]) -> None:
    """Write names at the columns, upright, and at the rows, the first row on top."""
    ax.set_xticks([j + 0.5 for j in range(len(columns))], columns, rotation=90)
    ax.set_yticks([i + 0.5 for i in range(len(rows))], rows)
    ax.set_ylim(len(rows), 0)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)


# Watching it learn


class Look(NamedTuple):
    """What is seen of a model after some updates."""

    step: int  # updates so far
    alignment: float  # share of words whose largest weight lies where it should
    gold: float  # mean weight on the right place
    gradient: float  # norm of the score's last gradient; NaN before the first


def watched(
    batches: Iterable[Batch],
    model: nn.Module,
    pairs: Sequence[Pair],
    log: list[Look],
    every: int = 10,
) -> Iterator[Batch]:
    """Pass batches on unchanged and look at the model in between.

    Training is not changed by it: the model is only read, and nothing is drawn at
    random.

    Args:
        batches: The batches that the model is trained with.
        model: The model; has a ``score``.
        pairs: Sentences to look at, not those it is trained with.
        log: Where the looks are added.
        every: Updates from one look to the next.

    Yields:
        The batches.
    """
    for step, batch in enumerate(batches):
        if step % every == 0:
            weights = attention_weights(model, pairs)
            log.append(
                Look(
                    step,
                    alignment_score(weights, pairs),
                    gold_weight(weights, pairs),
                    gradient_norm(model.score),
                )
            )
        yield batch


def gold_weight(weights: Tensor, pairs: Sequence[Pair]) -> float:
    """Mean weight on the word that is rendered, over all words that render one.

    Args:
        weights: (B, T, S).
        pairs: The B pairs they belong to.
    """
    found = [
        weights[b, i, j].item()
        for b, pair in enumerate(pairs)
        for i, j in enumerate(pair.alignment)
        if j is not None
    ]
    return sum(found) / len(found)


def gradient_norm(module: nn.Module) -> float:
    """Norm of all gradients that a module holds, as one vector; NaN if it has none."""
    gradients = [p.grad for p in module.parameters() if p.grad is not None]
    if not gradients:
        return math.nan
    return torch.stack([g.norm() for g in gradients]).norm().item()


def learning_figure(losses: Sequence[float], log: Sequence[Look]) -> Figure:
    """Draw the loss, and below it where the model looks, against the same steps."""
    fig, (top, bottom) = plt.subplots(2, 1, figsize=(5.5, 4.6), sharex=True)
    steps, means = averaged(losses)
    top.plot(steps, means)
    top.set(ylabel="loss, nats a word", ylim=(0, None))
    steps = [look.step for look in log]
    bottom.plot(steps, [100 * look.alignment for look in log], color=COLOURS["query"])
    bottom.plot(steps, [100 * look.gold for look in log], color=COLOURS["key"])
    bottom.text(
        steps[-1],
        84,
        "largest weight on the right word",
        ha="right",
        color=TEXT_COLOURS["query"],
    )
    bottom.text(
        steps[-1],
        66,
        "mean weight on the right word",
        ha="right",
        color=TEXT_COLOURS["key"],
    )
    bottom.set(xlabel="step", ylabel="%", ylim=(0, 103))
    return fig


def averaged(
    losses: Sequence[float], width: int = 10
) -> tuple[list[float], list[float]]:
    """Middle steps of chunks of ``width`` losses, and their means."""
    chunks = [losses[i : i + width] for i in range(0, len(losses), width)]
    steps = [width * i + len(chunk) / 2 for i, chunk in enumerate(chunks)]
    return steps, [sum(chunk) / len(chunk) for chunk in chunks]


def print_learning(
    log: Sequence[Look], losses: Sequence[float], until: int = 300, every: int = 50
) -> None:
    """Print the first steps as a coarse table.

    Args:
        log: The looks, of the same run as the losses.
        losses: One a step.
        until: Last step to be printed.
        every: Steps from row to row.
    """
    print("step   loss   largest weight right   mean weight right")
    for look in log:
        if look.step <= until and look.step % every == 0:
            near = losses[max(look.step - 5, 0) : look.step + 5]
            print(
                f"{look.step:4}  {sum(near) / len(near):5.1f}"
                f"{look.alignment:16.0%}{look.gold:20.0%}"
            )


# Where it looks


def alignment_figure(weights: Tensor, pair: Pair) -> Figure:
    """Draw the weights of one sentence; a frame marks where each word should look.

    Args:
        weights: (T, S), EOS included; what exceeds the pair's length is left out.
        pair: The pair.
    """
    rows, columns = [*pair.target, "<eos>"], [*pair.source, "<eos>"]
    weights = weights[: len(rows), : len(columns)]
    fig, ax = plt.subplots(figsize=(5.5, 1.2 + 0.27 * len(rows)))
    heat_map(ax, 100 * weights, pair, least=5, vmax=100)
    _name_cells(ax, columns, rows)
    ax.xaxis.tick_top()
    ax.tick_params(axis="x", labelcolor=TEXT_COLOURS["source"], length=0)
    ax.tick_params(axis="y", labelcolor=TEXT_COLOURS["target"])
    return fig


def heat_map(
    ax: Axes, cells: Tensor, pair: Pair, least: float, vmax: float, fmt: str = ".0f"
) -> None:
    """Draw a matrix (T, S); cells of at least ``least`` are numbered, gold is framed."""
    notes = [
        [f"{x:{fmt}}" if x >= least else "" for x in row] for row in cells.tolist()
    ]
    sns.heatmap(
        cells,
        ax=ax,
        cmap=WEIGHTS,
        vmin=0,
        vmax=vmax,
        annot=notes,
        fmt="",
        cbar=False,
        linewidths=1,
        linecolor="#EEF1F4",
    )
    for i, j in enumerate(pair.alignment):
        if j is not None:
            frame = Rectangle((j, i), 1, 1, fill=False, linewidth=2)
            frame.set(edgecolor=COLOURS["target"], clip_on=False)
            ax.add_patch(frame)


@torch.no_grad()
def attention_frames(
    model: Bahdanau, sentence: str
) -> tuple[list[Figure], list[str], list[str]]:
    """Draw, step by step, where the decoder looks and what it then expects.

    Args:
        model: Trained.
        sentence: A sentence of the toy language.

    Returns:
        For each step of greedy decoding a figure, a caption and an alternative text.
    """
    words = [*sentence.split(), "<eos>"]
    state = model.start(torch.tensor([[*SOURCE.encode(words[:-1]), EOS]]))
    token, said = torch.tensor([BOS]), []
    figures, captions, alts = [], [], []
    longest = len(translate(sentence).target) + 1
    while token != EOS and len(said) < longest:
        logits, state = model.step(token, state)
        p, ids = logits.softmax(-1)[0].topk(5)
        token = ids[:1]
        weights = dict(enumerate(state.weights[0].tolist()))
        guesses = [
            (TARGET.words[j], x) for j, x in zip(ids.tolist(), p.tolist(), strict=True)
        ]
        figures.append(_attention_frame(words, [*weights.values()], guesses))
        best = max(weights, key=weights.get)
        captions.append(
            f"Said so far: {' '.join(said) or 'nothing'}. It looks at {words[best]} "
            f"({weights[best]:.2f}) and says {guesses[0][0]} ({guesses[0][1]:.2f})."
        )
        alts.append(_in_words(words, weights, guesses))
        said.append(guesses[0][0])
    return figures, captions, alts


def _in_words(words: Sequence[str], weights: dict[int, float], guesses) -> str:
    largest = sorted(weights, key=weights.get, reverse=True)[:2]
    looks = ", ".join(f"{words[j]} {weights[j]:.2f}" for j in largest)
    shares = ", ".join(f"{word} {x:.2f}" for word, x in guesses)
    return f"Above, bars of the weights, largest: {looks}. Below, next words: {shares}."


def _attention_frame(words: Sequence[str], weights: Sequence[float], guesses) -> Figure:
    fig, (top, bottom) = plt.subplots(2, 1, figsize=(5.5, 4.6), height_ratios=(1, 1.15))
    top.bar(range(len(words)), weights, color=COLOURS["source"])
    top.set_xticks(range(len(words)), words, color=TEXT_COLOURS["source"])
    top.set(ylim=(0, 1), ylabel="weight", yticks=(0, 0.5, 1))
    named = [word for word, _ in guesses][::-1]
    shares = [share for _, share in guesses][::-1]
    bottom.barh(named, shares, color=COLOURS["target"])
    bottom.tick_params(axis="y", labelcolor=TEXT_COLOURS["target"])
    bottom.set(xlim=(0, 1), xlabel="probability of the next word")
    for ax in (top, bottom):
        ax.tick_params(length=0)
    return fig


# Is a weight an explanation?


@torch.no_grad()
def removal_effects(model: Bahdanau, pair: Pair) -> dict[str, Tensor]:
    """How much less probable the right word becomes without source place j.

    Args:
        model: Trained.
        pair: A pair.

    Returns:
        "hidden" and "replaced", (T, S) each: the drop of log p of target word i, given
        the right words before it, when place j is hidden from the attention at that
        step alone, and when another word of its kind stands there from the start.
    """
    return {
        "hidden": hiding_effects(model, pair),
        "replaced": replacing_effects(model, pair),
    }


@torch.no_grad()
def hiding_effects(model: Bahdanau, pair: Pair) -> Tensor:
    """Drop of log p, (T, S), when place j gets no weight at step i alone."""
    src, tgt_in, tgt_out = make_batch([pair])
    n = src.shape[1]
    others = ~torch.eye(n, dtype=torch.bool)  # (S, S): row j allows all but place j
    state, drops = model.start(src), []
    for token, right in zip(tgt_in[0], tgt_out[0], strict=True):
        states, keys, _ = (part.expand(n, *part.shape[1:]) for part in state.source)
        hidden = state.source._replace(states=states, keys=keys, mask=others)
        without = BahdanauState(state.s.expand(n, -1), hidden, state.weights)
        hurt, _ = model.step(token.expand(n), without)  # (S, V)
        logits, state = model.step(token[None], state)  # (1, V)
        drops.append((logits.log_softmax(-1) - hurt.log_softmax(-1))[:, right])
    return torch.stack(drops)


@torch.no_grad()
def replacing_effects(model: Bahdanau, pair: Pair) -> Tensor:
    """Drop of log p, (T, S), when another word of its kind stands at place j.

    Mean over all other words of the kind; NaN where there is none, at *and* and EOS.
    """
    before = _log_p(model, [pair])[0]  # (T,)
    drops = torch.full((len(before), len(pair.source) + 1), math.nan)
    for j in range(len(pair.source)):
        changed = [Pair(words, pair.target, pair.alignment) for words in swaps(pair, j)]
        if changed:
            drops[:, j] = before - _log_p(model, changed).mean(0)
    return drops


def _log_p(model: nn.Module, pairs: Sequence[Pair]) -> Tensor:
    """Log probability of each right word, (B, T), given the right ones before it."""
    src, tgt_in, tgt_out = make_batch(pairs)
    log_p = model(src, tgt_in).log_softmax(-1)  # (B, T, V)
    return log_p.gather(-1, tgt_out[..., None])[..., 0]


def swaps(pair: Pair, j: int) -> list[tuple[str, ...]]:
    """The source with each other word of its kind at place j."""
    word = "a" if pair.source[j] == "an" else pair.source[j]
    kinds = (DETERMINERS, ADJECTIVES, NOUNS, VERBS)
    kind = next((kind for kind in kinds if word in kind), ())
    return [
        _with_articles([*pair.source[:j], other, *pair.source[j + 1 :]])
        for other in kind
        if other != word
    ]


def _with_articles(words: Sequence[str]) -> tuple[str, ...]:
    """Write *an* before a vowel and *a* before a consonant."""
    followers = [*words[1:], ""]
    return tuple(
        ("an" if after[0] in "aeiou" else "a") if word in ("a", "an") else word
        for word, after in zip(words, followers, strict=True)
    )


def weight_and_effect_figure(
    weights: Tensor, effects: dict[str, Tensor], pair: Pair
) -> Figure:
    """Draw the weights, and below them the effects of removing each place.

    Args:
        weights: (T, S).
        effects: As :func:`removal_effects` returns them.
        pair: The pair they all belong to.
    """
    rows, columns = [*pair.target, "<eos>"], [*pair.source, "<eos>"]
    panels = {
        "weight, %": (100 * weights, 5, 100, ".0f"),
        "nats lost if hidden at this step": (effects["hidden"], 0.1, 10, ".1f"),
        "nats lost if replaced in the source": (effects["replaced"], 0.1, 10, ".1f"),
    }
    fig, axes = plt.subplots(3, 1, figsize=(5.5, 8.6), sharex=True)
    for ax, (title, (cells, least, vmax, fmt)) in zip(
        axes, panels.items(), strict=True
    ):
        heat_map(ax, cells, pair, least, vmax, fmt)
        _name_cells(ax, columns, rows)
        ax.set_title(title)
        ax.tick_params(axis="y", labelcolor=TEXT_COLOURS["target"])
        ax.tick_params(axis="x", labelcolor=TEXT_COLOURS["source"], length=0)
    return fig


# Exercises


def _weights_and_states() -> list[tuple[Tensor, Tensor]]:
    g = torch.Generator().manual_seed(0)
    shapes = ((2, 3, 4), (3, 5, 2))
    return [
        (
            torch.rand(b, s, generator=g).softmax(-1),
            torch.randn(b, s, w, generator=g),
        )
        for b, s, w in shapes
    ]


register(
    "ex2_context",
    reference=lambda weights, states: (weights[..., None] * states).sum(1),
    inputs=_weights_and_states,
    hint="Multiply each state by its weight, and sum over the places, axis 1.",
    mistakes=[
        (
            lambda weights, states: states.mean(1),
            "Every place counts alike in yours: the weights are not used.",
        ),
        (
            lambda weights, states: (weights[..., None] * states).mean(1),
            "Do not divide by S: the weights sum to 1 already.",
        ),
        (
            lambda weights, states: weights[..., None] * states,
            "Each state has its weight; the sum over the places is missing.",
        ),
        (
            lambda weights, states: weights @ states,
            "(B, S) @ (B, S, W) mixes the sentences: make the weights (B, 1, S).",
        ),
    ],
)


def _scores_and_masks() -> list[tuple[Tensor, Tensor]]:
    scores = torch.tensor([[1.0, 2.0, 3.0, 4.0], [0.5, -1.0, 0.0, 2.0]])
    mask = torch.tensor([[True, True, True, False], [True, True, False, False]])
    return [(scores, mask), (200 * scores[:, [2, 0, 1, 3]], mask)]


def _exp_then_mask(scores: Tensor, mask: Tensor) -> Tensor:
    weights = scores.exp() * mask
    return weights / weights.sum(-1, keepdim=True)


register(
    "ex2_masked_softmax",
    reference=masked_softmax,
    inputs=_scores_and_masks,
    hint="Before the softmax, give the forbidden places a score so low that exp is 0.",
    mistakes=[
        (
            lambda scores, mask: scores.softmax(-1),
            "The pads still get weight: the mask is not used.",
        ),
        (
            lambda scores, mask: scores.softmax(-1) * mask,
            "The pads are 0, but the rest of a row sums to less than 1.",
        ),
        (
            lambda scores, mask: (scores * mask).softmax(-1),
            "A score of 0 is a score like any other: exp(0) is 1.",
        ),
        (
            lambda scores, mask: scores.masked_fill(mask, -torch.inf).softmax(-1),
            "The wrong way round: True means may be used, so fill where it is False.",
        ),
        (
            _exp_then_mask,
            "exp(600) overflows: let softmax do it, which subtracts the largest first.",
        ),
    ],
)


def _additive_inputs() -> list[tuple[Tensor, ...]]:
    g = torch.Generator().manual_seed(0)
    shapes = ((2, 3), (2, 4, 5), (6, 3), (6, 5), (6,))
    return [tuple(torch.randn(*shape, generator=g) for shape in shapes)]


def _additive(s: Tensor, states: Tensor, W: Tensor, U: Tensor, v: Tensor) -> Tensor:
    return torch.tanh((s @ W.T)[:, None] + states @ U.T) @ v


register(
    "ex2_additive_score",
    reference=_additive,
    inputs=_additive_inputs,
    hint="W s is (B, A), U h is (B, S, A): insert an axis, add, tanh, product with v.",
    mistakes=[
        (
            lambda s, states, W, U, v: ((s @ W.T)[:, None] + states @ U.T) @ v,
            "The tanh is missing. Without it the query adds the same to every place.",
        ),
        (
            lambda s, states, W, U, v: torch.tanh(states @ U.T) @ v,
            "The query is missing: every step would get the same scores.",
        ),
        (
            lambda s, states, W, U, v: (
                (torch.tanh(s @ W.T)[:, None] + torch.tanh(states @ U.T)) @ v
            ),
            "Add first, then take the tanh of the sum.",
        ),
        (
            lambda s, states, W, U, v: _additive(s, states, W, U, v).softmax(-1),
            "Those are weights already; wanted are the scores before the softmax.",
        ),
    ],
)

register(
    "ex2_key_projection",
    reference=(20 * 128 * 64, 20 * 20 * 128 * 64),
    hint="U h_j takes K · A multiplications for one place; count places, then steps.",
    mistakes=[
        (
            (20 * 20 * 128 * 64, 20 * 128 * 64),
            "The two have changed places: once comes first.",
        ),
        (
            (128 * 64, 20 * 128 * 64),
            "That is one place; the source has 20.",
        ),
        (
            (20 * 128, 20 * 20 * 128),
            "U has A rows: each place takes K multiplications for every one of them.",
        ),
    ],
)


def _weights_and_alignments() -> list[tuple[list[Tensor], list[list[int | None]]]]:
    one = torch.tensor([[0.1, 0.9, 0.0], [0.6, 0.3, 0.1], [0.2, 0.2, 0.6]])
    two = torch.tensor([[0.7, 0.3], [0.4, 0.6]])
    return [([one], [[1, 1, None]]), ([one, two], [[1, 0, 2], [1, None]])]


def _share(weights, alignments, axis=-1, count_none=False, per_sentence=False) -> float:
    """The alignment score, rightly or, by its last three arguments, with a mistake."""
    shares, hits = [], []
    for rows, alignment in zip(weights, alignments, strict=True):
        looked_at = rows.argmax(axis).tolist()
        mine = [
            place == wanted
            for place, wanted in zip(looked_at, alignment, strict=False)
            if wanted is not None or count_none
        ]
        hits += mine
        shares.append(sum(mine) / len(mine))
    return sum(shares) / len(shares) if per_sentence else sum(hits) / len(hits)


register(
    "ex2_alignment_score",
    reference=_share,
    inputs=_weights_and_alignments,
    hint="For each target word with a wanted place, compare that with the row's argmax.",
    mistakes=[
        (
            lambda weights, alignments: _share(weights, alignments, count_none=True),
            "Words whose alignment is None have no right place: leave them out.",
        ),
        (
            lambda weights, alignments: _share(weights, alignments, axis=0),
            "Take the largest of each row, along the source: argmax(-1), not argmax(0).",
        ),
        (
            lambda weights, alignments: _share(weights, alignments, per_sentence=True),
            "Divide once, by all counted words; your mean gives short sentences more.",
        ),
    ],
)
