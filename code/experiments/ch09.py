"""Chapter 9: Transformers on the toy language, and some with bugs in them."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from itertools import count, repeat
from statistics import fmean

import torch
from torch import Tensor, nn
from torch.utils.hooks import RemovableHandle

from attnbook.analysis.maps import attention_maps, cross_weights
from attnbook.core.vocabulary import UNK
from attnbook.course.ch09.suspect import Batch, accuracy, copies, planted, reversals
from attnbook.course.kit.toy_translation import THREE_SEEDS, train_and_measure
from attnbook.models.transformer import Transformer
from attnbook.models.variants import RotaryTransformer
from attnbook.nn.layers import TransformerConfig
from attnbook.nn.losses import token_loss
from attnbook.nn.masks import padding_mask
from attnbook.toy.data import CLAUSES, TARGET, held_out_pairs, make_batch
from attnbook.toy.language import AND, AND_TARGET, KINDS, NOUNS, STEMS, Pair
from attnbook.toy.metrics import exact_match
from attnbook.toy.models import SIZES, load_toy_model, toy_transformer
from attnbook.toy.training import fit
from experiments.registry import experiment, sweep

# Transformers on the toy language: with sinusoids, with rotary encodings


def rotary(source_vocab_size: int, target_vocab_size: int) -> RotaryTransformer:
    """The toy task's Transformer with rotary encodings in place of sinusoids."""
    sizes = TransformerConfig(
        source_vocab_size, target_vocab_size, **SIZES, norm_first=True
    )
    return RotaryTransformer(sizes)


measure = partial(train_and_measure, weights_of=cross_weights)

experiment(partial(measure, toy_transformer), "transformer")
experiment(partial(measure, rotary), "transformer_rotary")


# What happens in the trained toy Transformer, box by box

SENTENCES = 200
SUBLAYERS = tuple(
    f"decoder.{layer}.{box}"
    for layer in range(SIZES["n_layers"])
    for box in ("self_attention", "cross_attention", "feed_forward")
)
BOXES = (
    *("none", "encoder positions", "decoder positions"),
    *(f"encoder.{n}.{box}" for n in (0, 1) for box in ("attention", "feed_forward")),
    *SUBLAYERS,
    "encoder.1.attention and decoder.1.self_attention and decoder.1.feed_forward",
    "encoder.0.attention and encoder.1.attention",
)


@sweep(box=BOXES, clauses=(1, 2, 4), sentences=SENTENCES)
def boxes_off(box: str, clauses: int) -> dict:
    """The package's toy Transformer with the result of one box held at its mean.

    The mean is over all positions of other sentences, as chapter 5 does it with heads.
    The last are several boxes at once.

    Returns:
        The share of new sentences that are translated exactly.
    """
    model = load_toy_model("transformer")
    with torch.no_grad():
        if box != "none":
            hold_at_means(model, box.split(" and "))
        return {"exact": exact_match(model, held_out_pairs(clauses, SENTENCES))}


def hold_at_means(model: Transformer, boxes: Iterable[str]) -> None:
    """Hold the results of boxes at their means, each box's taken in the whole model."""
    means = {box: mean_result(model, box) for box in boxes}
    for box, mean in means.items():
        on_result(model, box, mean.expand_as)


@torch.no_grad()
def mean_result(model: Transformer, box: str) -> Tensor:
    """What a box adds to the residual stream, (D,): mean over other new sentences."""
    batch, found = make_batch(new_pairs(seed=1)), []
    with on_result(model, box, lambda result: found.append(result) or result):
        model(batch.src, batch.tgt_in)
    read = batch.tgt_in if box.startswith("decoder") else batch.src
    return found[0][padding_mask(read)].mean(0)


def on_result(
    model: Transformer, box: str, change: Callable[[Tensor], Tensor]
) -> RemovableHandle:
    """Let what a box adds to the residual stream be changed."""
    stack, _, positions = box.partition(" ")
    if not positions:
        return model.get_submodule(box).register_forward_hook(
            lambda module, inputs, output: change(output)
        )
    calls = count()  # both stacks use the same ones, the encoder first

    def hook(module: nn.Module, inputs: tuple[Tensor], output: Tensor) -> Tensor:
        if (next(calls) > 0) != (stack == "decoder"):
            return output
        return inputs[0] + change(output - inputs[0])

    return model.positions.register_forward_hook(hook)


def new_pairs(seed: int = 12345) -> list[Pair]:
    """New sentences of one to four clauses, as many of each."""
    return [p for clauses in CLAUSES for p in held_out_pairs(clauses, SENTENCES, seed)]


