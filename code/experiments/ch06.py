"""Chapter 6: translators without a mask, order without positions, the mask card."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache, partial
from importlib import import_module
from types import ModuleType

import torch
from sacrebleu.metrics import BLEU
from torch import Tensor, nn

from attnbook.core.vocabulary import EOS
from attnbook.course.ch06.mask_arguments import (
    Attend,
    D,
    MaskArgument,
    find_convention,
    seeded,
    square,
    torch_arguments,
)
from attnbook.course.ch06.translators import (
    Recomputing,
    as_kind,
)
from attnbook.course.kit.toy_translation import THREE_SEEDS
from attnbook.data.batching import Batch, pad
from attnbook.data.subwords import Subwords
from attnbook.decoding.greedy_search import greedy
from attnbook.nn.masks import causal_mask
from attnbook.nn.multi_head import MultiHeadAttention
from attnbook.toy.data import held_out_pairs, make_batch
from attnbook.toy.metrics import greedy_translations
from attnbook.toy.models import load_toy_model
from attnbook.toy.tasks import (
    TASK_VOCAB_SIZE,
    previous_symbols,
    random_symbols,
    task_batches,
)
from attnbook.toy.training import fit
from attnbook.translation.bleu_score import corpus_bleu, paired_bootstrap
from attnbook.translation.corpora import load_texts
from attnbook.translation.evaluation import beam_translate, max_output_len
from attnbook.translation.trainer import encode_pairs
from attnbook.translation.translator import Translator
from experiments.ch04 import TRANSLATORS, loaded
from experiments.ch05 import length_batches, mean_loss
from experiments.registry import experiment, sweep

# The causal mask at inference

N_CLAUSES = 4  # of the sentences of the toy language


@sweep(model=("toy", "captions"), causal=(True, False), clauses=N_CLAUSES)
def mask_at_inference(model: str, causal: bool) -> dict:
    """Decode with a trained Transformer, with the causal mask or without it.

    Returns:
        The number of "sentences"; the "loss" per token, in nats, with the correct
        tokens before; the share of "changed" translations, compared with those with
        the mask; and "exact", the share translated exactly (toy language), or "bleu"
        (captions, greedy decoding, on all validation sentences).
    """
    outputs, found = DECODE[model](causal)
    kept, _ = DECODE[model](True)
    changed = [a != b for a, b in zip(kept, outputs, strict=True)]
    share = round(sum(changed) / len(changed), 4)
    return {"sentences": len(outputs), "changed": share, **found}


@cache
def decode_toy(causal: bool) -> tuple[list, dict]:
    """The toy language: translations, exact match and loss."""
    pairs = held_out_pairs(N_CLAUSES)
    model = load_toy_model("transformer")
    model = Recomputing(model, () if causal else range(len(model.decoder)))
    outputs = greedy_translations(model, pairs)
    right = [out == pair.target for out, pair in zip(outputs, pairs, strict=True)]
    loss = stepwise_loss(model, [make_batch(pairs)])
    return outputs, {
        "exact": round(sum(right) / len(right), 4),
        "loss": round(loss, 4),
    }


@cache
def decode_captions(causal: bool) -> tuple[list, dict]:
    """Captions from English to German: translations, BLEU and loss."""
    translator = Translator()
    val = load_texts(translator.config, "val")
    bare = () if causal else range(len(translator.model.decoder))
    model = Recomputing(translator.model, bare)
    outputs = beam_translate(model, translator.subwords, val.source, width=1)
    pairs = encode_pairs(translator.subwords, val)
    loss = stepwise_loss(model, length_batches(pairs))
    score = corpus_bleu(outputs, val.target)
    return outputs, {"bleu": round(score.bleu, 2), "loss": round(loss, 4)}


DECODE = {"toy": decode_toy, "captions": decode_captions}


def stepwise_loss(model: nn.Module, batches: Sequence[Batch]) -> float:
    """Loss per target token if every step sees the correct tokens before it."""

    def logits(src: Tensor, tgt_in: Tensor) -> Tensor:
        state, steps = model.start(src), []
        for token in tgt_in.unbind(1):
            step, state = model.step(token, state)  # (B, V)
            steps.append(step)
        return torch.stack(steps, 1)  # (B, T, V)

    return mean_loss(logits, batches)


LAYERS = {"none": (), "1": (0,), "2": (1,), "3": (2,), "4": (3,), "all": range(4)}
"""Which of the translator's four decoder layers lose their mask."""
FIRST, LAST = 200, 500  # of the validation captions


