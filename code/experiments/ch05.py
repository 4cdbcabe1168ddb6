"""Chapter 5: what one head can and two heads can, and the translator's heads."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import combinations, product
from math import isnan
from statistics import fmean
from typing import NamedTuple

import torch
from torch import Tensor, nn

from attnbook.analysis.head_ablation import without_heads
from attnbook.analysis.maps import attention_maps
from attnbook.analysis.word_maps import word_groups
from attnbook.core.vocabulary import BOS, EOS
from attnbook.course.ch05 import explorer_heads_off as explorer
from attnbook.course.ch05 import two_answers
from attnbook.course.ch05.two_answers import (
    colour_batches,
    mean_ablated,
    measured,
    train_colours,
)
from attnbook.course.kit.explorers import token_maps
from attnbook.course.kit.toy_translation import SEEDS, THREE_SEEDS
from attnbook.data.batching import Batch, IdPair, id_batch
from attnbook.models.transformer import Transformer
from attnbook.nn.losses import token_loss
from attnbook.nn.masks import key_mask, padding_mask
from attnbook.toy.task_models import OneLayer, one_layer
from attnbook.toy.tasks import (
    TaskBatch,
    previous_symbols,
    random_symbols,
    task_accuracy,
    task_batches,
)
from attnbook.toy.training import fit
from attnbook.translation.corpora import load_texts
from attnbook.translation.trainer import encode_pairs
from attnbook.translation.translator import Translator
from experiments.ch04 import READERS, loaded
from experiments.registry import experiment, sweep

# Two colours: one head, two heads

VARIANTS = {
    "one head": {},
    "one head, twice the steps": {"steps": 2 * two_answers.STEPS},
    "one head, four times as wide": {"width": 4 * two_answers.WIDTH},
    "two heads": {"n_heads": 2},
}


@sweep(
    model=VARIANTS,
    seed=SEEDS,
    steps=two_answers.STEPS,
    learning_rate=two_answers.RATE,
)
def two_colours(model: str, seed: int) -> dict:
    """Which share of two colours' variance is missing with one head, and with two?

    Returns:
        "missing", of the colours one and two back, and with two heads "without": the
        same with each head held at its mean.
    """
    test = next(colour_batches(seed=1000, size=4000))
    trained = train_colours(seed, **VARIANTS[model])
    run = {"missing": measured(trained, test)}
    if trained.attention.n_heads > 1:
        run["without"] = []
        for head in range(trained.attention.n_heads):
            with mean_ablated(trained.attention, head):
                run["without"].append(measured(trained, test))
    return run


# Symbols: one of sixteen at each position

LENGTH = 12  # in training
RATE = 4e-3
STEPS = 400
N_SEQUENCES = 2000  # in tests
Task = Callable[[Tensor], TaskBatch]


def train_task_model(
    model: OneLayer, make: Task, length: int, steps: int, seed: int
) -> OneLayer:
    """Train a model on a task, and return it."""
    fit(model, task_batches(make, length, seed), steps, RATE)
    return model


def accuracy_by_position(
    model: OneLayer, make: Task, length: int
) -> list[list[float | None]]:
    """Accuracy of K answers at each of L positions; None where none counts."""
    ids = random_symbols(N_SEQUENCES, length, torch.Generator().manual_seed(99))
    positions = task_accuracy(model, make(ids)).tolist()
    return [[None if isnan(x) else round(x, 4) for x in row] for row in positions]


@sweep(heads=(1, 2, 4, 8), seed=SEEDS, steps=STEPS, length=LENGTH)
def heads(heads: int, seed: int) -> dict:
    """Predict the last symbol and the one before it, with 1, 2, 4 and 8 heads.

    Accuracy is over the positions from the third on, where both answers count.
    """
    model = one_layer("learned", LENGTH, n_heads=heads)
    train_task_model(model, previous_symbols, LENGTH, STEPS, seed)
    accuracy = accuracy_by_position(model, previous_symbols, LENGTH)
    last, before = map(fmean, zip(*accuracy[2:], strict=True))
    return {"last": round(last, 4), "before": round(before, 4)}


@experiment
def two_symbols() -> dict:
    """With symbols, one head gets both answers, if it is trained longer.

    Returns:
        "runs": for each number of heads, steps and seed the "accuracy" of the symbols
        one and two back; "frozen": the same with the attention's weights held at their
        mean over the test sequences.
    """
    test = next(task_batches(previous_symbols, LENGTH, seed=1000, batch_size=512))
    runs = []
    trained = (1, STEPS), (1, 15 * STEPS), (2, STEPS)
    for (n_heads, steps), seed in product(trained, THREE_SEEDS):
        torch.manual_seed(seed)
        model = one_layer("learned", LENGTH, n_heads=n_heads)
        train_task_model(model, previous_symbols, LENGTH, steps, seed)
        run = {"heads": n_heads, "steps": steps, "seed": seed}
        run["accuracy"] = both_answers(model, test)
        run["frozen"] = both_answers(lambda ids, m=model: frozen(m, ids), test)
        runs.append(run)
        print(f"  {run}", flush=True)
    return {"length": LENGTH, "learning_rate": RATE, "runs": runs}


def both_answers(model: Callable[[Tensor], Tensor], batch: TaskBatch) -> list[float]:
    """Accuracy of each answer, at the positions that have both."""
    return [round(x, 4) for x in task_accuracy(model, batch)[2:].mean(0).tolist()]


@torch.no_grad()
def frozen(model: OneLayer, ids: Tensor) -> Tensor:
    """The model's logits with the weights of each head held at their mean."""
    _, weights = model(ids, need_weights=True)  # (B, H, L, L)
    attention = model.attention
    values = attention.W_V(model.positions(model.embedding(ids)))
    values = values.unflatten(-1, (attention.n_heads, -1)).transpose(1, 2)
    mixed = (weights.mean(0, keepdim=True) @ values).transpose(1, 2).flatten(2)
    return model.answers(attention.W_O(mixed))


