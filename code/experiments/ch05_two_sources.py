"""German possessives: the stem from one English word, the ending from another."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import product
from statistics import fmean
from typing import NamedTuple

import torch
from torch import Tensor, nn

from attnbook.analysis.head_ablation import without_heads
from attnbook.analysis.maps import attention_maps
from attnbook.analysis.word_maps import word_groups
from attnbook.core.vocabulary import BOS, EOS
from attnbook.models.transformer import Transformer
from attnbook.nn.masks import key_mask
from attnbook.translation.corpora import load_texts
from attnbook.translation.translator import Translator
from experiments.registry import experiment

ENGLISH = ("his", "her", "their", "its")
STEMS, ENDINGS = ("ihr", "sein"), ("", "e", "er", "em", "en", "es")
OTHERS = ("ein", "d")  # of articles, which take the same endings: einer, der
MOSTLY, DRAWS = 0.5, 10  # of a head's weight; of as many other heads


Form = tuple[str, str]
"""A stem and an ending."""
Head = tuple[int, int]
"""Layer and head of a cross-attention, from 0."""


class Case(NamedTuple):
    """A caption with one possessive, and its translation up to the German one."""

    src: Tensor  # (1, S)
    tgt_in: Tensor  # (1, T); the next token is the possessive
    possessive: Form
    own: list[int]  # positions of the English possessive
    following: list[int]  # of the word after it
    other: list[int]  # of a word picked at random among the rest


@experiment
def two_sources() -> dict:
    """Hide English words from the decoder where it writes a possessive; remove heads.

    Validation captions with one English possessive whose greedy translation has one
    German one. Only that step is changed, in all layers of cross-attention. Then the
    heads are removed that put more than half of their weight, on average, on the
    English possessive or on the next word.

    Returns:
        "cases": their number; "stems": how often each is in the translations; "runs":
        for each "hidden" the numbers of cases in which the most probable token keeps
        the possessive's "stem" and its "ending" (an article with the same ending keeps
        it), and in which it is an article or a possessive at all ("either");
        "weights": for each layer and head of the cross-attentions the mean weights on
        the possessive and on the next word; "removed": the same numbers for each group
        of "heads" without them, and with them held at their mean over the cases.
    """
    translator = Translator()
    model = translator.model
    cases = find_cases(translator, load_texts(translator.config, "val").source)
    changes = {
        "nothing": lambda case: [],
        "the possessive": lambda case: case.own,
        "the next word": lambda case: case.following,
        "a word at random": lambda case: case.other,
    }
    forms = form_ids(translator, (*STEMS, *OTHERS))
    runs = [
        {"hidden": name} | kept(model, cases, forms, hide)
        for name, hide in changes.items()
    ]
    with one_map(model):
        shared = kept(model, cases, forms)
    runs.append({"hidden": "nothing, but all heads share one map"} | shared)
    weights = cross_weights(model, cases)  # (layers, H, 2)
    return {
        "cases": len(cases),
        "stems": Counter(case.possessive[0] for case in cases),
        "runs": runs,
        "weights": [[[round(x, 4) for x in h] for h in of] for of in weights.tolist()],
        "removed": [*removals(model, cases, forms, weights)],
    }


def removals(
    model: Transformer, cases: Sequence[Case], forms: dict[int, Form], weights: Tensor
) -> Iterator[dict]:
    """What is kept without the heads of a group, and without as many others."""
    own, following = ((weights[..., n] > MOSTLY).nonzero().tolist() for n in (0, 1))
    groups = {"the possessive": own, "the next word": following}
    for name, heads in groups.items():
        with removed(model, heads):
            found = kept(model, cases, forms)
        yield {"mostly on": name, "heads": heads, "how": "removed"} | found
        with held(model, cases, heads):
            found = kept(model, cases, forms)
        yield {"mostly on": name, "heads": heads, "how": "held at their mean"} | found
    every = product(range(weights.shape[0]), range(weights.shape[1]))
    rest = [head for head in map(list, every) if head not in own + following]
    pick, found = random.Random(0), []
    for _ in range(DRAWS):
        with removed(model, pick.sample(rest, len(own))):
            found.append(kept(model, cases, forms))
    means = {key: round(fmean(run[key] for run in found), 1) for key in found[0]}
    yield {"mostly on": "neither", "heads": rest, "how": f"{DRAWS} draws"} | means


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
def removed(model: Transformer, heads: Sequence[Head]) -> Iterator[None]:
    """Remove heads of the cross-attentions until the ``with`` block ends."""
    with ExitStack() as stack:
        for layer, head in heads:
            module = model.decoder[layer].cross_attention
            stack.enter_context(without_heads(module, [head]))
        yield


@contextmanager
def held(
    model: Transformer, cases: Sequence[Case], heads: Sequence[Head]
) -> Iterator[None]:
    """Hold heads at their mean over the cases, for the last query."""
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


@contextmanager
def one_map(model: nn.Module) -> Iterator[None]:
    """Let the heads of each cross-attention share the mean of their weights."""
    modules = [layer.cross_attention for layer in model.decoder]

    def share(attend):
        def shared(q, k, v, mask, *, need_weights=False, **how):
            _, weights = attend(q, k, v, mask, need_weights=True, **how)
            return weights.mean(1, keepdim=True) @ v

        return shared

    for module in modules:
        module.attend = share(module.attend)
    try:
        yield
    finally:
        for module in modules:
            del module.attend