@sweep(translator=TRANSLATORS, layers=LAYERS, captions=LAST - FIRST)
def mask_by_layer(translator: str, layers: str) -> dict:
    """Drop the causal mask in single layers of a translator; look at BLEU's parts.

    Returns:
        The BLEU of greedy decoding on 300 validation captions, its four "precisions"
        in %, the "length_ratio" to the references, the number of "changed"
        translations, and if there are any the "p_value" of the difference in BLEU to
        the intact model, by paired bootstrap.
    """
    outputs, references = decode_without(translator, layers)
    kept, _ = decode_without(translator, "none")
    changed = sum(a != b for a, b in zip(kept, outputs, strict=True))
    found = {"changed": changed, **bleu_parts(outputs, references)}
    if changed:
        test = paired_bootstrap(kept, outputs, references)
        found["p_value"] = round(test.p_value, 4)
    return found


@cache
def decode_without(translator: str, layers: str) -> tuple[list[str], list[str]]:
    """Translations without the masks of some layers, and their references."""
    found, val = loaded(translator)
    model = Recomputing(found.model, LAYERS[layers])
    outputs = beam_translate(model, found.subwords, val.source[FIRST:LAST], width=1)
    return outputs, val.target[FIRST:LAST]


def bleu_parts(outputs: Sequence[str], references: Sequence[str]) -> dict:
    """BLEU with its four precisions, in %, and the ratio of the lengths."""
    score = BLEU(force=True).corpus_score([*outputs], [[*references]])
    return {
        "bleu": round(score.score, 2),
        "precisions": [round(p, 1) for p in score.precisions],
        "length_ratio": round(score.sys_len / score.ref_len, 3),
    }


# The padding mask at inference

CAPTIONS = 192


@experiment
def padding_captions() -> dict:
    """Translate captions without the padding mask, in batches of several kinds.

    Returns:
        "bleu": of the first validation captions, decoded greedily with the mask;
        "runs": for each way the BLEU, and how many translations "changed".
    """
    translator = Translator()
    val = load_texts(translator.config, "val")
    english, german = val.source[:CAPTIONS], val.target[:CAPTIONS]
    bare = as_kind(translator.model)
    ways = {
        "with the mask, 32 in file order": (translator.model, 32, False),
        "32 in file order": (bare, 32, False),
        "32 sorted by length": (bare, 32, True),
        "8 in file order": (bare, 8, False),
        "2 in file order": (bare, 2, False),
        "1": (bare, 1, False),
    }
    alone = translate(translator.model, translator.subwords, english, 1)
    runs = []
    for name, (model, size, in_order) in ways.items():
        outputs = translate(model, translator.subwords, english, size, in_order)
        run = {
            "batches": name,
            "changed": sum(a != b for a, b in zip(alone, outputs, strict=True)),
            "bleu": round(corpus_bleu(outputs, german).bleu, 2),
        }
        runs.append(run)
        print(f"  {run}", flush=True)
    bleu = round(corpus_bleu(alone, german).bleu, 2)
    return {"captions": CAPTIONS, "bleu": bleu, "runs": runs}


