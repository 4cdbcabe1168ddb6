"""Chapter 6: translators without a mask, and the mask card."""

from __future__ import annotations

import os
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
from attnbook.data.batching import pad
from attnbook.data.subwords import Subwords
from attnbook.decoding.greedy_search import greedy
from attnbook.translation.bleu_score import corpus_bleu, paired_bootstrap
from attnbook.translation.corpora import load_texts
from attnbook.translation.evaluation import beam_translate, max_output_len
from attnbook.translation.translator import Translator
from experiments.ch04 import TRANSLATORS, loaded
from experiments.registry import experiment, sweep

# The causal mask at inference


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
