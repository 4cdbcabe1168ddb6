"""Chapter 9: one sentence on its way through the toy Transformer, stage by stage."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from typing import NamedTuple

import torch
from torch import Tensor, nn

from attnbook.analysis.maps import attention_maps
from attnbook.core.vocabulary import UNK
from attnbook.course.ch09.explorer_toy_heads import toy_model, translated
from attnbook.course.kit.explorers.charts import Grid, Map, Stages, numbers
from attnbook.course.kit.explorers.controls import Slider
from attnbook.course.kit.explorers.explorer import Explorer
from attnbook.course.kit.explorers.views import View
from attnbook.course.kit.html_tables import Column, table
from attnbook.toy.data import SOURCE, TARGET, make_batch
from attnbook.toy.language import Pair, translate_by_rule
from attnbook.toy.models import SIZES

SENTENCE = "the old farmer sees a bird"
CONTROLS = {
    "stage": Slider("stage", 1, 37, 1),
    "position": Slider("position", 1, 7, 2),
}
SIDES = ("source", "target")
STREAM = ("embedding", "+ positions", "sum")
"""Stages of the residual stream, which the decoder's last norm could read."""
SUBLAYERS = {
    "encoder": {"norm_1": "attention", "norm_2": "feed_forward"},
    "decoder": {
        "norm_1": "self_attention",
        "norm_2": "cross_attention",
        "norm_3": "feed_forward",
    },
}
NAMES = {
    "attention": "self-attention",
    "self_attention": "masked attention",
    "cross_attention": "cross-attention",
    "feed_forward": "feed-forward",
}
ABOUT = {
    "embedding": "Each token's row of the embedding table, times √D.",
    "+ positions": "A sinusoidal vector is added. Here the residual stream begins.",
    "norm": "LayerNorm: mean 0 and variance 1 at each position, then gain and bias.",
    "self-attention": "What each position gets from all: a mean of their values.",
    "masked attention": "The same, but from no later position.",
    "cross-attention": "What each target position gets from the encoder's memory.",
    "feed-forward": "Computed at each position alone.",
    "sum": "What the sublayer found is added to the residual stream.",
    "output": "The dot product with each word's embedding, and the softmax.",
}


class Stage(NamedTuple):
    """What is computed at one point of the way."""

    stack: int  # 0 for the encoder, 1 for the decoder
    box: int  # counted from the bottom of the stack
    name: str
    x: Tensor  # (T, D), or probabilities (T, V)
    layer: int = 0  # from 1; 0 outside the layers
    weights: Tensor | None = None  # (T, S), mean of the heads, of an attention


def pass_view(stage: int, position: int) -> View:
    """The vectors of all positions at one stage, and the words that one is near."""
    every, words = stages(), tokens()
    at, row = every[stage - 1], position - 1
    names = words[at.stack]
    columns = [[s.name for s in every if s.stack == stack] for stack in (0, 1)]
    path = Stages(tuple(map(tuple, columns)), ("encoder", "decoder"), at[:2])
    shape = f"({at.x.shape[0]}, {at.x.shape[1]})"
    stack = ("Encoder", "Decoder")[at.stack]
    layer = f", layer {at.layer}" if at.layer else ""
    said = f"{stack}{layer}, {at.name}, {shape}. {ABOUT[at.name]}"
    if at.name == "output":
        best = int(at.x[row].argmax())
        said += f" After {names[row]}: {TARGET.words[best]}, {at.x[row, best]:.2f}."
        # Of the words that get most at some position.
        ids = sorted({int(i) for p in at.x for i in p.topk(2).indices})
        labels = tuple(TARGET.words[i] for i in ids)
        cells = tuple(tuple(round(p, 2) for p in x) for x in at.x[:, ids].tolist())
        titles = ("the token read", "next token")
        chart = Map(names, labels, cells, ("target", "target"), titles)
        found = next_words(at, row, 5)
        return View(said, (path, chart), said, _table("next word", found), columns=2)
    said += f" The vector of {names[row]} has length {at.x[row].norm():.2f}."
    if at.weights is not None:
        best = int(at.weights[row].argmax())
        others = words[0 if at.name == "cross-attention" else at.stack]
        share = at.weights[row, best]
        said += f" It attends most to {others[best]}, {share:.2f} (mean of the heads)."
    found = nearest_words(at, row, 5)
    if at.stack and at.name in STREAM:
        [(word, p)] = next_words(at, row, 1)
        said += f" If the decoder ended here, it would write {word}, {p:.2f}."
    vectors = Grid(
        names,
        tuple(numbers(x) for x in at.x.round(decimals=1).tolist()),
        float(f"{at.x.abs().max():.2g}"),
        f"{at.x.shape[1]} features",
        SIDES[at.stack],
        row,
    )
    return View(said, (path, vectors), said, _table("near to", found), columns=2)


