"""German possessives: the stem from one English word, the ending from another."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import product
from typing import NamedTuple

import torch
from torch import Tensor, nn

from attnbook.analysis.word_maps import word_groups
from attnbook.core.vocabulary import BOS, EOS
from attnbook.course.kit.experiments import experiment
from attnbook.models.transformer import Transformer
from attnbook.nn.masks import key_mask
from attnbook.translation.corpora import load_texts
from attnbook.translation.translator import Translator

ENGLISH = ("his", "her", "their", "its")
STEMS, ENDINGS = ("ihr", "sein"), ("", "e", "er", "em", "en", "es")
OTHERS = ("ein", "d")  # of articles, which take the same endings: einer, der


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


@experiment
def two_sources() -> dict:
    """Hide English words from the decoder where it writes a possessive.

    Validation captions with one English possessive whose greedy translation has one
    German one. Only that step is changed, in all layers of cross-attention.

    Returns:
        "cases": their number; "runs": for each "hidden" the numbers of cases in which
        the most probable token keeps the possessive's "stem" and its "ending"; an
        article with the same ending counts for the latter.
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
        shared = kept(model, cases, forms, lambda case: [])
    runs.append({"hidden": "nothing, but all heads share one map"} | shared)
    return {"cases": len(cases), "runs": runs}


def form_ids(translator: Translator, stems: Sequence[str]) -> dict[int, Form]:
    """German words of some stems, each one subword, as stem and ending."""
    forms = {}
    for stem, ending in product(stems, ENDINGS):
        word = "die" if (stem, ending) == ("d", "e") else stem + ending
        if len(token := translator.subwords.encode(word)) == 1 and word != "d":
            forms[token[0]] = (stem, ending)
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
    model: Transformer, cases: Sequence[Case], forms: dict[int, Form], hide
) -> dict[str, int]:
    """In how many cases stem and ending survive if some positions are hidden."""
    counts = {"stem": 0, "ending": 0}
    for case in cases:
        mask = key_mask(case.src).repeat(1, 1, case.tgt_in.shape[1], 1)  # (1, 1, T, S)
        mask[..., -1, hide(case)] = False  # for the last query alone
        logits = model.decode(case.tgt_in, model.encode(case.src), mask)
        stem, ending = forms.get(logits[0, -1].argmax().item(), (None, None))
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
