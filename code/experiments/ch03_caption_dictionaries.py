"""The translator's cross-attention as a dictionary: of its output, or of its input?"""

from __future__ import annotations

import random
from collections.abc import Sequence

import torch
from torch import Tensor

from attnbook.analysis.ibm_model1 import diagonal
from attnbook.analysis.maps import attention_maps
from attnbook.analysis.word_links import WordLinks
from attnbook.analysis.word_maps import word_groups, words
from attnbook.data.batching import IdPair, id_batch
from attnbook.translation.corpora import load_texts
from attnbook.translation.translator import Translator
from experiments.registry import experiment

CAPTIONS = 160
FAR = 2
"""A word has moved if it is so many positions from the diagonal, or more."""


@experiment
def caption_dictionaries(seed: int = 0) -> dict:
    """Compare the weights of each cross-attention head with links between words.

    Step i reads subword i - 1 and predicts subword i. Does the largest weight lie on
    the English word that the output translates, or on that of the input? Links are
    those of IBM Model 1, learned from the training captions in both directions,
    between the validation captions and the model's own greedy translations.

    Returns:
        "links": their number, and how many are on the "diagonal"; "moved": the number
        of those that aren't near it; "output" and "input": for each layer and head how
        many links its weights find, "output_moved" and "input_moved" the same among
        those that moved; "mean_output" and "mean_input": of the mean of each layer.
    """
    translator = Translator()
    subwords = translator.subwords
    pairs = zip(*load_texts(translator.config, "train"), strict=True)
    pieces = ([subwords.pieces(text) for text in pair] for pair in pairs)
    links = WordLinks([[*map(words, sides)] for sides in pieces])
    captions = load_texts(translator.config, "val").source
    chosen = random.Random(seed).sample(captions, CAPTIONS)
    rows = [
        row
        for caption, text in zip(chosen, translator(chosen, width=1), strict=True)
        for row in compare(translator, links, caption, text)
    ]
    moved = torch.tensor([row["moved"] for row in rows])
    found: dict[str, object] = {
        "captions": CAPTIONS,
        "seed": seed,
        "links": len(rows),
        "diagonal": sum(row["diagonal"] for row in rows),
        "moved": int(moved.sum()),
    }
    for way in ("output", "input"):
        hits = torch.stack([row[way] for row in rows])  # (n, L, H + 1)
        found[way] = hits[..., :-1].sum(0).tolist()
        found[f"mean_{way}"] = hits[..., -1].sum(0).tolist()
        found[f"{way}_moved"] = hits[moved, :, :-1].sum(0).tolist()
    return found


def compare(
    translator: Translator, links: WordLinks, caption: str, text: str
) -> list[dict]:
    """For each link of a translation, which heads find it as output and as input."""
    subwords = translator.subwords
    source = subwords.pieces(caption)
    target = subwords.pieces(text)
    groups = word_groups(target)
    origins = word_groups(source)
    weights = summed_by_word(cross_maps(translator, caption, text), origins)
    names = [words(source), words(target)]
    straight = diagonal(IdPair(*names))
    rows = []
    for t, j in links.between(*names).items():
        row = {"diagonal": straight[t] == j, "moved": abs(straight[t] - j) >= FAR}
        for way, shift in (("output", 0), ("input", 1)):
            steps = [position + shift for position in groups[t]]
            row[way] = weights[:, :, steps].mean(2).argmax(-1) == j
        rows.append(row)
    return rows


@torch.no_grad()
def cross_maps(translator: Translator, caption: str, text: str) -> Tensor:
    """Cross-attention under teacher forcing, (L, H + 1, T, S): last, the mean."""
    encode = translator.subwords.encode
    batch = id_batch([IdPair(encode(caption), encode(text))])
    maps = attention_maps(translator.model, batch.src, batch.tgt_in)
    heads = torch.cat(
        [w for name, w in maps.items() if name.endswith("cross_attention")]
    )
    return torch.cat([heads, heads.mean(1, keepdim=True)], 1)


def summed_by_word(weights: Tensor, groups: Sequence[Sequence[int]]) -> Tensor:
    """Sum the weights on the subwords of each word; those on EOS are left out."""
    return torch.stack([weights[..., group].sum(-1) for group in groups], -1)
