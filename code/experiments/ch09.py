"""Chapter 9: Transformers on the toy language, and some with bugs in them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import repeat

import torch
from torch import nn

from attnbook.analysis.maps import cross_weights
from attnbook.core.vocabulary import UNK
from attnbook.course.ch09.suspect import Batch, accuracy, copies, planted, reversals
from attnbook.course.kit.toy_translation import THREE_SEEDS, train_and_measure
from attnbook.models.transformer import Transformer
from attnbook.models.variants import RotaryTransformer
from attnbook.nn.layers import TransformerConfig
from attnbook.nn.losses import token_loss
from attnbook.nn.masks import padding_mask
from attnbook.toy.data import held_out_pairs, make_batch
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


@sweep(box=BOXES, clauses=(1, 2), sentences=SENTENCES)
def boxes_off(box: str, clauses: int) -> dict:
    """The package's toy Transformer with the result of one box replaced by zeros.

    Of positions, what is left is the embedding. The last are several boxes at once.

    Returns:
        The share of new sentences that are translated exactly.
    """
    model = load_toy_model("transformer")
    if box.endswith("positions"):
        decoder = box.startswith("decoder")
        model.positions.register_forward_hook(
            lambda module, inputs, how, output: (
                inputs[0] if decoder == ("offset" in how) else output
            ),
            with_kwargs=True,
        )
    elif box != "none":
        for name in box.split(" and "):
            model.get_submodule(name).register_forward_hook(
                lambda module, inputs, output: torch.zeros_like(output)
            )
    pairs = held_out_pairs(clauses, SENTENCES)
    with torch.no_grad():
        return {"exact": exact_match(model, pairs)}


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
BUILDS = {
    "as published": ("softmax", "heads", "scale"),
    "softmax mended": ("heads", "scale"),
    "softmax and heads mended": ("scale",),
    "all mended": (),
    "all but the softmax": ("softmax",),
    "all but the heads": ("heads",),
}
"""The bugs of each build."""


def new_sequences(task: Callable[[int, int], Iterator[Batch]]) -> Batch:
    """1,000 sequences of a task, none of them meant for training."""
    return next(task(99, 1000))


@torch.no_grad()
def evaluate_reversal(model: nn.Module) -> dict[str, float]:
    """Loss and accuracy ("right") under teacher forcing on new sequences."""
    *inputs, targets = batch = new_sequences(reversals)
    loss = token_loss(model(*inputs), targets).item()
    return {"loss": round(loss, 4), "right": round(accuracy(model, batch), 4)}


@sweep(build=BUILDS, seed=SEEDS, steps=STEPS, rate=LEARNING_RATE, length=8)
def broken_builds(build: str, seed: int) -> dict:
    """What each of :data:`BUILDS` learns."""
    model = planted(BUILDS[build], seed)
    fit(model, reversals(seed), STEPS, LEARNING_RATE)
    return evaluate_reversal(model)


@sweep(seed=SEEDS, steps=STEPS, longer=5 * STEPS, rate=LEARNING_RATE)
def suspect_tests(seed: int) -> dict:
    """Test the suspect: copying, one batch of eight sequences, and more training."""
    copying, one_batch, longer = (planted(seed=seed) for _ in range(3))
    fit(copying, copies(seed), STEPS, LEARNING_RATE)
    batch = next(reversals(seed, 8))
    fit(one_batch, repeat(batch), STEPS, LEARNING_RATE)
    fit(longer, reversals(seed), 5 * STEPS, LEARNING_RATE)
    found = {
        "copying": accuracy(copying, new_sequences(copies)),
        "one_batch": accuracy(one_batch, batch),
        "one_batch_new": accuracy(one_batch, new_sequences(reversals)),
        "longer": accuracy(longer, new_sequences(reversals)),
    }
    return {name: round(right, 4) for name, right in found.items()}