explore_transformer_pass = Explorer(pass_view, CONTROLS)


def _table(what: str, found: Sequence[tuple[str, float]]) -> object:
    number = "probability" if what == "next word" else "cosine"
    return table([what, Column(number, digits=2)], found)


# --- What a vector tells ---


def walk(stack: int) -> Iterator[tuple[str, Stage, Tensor | None]]:
    """Where a stack's residual stream is made, changed and read.

    Yields:
        The box that did it, the stage, and the weights of an attention, (T, S).
    """
    sublayer = None
    for stage in (stage for stage in stages() if stage.stack == stack):
        if stage.name in NAMES.values():
            sublayer = stage
        elif stage.name == "sum":
            yield sublayer.name, stage, sublayer.weights
        elif stage.name != "norm" or not stage.layer:
            yield stage.name, stage, None


def nearest_words(stage: Stage, row: int, number: int) -> list[tuple[str, float]]:
    """The words whose embeddings have the largest cosine with a vector."""
    model = toy_model()
    embedding = (model.source_embedding, model.target_embedding)[stage.stack]
    words = (SOURCE, TARGET)[stage.stack].words
    cosines = nn.functional.cosine_similarity(
        stage.x[row], embedding.weight.detach()[UNK + 1 :], dim=-1
    )
    return _largest(cosines, words[UNK + 1 :], number)


def next_words(stage: Stage, row: int, number: int) -> list[tuple[str, float]]:
    """What the decoder would write if it ended at a stage, with probabilities."""
    model = toy_model()
    x = stage.x[row]
    with torch.no_grad():
        if stage.name in STREAM:
            x = model.decoder_norm(x)
        p = x if stage.name == "output" else model.out(x).softmax(-1)
    return _largest(p, TARGET.words, number)


def _largest(x: Tensor, words: Sequence[str], number: int) -> list[tuple[str, float]]:
    """The words with the largest numbers, and these."""
    best = x.topk(number)
    found = zip(best.indices.tolist(), best.values.tolist(), strict=True)
    return [(words[i], value) for i, value in found]


# --- What the model computes ---


@lru_cache(maxsize=1)
def pair() -> Pair:
    """The sentence with the output of the model as its target."""
    found = translate_by_rule(SENTENCE)
    return replace(found, target=translated(found)[0])


def tokens() -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What stands at the positions of the encoder and of the decoder."""
    return (*pair().source, "<eos>"), ("<bos>", *pair().target)


@lru_cache(maxsize=1)
def stages() -> list[Stage]:
    """All stages of a pass, with the numbers that the model itself computes."""
    model, batch = toy_model(), make_batch([pair()])
    given, made = {}, defaultdict(list)

    def keep(name: str, _: nn.Module, inputs: tuple, output: Tensor) -> None:
        given[name] = inputs[0][0]
        made[name].append(output[0])

    hooks = [
        module.register_forward_hook(partial(keep, name))
        for name, module in model.named_modules()
        if name
    ]
    with torch.no_grad():
        model(batch.src, batch.tgt_in)
    for hook in hooks:
        hook.remove()
    maps = attention_maps(model, batch.src, batch.tgt_in)
    found: list[Stage] = []

    def add(n: int, name: str, x: Tensor, layer: int = 0, weights=None) -> None:
        box = sum(stage.stack == n for stage in found)
        found.append(Stage(n, box, name, x, layer, weights))

    for n, stack in enumerate(SUBLAYERS):
        add(n, "embedding", made[f"{SIDES[n]}_embedding"][0])
        add(n, "+ positions", made["positions"][n])
        for layer in range(SIZES["n_layers"]):
            for norm, sublayer in SUBLAYERS[stack].items():
                at = f"{stack}.{layer}"
                [normed], [x] = made[f"{at}.{norm}"], made[f"{at}.{sublayer}"]
                weights = maps.get(f"{at}.{sublayer}")
                mean = None if weights is None else weights[0].mean(0)
                add(n, "norm", normed, layer + 1)
                add(n, NAMES[sublayer], x, layer + 1, mean)
                add(n, "sum", given[f"{at}.{norm}"] + x, layer + 1)
        add(n, "norm", made[f"{stack}_norm"][0])
    add(1, "output", made["out"][0].softmax(-1))
    return found
