"""The heads of the shipped translator: where they attend, what is lost without them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from itertools import product

import torch

from attnbook.analysis.head_ablation import weight_by_offset, without_heads
from attnbook.analysis.maps import attention_maps
from attnbook.data.batching import Batch, IdPair, id_batch
from attnbook.models.transformer import Transformer
from attnbook.nn.losses import token_loss
from attnbook.nn.masks import padding_mask
from attnbook.translation.corpora import load_texts
from attnbook.translation.trainer import encode_pairs
from attnbook.translation.translator import Translator
from experiments.registry import experiment

N_SENTENCES = 300
BATCH_SIZE = 50
OFFSETS = (-2, -1, 0, 1, 2)
KINDS = {
    "encoder self-attention": "encoder.{}.attention",
    "decoder self-attention": "decoder.{}.self_attention",
    "cross-attention": "decoder.{}.cross_attention",
}
"""The three attentions, and the names of their modules without the layer's number."""

Head = tuple[str, int, int]
"""One of :data:`KINDS`, layer and head, both from 0."""


@experiment
def head_ablation() -> dict:
    """Remove heads from the shipped translator; measure the loss on validation data.

    Returns:
        "loss": nats per subword with all heads; "heads": for each head "rise", the
        increase of the loss without it; "layers": the same without all heads of one
        attention; "kinds": without one kind of attention in all layers; "together":
        without the k heads whose own "rise" is least, by k; "offsets": for each head
        of the encoder its mean weight at the distances "distances", and "eos", that
        on the end of the sentence.
    """
    translator = Translator()
    model = translator.model
    texts = load_texts(translator.config, "val")
    pairs = encode_pairs(translator.subwords, texts)[:N_SENTENCES]
    batches = length_batches(pairs)
    loss = mean_loss(model, batches)
    layers, heads = range(len(model.encoder)), range(model.encoder[0].attention.n_heads)

    def rise(*removed: Head) -> float:
        return round(loss_without(model, batches, removed) - loss, 4)

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
        "kinds": {kind: rise(*product([kind], layers, heads)) for kind in KINDS},
        "together": {str(k): rise(*least[:k]) for k in range(6, len(least), 6)},
        "distances": OFFSETS,
        "offsets": encoder_offsets(model, pairs),
    }


def length_batches(pairs: Sequence[IdPair]) -> list[Batch]:
    """Batches of sentences of similar length."""
    ordered = sorted(pairs, key=lambda pair: len(pair.source))
    starts = range(0, len(ordered), BATCH_SIZE)
    return [id_batch(ordered[start : start + BATCH_SIZE]) for start in starts]


@torch.no_grad()
def mean_loss(model: Transformer, batches: Iterable[Batch]) -> float:
    """The loss under teacher forcing, in nats per subword."""
    total, count = 0.0, 0
    for batch in batches:
        n = int(padding_mask(batch.tgt_out).sum())
        loss = token_loss(model(batch.src, batch.tgt_in), batch.tgt_out)
        total, count = total + n * loss.item(), count + n
    return total / count


def loss_without(
    model: Transformer, batches: Sequence[Batch], heads: Iterable[Head]
) -> float:
    """The loss without some heads, removed together."""
    by_module: dict[str, list[int]] = {}
    for kind, layer, head in heads:
        by_module.setdefault(KINDS[kind].format(layer), []).append(head)
    with ExitStack() as stack:
        for name, numbers in by_module.items():
            stack.enter_context(without_heads(model.get_submodule(name), numbers))
        return mean_loss(model, batches)


def encoder_offsets(model: Transformer, pairs: Sequence[IdPair]) -> list[dict]:
    """Where each head of the encoder attends, on average over sentences."""
    found = []
    for pair in pairs:
        batch = id_batch([pair])  # one sentence, so no padding
        maps = attention_maps(model, batch.src, batch.tgt_in)
        layers = [w[0] for name, w in maps.items() if name.startswith("encoder")]
        weights = torch.cat(layers)  # (all heads, S, S)
        eos = weights[:, :, -1].mean(-1, keepdim=True)
        found.append(torch.cat([weight_by_offset(weights, OFFSETS), eos], -1))
    means = torch.stack(found).mean(0).view(len(layers), -1, len(OFFSETS) + 1)
    return [
        {
            "layer": layer,
            "head": head,
            "offsets": [round(x, 4) for x in row[:-1]],
            "eos": round(row[-1], 4),
        }
        for layer, heads in enumerate(means.tolist())
        for head, row in enumerate(heads)
    ]