# The translator without some of its heads

N_SENTENCES = 300
BATCH_SIZE = 50
KINDS = ("encoder self-attention", "decoder self-attention", "cross-attention")

Head = tuple[str, int, int]
"""One of :data:`KINDS`, layer and head, both from 0."""


@contextmanager
def removed(model: Transformer, heads: Iterable[Head]) -> Iterator[None]:
    """Remove heads from a model until the ``with`` block ends."""
    with ExitStack() as stack:
        for kind, layer, head in heads:
            name = token_maps.KINDS[kind].module.format(layer)
            stack.enter_context(without_heads(model.get_submodule(name), [head]))
        yield


@experiment
def head_ablation() -> dict:
    """Remove heads from the shipped translator; measure the loss on validation data.

    Returns:
        "loss": nats per subword with all heads; "heads": for each head "rise", the
        increase of the loss without it; "layers": the same without all heads of one
        attention; "together": without the k heads whose own "rise" is least, by k.
    """
    translator = Translator()
    model = translator.model
    texts = load_texts(translator.config, "val")
    pairs = encode_pairs(translator.subwords, texts)[:N_SENTENCES]
    batches = length_batches(pairs)
    loss = mean_loss(model, batches)
    layers, heads = range(len(model.encoder)), range(model.encoder[0].attention.n_heads)

    def rise(*without: Head) -> float:
        with removed(model, without):
            return round(mean_loss(model, batches) - loss, 4)

    rises = {head: rise(head) for head in product(KINDS, layers, heads)}
    least = sorted(rises, key=rises.get)
    return {
        "sentences": N_SENTENCES,
        "loss": round(loss, 4),
        "heads": [
            {"kind": kind, "layer": layer, "head": head, "rise": found}
            for (kind, layer, head), found in rises.items()
        ],
        "layers": [
            {"kind": kind, "layer": n, "rise": rise(*product([kind], [n], heads))}
            for kind, n in product(KINDS, layers)
        ],
        "together": {str(k): rise(*least[:k]) for k in range(6, len(least), 6)},
    }


def length_batches(pairs: Sequence[IdPair]) -> list[Batch]:
    """Batches of sentences of similar length."""
    ordered = sorted(pairs, key=lambda pair: len(pair.source))
    starts = range(0, len(ordered), BATCH_SIZE)
    return [id_batch(ordered[start : start + BATCH_SIZE]) for start in starts]


@torch.no_grad()
def mean_loss(model: Callable[..., Tensor], batches: Iterable[Batch]) -> float:
    """The loss under teacher forcing, in nats per subword."""
    total, count = 0.0, 0
    for batch in batches:
        n = int(padding_mask(batch.tgt_out).sum())
        loss = token_loss(model(batch.src, batch.tgt_in), batch.tgt_out)
        total, count = total + n * loss.item(), count + n
    return total / count