def translate(
    model: nn.Module,
    subwords: Subwords,
    sentences: Sequence[str],
    size: int,
    by_length: bool = False,
) -> list[str]:
    """Translate greedily in batches of a size, in the order given or by length."""
    ids = [[*subwords.encode(sentence), EOS] for sentence in sentences]
    order = [*range(len(ids))]
    if by_length:
        order.sort(key=lambda i: len(ids[i]))
    found = [""] * len(ids)
    for start in range(0, len(ids), size):
        group = order[start : start + size]
        src = pad([ids[i] for i in group])
        limits = [max_output_len(len(ids[i])) for i in group]
        rows = greedy(model, src, limits).tolist()
        for i, row in zip(group, rows, strict=True):
            found[i] = subwords.decode(row)
    return found


# What do layers without positions know about the order of symbols?

LENGTH, STEPS, RATE, BACK = 12, 800, 4e-3, (1, 2)
MODELS = {
    "causal, two layers": (True, 2, False),
    "causal, one layer": (True, 1, False),
    "full, two layers": (False, 2, False),
    "causal, two layers, with positions": (True, 2, True),
}
"""Whether the mask is causal, the number of layers, whether positions are learned."""


class Recall(nn.Module):
    """Attention layers, each added to what it reads, and K answers a position."""

    def __init__(self, *, causal: bool, n_layers: int, positions: bool, d: int = 64):
        super().__init__()
        self.embedding = nn.Embedding(TASK_VOCAB_SIZE, d)
        self.positions = nn.Embedding(LENGTH, d) if positions else None
        self.layers = nn.ModuleList(MultiHeadAttention(d, 2) for _ in range(n_layers))
        self.out = nn.Linear(d, len(BACK) * TASK_VOCAB_SIZE)
        self.mask = causal_mask(LENGTH) if causal else None

    def forward(self, ids: Tensor) -> Tensor:
        """Map symbols, (B, L), to logits, (B, L, K, V)."""
        x = self.embedding(ids)  # (B, L, D)
        if self.positions is not None:
            x = x + self.positions.weight
        for layer in self.layers:
            x = x + layer(x, x, x, self.mask)
        return self.out(x).unflatten(-1, (len(BACK), -1))


@experiment
def order_without_positions() -> dict:
    """Train on the symbols one and two back, with three seeds for each model.

    Returns:
        "runs": for each model and seed the share of right answers at positions 3 to 12
        of 512 new sequences, for one and two back; "bag": the share of who knows which
        symbols a position can attend to, but not their order, with a causal mask and
        without.
    """
    runs = []
    for name, (causal, n_layers, positions) in MODELS.items():
        for seed in THREE_SEEDS:
            torch.manual_seed(seed)
            model = Recall(causal=causal, n_layers=n_layers, positions=positions)
            right = train_recall(model, seed)
            runs.append({"model": name, "seed": seed, "right": right})
            print(f"  {runs[-1]}", flush=True)
    bag = {"causal": bag_guess(causal=True), "full": bag_guess(causal=False)}
    return {"length": LENGTH, "steps": STEPS, "rate": RATE, "bag": bag, "runs": runs}


def train_recall(model: Recall, seed: int) -> list[float]:
    """Train; the share of right answers where both count: one back, two back."""
    task = partial(previous_symbols, back=BACK)
    fit(model, task_batches(task, LENGTH, seed), STEPS, RATE)
    g = torch.Generator().manual_seed(12345)
    ids, targets = task(random_symbols(512, LENGTH, g))
    with torch.no_grad():
        right = (model(ids).argmax(-1) == targets)[:, max(BACK) :]  # (B, L - 2, K)
    return [round(share, 4) for share in right.float().mean((0, 1)).tolist()]


def bag_guess(*, causal: bool, number: int = 5000) -> float:
    """Share of right answers of who names the most frequent of the other symbols."""
    g = torch.Generator().manual_seed(0)
    odds = []
    for row in random_symbols(number, LENGTH, g).tolist():
        for t in range(max(BACK), LENGTH):
            others = row[:t] if causal else row[:t] + row[t + 1 :]
            odds.append(Counter(others).most_common(1)[0][1] / len(others))
    return round(sum(odds) / len(odds), 4)