@sweep(clauses=(1, 2, 3, 4), sentences=SENTENCES)
def word_by_box(clauses: int) -> dict:
    """What the package's toy Transformer would write if its decoder ended earlier.

    Under teacher forcing, the residual stream before and after each sublayer of the
    decoder goes through the last norm and the output layer.

    Returns:
        The mean probability of the "right" next word and of the word just "read".
    """
    model, stream = load_toy_model("transformer"), []
    batch = make_batch(held_out_pairs(clauses, SENTENCES))
    for layer in model.decoder:
        for norm in (layer.norm_1, layer.norm_2, layer.norm_3):
            norm.register_forward_pre_hook(lambda _, inputs: stream.append(inputs[0]))
    model.decoder_norm.register_forward_pre_hook(
        lambda _, inputs: stream.append(inputs[0])
    )
    real, found = padding_mask(batch.tgt_out), {"right": [], "read": []}
    with torch.no_grad():
        model(batch.src, batch.tgt_in)
        for x in [*stream]:
            p = model.out(model.decoder_norm(x)).softmax(-1)  # (B, T, V)
            for name, words in (("right", batch.tgt_out), ("read", batch.tgt_in)):
                each = p.gather(-1, words[..., None])[..., 0][real]
                found[name].append(round(each.mean().item(), 4))
    return found


# What the query and the key go by

ENDINGS = {"determiner": "ns", "adjective": "ns"}
MEMBERS = {
    "source": [*map(list, KINDS.values()), [AND]],
    "target": [
        *(
            [word + end for word in words.values() for end in ENDINGS.get(kind, [""])]
            for kind, words in KINDS.items()
        ),
        [AND_TARGET],
    ],
}
"""The words of each kind, in both languages."""
READS = {
    "decoder": ("target", "decoder.0.self_attention"),
    "encoder": ("source", "encoder.0.attention"),
}
"""What each stack reads, and its first self-attention."""


@sweep(
    stack=tuple(READS),
    change=(
        *("nothing", "words of the same kind", "any words"),
        *("positions", "self-attention"),
    ),
    sentences=SENTENCES,
)
def word_due(stack: str, change: str) -> dict:
    """How often does the first cross-attention find the word that is due?

    Under teacher forcing, every word that a stack reads is exchanged for another, or
    its positions or its first self-attention are held at their means.

    Returns:
        The share of target words whose aligned source word gets the largest weight in
        the mean of the heads: "found".
    """
    model, rng, pairs = load_toy_model("transformer"), random.Random(0), new_pairs()
    read, (side, attention) = pairs, READS[stack]
    if "words" in change:
        kinds = MEMBERS[side]
        if change == "any words":
            kinds = [[word for kind in kinds for word in kind]]
        others = {w: [x for x in kind if x != w] or [w] for kind in kinds for w in kind}
        others["an"] = others.get("a")
        read = [
            replace(p, **{side: tuple(rng.choice(others[w]) for w in getattr(p, side))})
            for p in pairs
        ]
    elif change != "nothing":
        box = attention if change == "self-attention" else f"{stack} {change}"
        hold_at_means(model, [box])
    batch = make_batch(read)
    maps = attention_maps(model, batch.src, batch.tgt_in)  # (B, H, T, S) each
    best = maps["decoder.0.cross_attention"].mean(1).argmax(-1).tolist()
    found = [
        looks[t] == source
        for looks, pair in zip(best, pairs, strict=True)
        for t, source in enumerate(pair.alignment)
        if source is not None
    ]
    return {"found": round(fmean(found), 4)}


@sweep(exchanged=("word read", "source noun"), sentences=SENTENCES)
def word_ending(exchanged: str) -> dict:
    """Which ending does an adjective or determiner get, if another word is exchanged?

    Under teacher forcing, for each such word, one word gets the other ending: the one
    that the decoder has just read, or the noun of its phrase in the source.

    Returns:
        The number of "words", and the shares of the most probable next words that are
        the right one, with the "new" and with the "old" ending.
    """
    model, rng = load_toy_model("transformer"), random.Random(0)
    changed, at, old, new = [], [], [], []
    for pair in new_pairs():
        for t, word in enumerate(pair.target):
            if word[:-1] not in STEMS.values():
                continue
            end = "sn"["ns".index(word[-1])]
            source, target = [*pair.source], [*pair.target]
            noun = max(n for n in range(t) if target[n] in NOUNS.values())
            other = rng.choice([name for name in NOUNS if NOUNS[name][-1] == end])
            if exchanged == "source noun":
                source[pair.alignment[noun]] = other
            else:
                target[t - 1] = (
                    NOUNS[other] if noun == t - 1 else target[t - 1][:-1] + end
                )
            changed.append(replace(pair, source=tuple(source), target=tuple(target)))
            at.append(t)
            old.append(word)
            new.append(word[:-1] + end)
    batch = make_batch(changed)
    with torch.no_grad():
        logits = model(batch.src, batch.tgt_in)[torch.arange(len(at)), at]  # (n, V)
    found = [TARGET.words[i] for i in logits.argmax(-1).tolist()]
    return {"words": len(at)} | {
        name: round(fmean(map(str.__eq__, found, words)), 4)
        for name, words in (("new", new), ("old", old))
    }