@experiment
def heads_off() -> dict:
    """Translate the explorer's captions without each set of heads, for the page."""
    heads = range(explorer.HEADS)
    sets = [off for n in heads for off in combinations(heads, n + 1)]
    layers = [*map(str, range(1, explorer.LAYERS + 1)), explorer.ALL]
    found = {}
    for caption in explorer.CAPTIONS:
        original = explorer.translated(caption)
        cuts = {
            kind: {
                layer: {
                    " ".join(map(str, off)): explorer.cut(original, kind, layer, off)
                    for off in sets
                }
                for layer in layers
            }
            for kind in token_maps.KINDS
        }
        about = {"text": original.text, "tokens": original.tokens}
        found[caption] = about | {"cuts": cuts}
        print(f"  {caption}", flush=True)
    return {"captions": found}


# German possessives: the stem from one English word, the ending from another

ENGLISH = ("his", "her", "their", "its")
STEMS, ENDINGS = ("ihr", "sein"), ("", "e", "er", "em", "en", "es")
OTHERS = ("ein", "d")  # of articles, which take the same endings: einer, der
MOSTLY, DRAWS = 0.5, 10  # of a head's weight; of as many other heads

Form = tuple[str, str]
"""A stem and an ending."""


class Case(NamedTuple):
    """A caption with one possessive, and its translation up to the German one."""

    src: Tensor  # (1, S)
    tgt_in: Tensor  # (1, T); the next token is the possessive
    possessive: Form
    own: list[int]  # positions of the English possessive
    following: list[int]  # of the word after it
    other: list[int]  # of a word picked at random among the rest


@sweep(translator=READERS)
def two_sources(translator: str) -> dict:
    """Hide English words from the decoder where it writes a possessive; remove heads.

    Validation captions with one English possessive whose greedy translation has one
    German one. Only that step is changed, in all layers of cross-attention. Then the
    heads are removed that put more than half of their weight, on average, on the
    English possessive or on the next word.

    Returns:
        "cases": their number; "stems" and "endings": how often each is in the
        translations; "hidden": for each word hidden the numbers of cases in which the
        most probable token keeps the possessive's "stem" and its "ending" (an article
        with the same ending keeps it), and in which it is an article or a possessive
        at all ("either");
        "weights": for each layer and head of the cross-attentions the mean weights on
        the possessive and on the next word; "removed": the same numbers for each group
        of "heads" without them, and with them held at their mean over the cases; for
        the heads on neither word, the mean over draws of as many.
    """
    found, texts = loaded(translator)
    model, cases = found.model, find_cases(found, texts.source)
    changes = {
        "nothing": lambda case: [],
        "the possessive": lambda case: case.own,
        "the next word": lambda case: case.following,
        "a word at random": lambda case: case.other,
    }
    forms = form_ids(found, (*STEMS, *OTHERS))
    runs = [
        {"hidden": name} | kept(model, cases, forms, hide)
        for name, hide in changes.items()
    ]
    weights = cross_weights(model, cases)  # (layers, H, 2)
    return {
        "cases": len(cases),
        "stems": Counter(case.possessive[0] for case in cases).most_common(),
        "endings": Counter(case.possessive[1] for case in cases).most_common(),
        "hidden": runs,
        "weights": [[[round(x, 4) for x in h] for h in of] for of in weights.tolist()],
        "removed": [*removals(model, cases, forms, weights)],
    }


def removals(
    model: Transformer, cases: Sequence[Case], forms: dict[int, Form], weights: Tensor
) -> Iterator[dict]:
    """What is kept without the heads of a group, and without as many others."""
    own, following = ((weights[..., n] > MOSTLY).nonzero().tolist() for n in (0, 1))
    every = product(range(weights.shape[0]), range(weights.shape[1]))
    rest = [head for head in map(list, every) if head not in own + following]
    pick = random.Random(0)
    groups = {
        "the possessive": (own, [own]),
        "the next word": (following, [following]),
        "neither": (rest, [pick.sample(rest, len(own)) for _ in range(DRAWS)]),
    }
    for name, (heads, draws) in groups.items():
        for how in ("removed", "held at their mean"):
            found = []
            for chosen in draws:
                triples = (("cross-attention", *head) for head in chosen)
                cut, hold = removed(model, triples), held(model, cases, chosen)
                with cut if how == "removed" else hold:
                    found.append(kept(model, cases, forms))
            means = {key: round(fmean(r[key] for r in found), 1) for key in found[0]}
            yield {"mostly on": name, "heads": heads, "how": how} | means