# The mask card: other libraries


@experiment
def mask_card() -> dict:
    """Test all libraries; those other than PyTorch are not required by the book.

    Returns:
        "rows": for each argument the result of :func:`find_convention`.
    """
    arguments = [
        *torch_arguments(),
        *transformers_arguments(),
        *keras_arguments(),
        *jax_arguments(),
    ]
    rows = [find_convention(argument) for argument in arguments]
    for row in rows:
        print("  " + ", ".join(f"{value}" for value in row.values()), flush=True)
    return {"rows": rows}


def transformers_arguments() -> list[MaskArgument]:
    """A small BERT of Hugging Face with random weights."""
    call, ints = "BertModel", (1, 0)
    plain, fused = _bert("eager"), _bert("sdpa")
    return [
        MaskArgument("transformers", call, "attention_mask, eager", ints, plain),
        MaskArgument("transformers", call, "attention_mask, sdpa", ints, fused),
        MaskArgument("transformers", call, "… 0.0 and −inf", (0.0, -torch.inf), fused),
    ]


def _bert(implementation: str) -> Attend:
    library = _optional("transformers")
    config = library.BertConfig(
        vocab_size=1,
        hidden_size=D,
        intermediate_size=D,
        num_hidden_layers=1,
        num_attention_heads=2,
        initializer_range=1.0,  # so that scores differ
        attn_implementation=implementation,
    )
    model = seeded(library.BertModel, config, add_pooling_layer=False).eval()
    for table in ("position_embeddings", "token_type_embeddings"):
        nn.init.zeros_(
            getattr(model.embeddings, table).weight
        )  # so that x is used unchanged

    @torch.no_grad()
    def attend(x: Tensor, values: list) -> Tensor:
        mask = torch.tensor([values])  # (B, S)
        return model(inputs_embeds=x[None], attention_mask=mask)[0][0, 0]

    return attend


def keras_arguments() -> list[MaskArgument]:
    """The layer of Keras 3, with PyTorch as the default backend."""
    os.environ.setdefault("KERAS_BACKEND", "torch")
    keras = _optional("keras")
    keras.utils.set_random_seed(0)
    layer = keras.layers.MultiHeadAttention(num_heads=2, key_dim=D // 2)

    def attend(x: Tensor, values: list) -> Tensor:
        out = layer(x[None], x[None], attention_mask=square(values)[None])
        return torch.tensor(keras.ops.convert_to_numpy(out))[0, 0]

    call = "layers.MultiHeadAttention"
    return [MaskArgument("keras", call, "attention_mask", (True, False), attend)]


def jax_arguments() -> list[MaskArgument]:
    """The functions of JAX and of Flax, which have the same order of arguments."""
    jax, _, nnx = _optional("jax"), _optional("flax"), _optional("flax.nnx")

    def attend(function: Callable, x: Tensor, values: list) -> Tensor:
        q = jax.numpy.asarray(x.numpy())[None, :, None]  # (B, S, H, D)
        mask = jax.numpy.asarray(square(values).numpy())
        return torch.tensor(function(q, q, q, mask=mask[None, None]).tolist())[0, 0, 0]

    return [
        MaskArgument(library, call, "mask", (True, False), partial(attend, function))
        for library, call, function in (
            ("jax", "nn.dot_product_attention", jax.nn.dot_product_attention),
            ("flax", "nnx.dot_product_attention", nnx.dot_product_attention),
        )
    ]


def _optional(name: str) -> ModuleType:
    """Import a library that the book does not require."""
    try:
        return import_module(name)
    except ImportError as error:
        raise ValueError(
            f"the mask card needs {name}, which is not installed and not required by "
            "the book: pip install transformers keras jax flax"
        ) from error