# How likely does an untrained model find the word that it has just read?

WORDS = 37_000


@sweep(
    tables=("N(0, 1)", "N(0, 1/D)"),
    layers=("Xavier", "Xavier / √3", "nn.Linear", "nn.Linear × √3"),
    norm_first=(True, False),
    seed=THREE_SEEDS,
    words=WORDS,
)
def word_just_read(tables: str, layers: str, norm_first: bool, seed: int) -> dict:
    """Untrained base models, by the initial weights of their embeddings and layers.

    The vectors that enter the layers have variance 1 with both tables.

    Returns:
        Means over the positions of 16 random targets of 16 words: the "probability" of
        the word just read, the "cosine" of its embedding and the output, and the "loss"
        of random next words.
    """
    model = Transformer(TransformerConfig(WORDS, norm_first=norm_first)).eval()
    for part in (model.encoder, model.decoder):
        part.apply(partial(draw_anew, layers=layers))
    if tables == "N(0, 1)":
        nn.init.normal_(model.source_embedding.weight)
        model.source_embedding.forward = partial(
            nn.functional.embedding, weight=model.source_embedding.weight
        )
    read, src, targets = torch.randint(UNK + 1, WORDS, (3, 16, 16))
    with torch.no_grad():
        logits = model(src, read)  # (B, T, V)
        own = logits.gather(-1, read[..., None])[..., 0]  # (B, T)
        rows = model.source_embedding.weight[read]  # (B, T, D)
        loss = token_loss(logits, targets)
    chance = (own - logits.logsumexp(-1)).exp().mean()
    # A normalised output has length √D.
    cosine = (own / rows.norm(dim=-1)).mean() / rows.shape[-1] ** 0.5
    found = {"probability": chance, "cosine": cosine, "loss": loss}
    return {name: round(x.item(), 4) for name, x in found.items()}


def draw_anew(module: nn.Module, layers: str) -> None:
    """Draw a linear map's weights as ``nn.Linear`` does, or scale them."""
    if isinstance(module, nn.Linear):
        if "nn.Linear" in layers:
            module.reset_parameters()
        factor = 3**0.5 if "×" in layers else 3**-0.5 if "/" in layers else 1.0
        with torch.no_grad():
            module.weight.mul_(factor)


# Does a Transformer learn with bugs in it? Reversal of eight symbols, and copying

STEPS, LEARNING_RATE = 300, 2e-3
SEEDS = (0, 1, 2)


def new_sequences(task: Callable[[int, int], Iterator[Batch]]) -> Batch:
    """1,000 sequences of a task, none of them meant for training."""
    return next(task(99, 1000))


@sweep(seed=SEEDS, steps=STEPS, longer=5 * STEPS, rate=LEARNING_RATE)
def suspect_tests(seed: int) -> dict:
    """Test the suspect: copying, one batch of eight sequences, and more training.

    Returns:
        The shares of right symbols; "mended": with its heads repaired.
    """
    copying, one_batch, longer = (planted(seed=seed) for _ in range(3))
    mended = planted(("scale",), seed)
    fit(copying, copies(seed), STEPS, LEARNING_RATE)
    batch = next(reversals(seed, 8))
    fit(one_batch, repeat(batch), STEPS, LEARNING_RATE)
    fit(longer, reversals(seed), 5 * STEPS, LEARNING_RATE)
    fit(mended, reversals(seed), STEPS, LEARNING_RATE)
    found = {
        "copying": accuracy(copying, new_sequences(copies)),
        "one_batch": accuracy(one_batch, batch),
        "one_batch_new": accuracy(one_batch, new_sequences(reversals)),
        "longer": accuracy(longer, new_sequences(reversals)),
        "mended": accuracy(mended, new_sequences(reversals)),
    }
    return {name: round(right, 4) for name, right in found.items()}