@torch.no_grad()
def cross_weights(model: Transformer, cases: Sequence[Case]) -> Tensor:
    """The last query's mean weights on possessive and next word: (layers, H, 2)."""
    found = []
    for case in cases:
        maps = attention_maps(model, case.src, case.tgt_in)
        rows = [w[0, :, -1] for name, w in maps.items() if "cross" in name]  # (H, S)
        parts = [
            torch.stack(rows)[..., of].sum(-1) for of in (case.own, case.following)
        ]
        found.append(torch.stack(parts, -1))
    return torch.stack(found).mean(0)


@contextmanager
def held(
    model: Transformer, cases: Sequence[Case], heads: Sequence[Sequence[int]]
) -> Iterator[None]:
    """Hold heads of cross-attentions at their mean over the cases, for the last query.

    They are given by layer and head, from 0.
    """
    outputs: dict[int, list[Tensor]] = {}
    maps = {n: layer.cross_attention.W_O for n, layer in enumerate(model.decoder)}

    def note(n: int) -> Callable:
        return lambda _, args: outputs.setdefault(n, []).append(args[0][0, -1].clone())

    hooks = [module.register_forward_pre_hook(note(n)) for n, module in maps.items()]
    with torch.no_grad():
        for case in cases:
            model.decode(case.tgt_in, model.encode(case.src), key_mask(case.src))
    for hook in hooks:
        hook.remove()

    def hold(n: int) -> Callable:
        d_k = maps[n].in_features // model.decoder[n].cross_attention.n_heads
        mean = torch.stack(outputs[n]).mean(0).split(d_k)

        def change(_: nn.Module, args: tuple[Tensor]) -> tuple[Tensor]:
            parts = args[0].clone().split(d_k, dim=-1)
            for layer, head in heads:
                if layer == n:
                    parts[head][:, -1] = mean[head]
            return (torch.cat(parts, -1),)

        return change

    hooks = [module.register_forward_pre_hook(hold(n)) for n, module in maps.items()]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


def form_ids(translator: Translator, stems: Sequence[str]) -> dict[int, Form]:
    """German words of some stems, each one subword, as stem and ending."""
    forms = {}
    for stem, ending in product(stems, ENDINGS):
        word = "die" if (stem, ending) == ("d", "e") else stem + ending
        if len(token := translator.subwords.encode(word)) == 1 and word != "d":
            forms[token[0]] = (stem, ending)
    if "d" in stems:
        [token] = translator.subwords.encode("das")  # no possessive ends like it
        forms[token] = ("d", "as")
    return forms


def find_cases(translator: Translator, captions: Sequence[str]) -> list[Case]:
    """Captions with one possessive each, in English and in their translation."""
    subwords, forms = translator.subwords, form_ids(translator, STEMS)
    chosen = [c for c in captions if sum(w in ENGLISH for w in c.lower().split()) == 1]
    g = torch.Generator().manual_seed(0)
    cases = []
    for caption, text in zip(chosen, translator(chosen, width=1), strict=True):
        out = subwords.encode(text)
        places = [i for i, token in enumerate(out) if token in forms]
        pieces = subwords.pieces(caption)
        groups = word_groups(pieces)
        names = ["".join(pieces[i] for i in of).strip("▁").lower() for of in groups]
        own = [i for i, name in enumerate(names) if name in ENGLISH]
        if len(places) != 1 or len(own) != 1 or own[0] + 1 >= len(groups):
            continue
        rest = [i for i in range(len(groups)) if i - own[0] not in (0, 1)]
        other = rest[torch.randint(len(rest), (1,), generator=g).item()]
        cases.append(
            Case(
                torch.tensor([[*subwords.encode(caption), EOS]]),
                torch.tensor([[BOS, *out[: places[0]]]]),
                forms[out[places[0]]],
                *(groups[i] for i in (own[0], own[0] + 1, other)),
            )
        )
    return cases


@torch.no_grad()
def kept(
    model: Transformer,
    cases: Sequence[Case],
    forms: dict[int, Form],
    hide: Callable[[Case], list[int]] = lambda case: [],
) -> dict[str, int]:
    """In how many cases stem and ending survive if some positions are hidden."""
    counts = {"stem": 0, "ending": 0, "either": 0}
    for case in cases:
        mask = key_mask(case.src).repeat(1, 1, case.tgt_in.shape[1], 1)  # (1, 1, T, S)
        mask[..., -1, hide(case)] = False  # for the last query alone
        logits = model.decode(case.tgt_in, model.encode(case.src), mask)
        token = logits[0, -1].argmax().item()
        stem, ending = forms.get(token, (None, None))
        counts["either"] += token in forms
        counts["stem"] += stem == case.possessive[0]
        counts["ending"] += ending == case.possessive[1]
    return counts
