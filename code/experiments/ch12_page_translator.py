"""What the translator costs in a page: its scores, and what else figures need of it."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence

import torch
from torch import Tensor

from attnbook.analysis.ibm_model1 import NULL_WORD, train_ibm_model1
from attnbook.course.kit.page_translator import rounded_translator
from attnbook.data.batching import IdPair, id_batch
from attnbook.models.transformer import Transformer
from attnbook.nn.multi_head import MultiHeadAttention
from attnbook.translation.bleu_score import corpus_scores
from attnbook.translation.corpora import Texts, load_texts
from attnbook.translation.trainer import encode_pairs
from attnbook.translation.translator import Translator
from experiments.registry import experiment

N_SENTENCES = 300
MIN_COUNT = 3  # of a German word; rarer ones are seldom aligned well
WORD = re.compile(r"\w+(?:-\w+)*")


@experiment
def page_translator() -> dict:
    """Score the shipped weights and the page's, rounded to 8 bits, on validation data.

    Returns:
        "shipped" and "rounded": "bleu" and "chrf", cased, by greedy decoding; "same":
        how many translations are the same.
    """
    shipped, rounded = Translator(), rounded_translator()
    texts = load_texts(shipped.config, "val")
    found: dict = {"sentences": len(texts.source)}
    outputs = {}
    for name, translator in (("shipped", shipped), ("rounded", rounded)):
        outputs[name] = translator(texts.source, width=1)
        scores = corpus_scores(outputs[name], texts.target)
        found[name] = {"bleu": round(scores.bleu, 2), "chrf": round(scores.chrf, 2)}
        print(f"  {name}: {found[name]}", flush=True)
    return found | {"same": sum(map(str.__eq__, *outputs.values()))}


@experiment
def translator_head_means() -> dict:
    """Find what each head of the page's translator gives on average.

    Returns:
        "means": for each head, by its kind, layer and number, the mean of what it gives
        to W^O, over all positions of so many validation "sentences".
    """
    rounded = rounded_translator()
    texts = load_texts(rounded.config, "val")
    pairs = encode_pairs(rounded.subwords, texts)[:N_SENTENCES]
    return {"sentences": N_SENTENCES, "means": head_means(rounded.model, pairs)}


@torch.no_grad()
def head_means(
    model: Transformer, pairs: Sequence[IdPair]
) -> dict[str, list[list[list[float]]]]:
    """The mean output of each head under teacher forcing: kind → layer → head → d_k."""
    kinds = {
        "encoder": [layer.attention for layer in model.encoder],
        "decoder": [layer.self_attention for layer in model.decoder],
        "cross": [layer.cross_attention for layer in model.decoder],
    }
    inputs: dict[MultiHeadAttention, list[Tensor]] = defaultdict(list)
    hooks = [
        layer.W_O.register_forward_pre_hook(
            lambda _, x, layer=layer: inputs[layer].append(x[0][0])  # (T, D)
        )
        for layers in kinds.values()
        for layer in layers
    ]
    for pair in pairs:
        batch = id_batch([pair])
        model(batch.src, batch.tgt_in)
    for hook in hooks:
        hook.remove()

    def means(layer: MultiHeadAttention) -> list[list[float]]:
        mean = torch.cat(inputs[layer]).mean(0).view(layer.n_heads, -1)  # (H, d_k)
        return [[round(x, 4) for x in head] for head in mean.tolist()]

    return {kind: [means(layer) for layer in layers] for kind, layers in kinds.items()}


@experiment
def german_glosses() -> dict:
    """Find an English word for every German one of the training captions.

    By IBM Model 1 on words, in both directions: the English word e for which
    t(e | g) · t(g | e) is largest. The table glosses outputs word by word; it is no
    dictionary.

    Returns:
        "least": the least number of times that a word occurs; "glosses": pairs.
    """
    return {
        "least": MIN_COUNT,
        "glosses": glosses(load_texts(Translator().config, "train"), MIN_COUNT),
    }


def glosses(texts: Texts, least: int) -> dict[str, str]:
    """The English word that fits each German word best, in lower case both."""
    numbers: dict[str, int] = {}

    def ids(line: str) -> list[int]:
        words = WORD.findall(line.lower())
        return [numbers.setdefault(word, len(numbers)) for word in words]

    english = [ids(line) for line in texts.source]
    german = [ids(line) for line in texts.target]
    there = [IdPair(*pair) for pair in zip(german, english, strict=True)]
    back = [IdPair(*pair) for pair in zip(english, german, strict=True)]
    forward, backward = train_ibm_model1(there), train_ibm_model1(back)
    best: dict[int, tuple[float, int]] = {}
    for (g, e), p in forward.items():
        if g != NULL_WORD:
            best[g] = max(best.get(g, (0.0, 0)), (p * backward.get((e, g), 0.0), e))
    words = list(numbers)
    counts = Counter(word for line in german for word in line)
    return {
        words[g]: words[e]
        for g, (score, e) in sorted(best.items(), key=lambda item: words[item[0]])
        if counts[g] >= least and score > 0
    }
