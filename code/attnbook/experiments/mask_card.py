"""What does True mean in a mask? Each library is asked, by trying both.

No documentation is trusted: four places attend to each other, one of them gets the
other mark, and the leak detector finds which places the first one reads.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from types import ModuleType
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from attnbook.analysis.leaks import influence
from attnbook.nn.scaled_dot_product import attention

Look = Callable[[Tensor, list], Tensor]
"""Inputs (S, D) and S marks, the same for every query → what place 0 gives, (D,)."""

D = 8
SHARED = torch.tensor([1.0, 1, -1, -1, 0, 0, 0, 0])  # half of places 1 and 2
X = torch.stack(
    [
        torch.tensor([1.0, -1, 1, -1, 1, -1, 1, -1]),
        SHARED + torch.tensor([0.0, 0, 0, 0, 1, 1, -1, -1]),
        SHARED - torch.tensor([0.0, 0, 0, 0, 1, 1, -1, -1]),
        torch.tensor([1.0, -1, -1, 1, -1, -1, 1, 1]),
    ]
)  # (S, D) = (4, 8): what attends. All rows have mean 0 and variance 1, which a layer
# norm leaves as they are.
OTHER = X.clone()
OTHER[1] = SHARED + torch.tensor([0.0, 0, 0, 0, 1, -1, 1, -1])
OTHER[2] = SHARED - torch.tensor([0.0, 0, 0, 0, 1, -1, 1, -1])
# Other vectors at places 1 and 2, with the same sum: equal weights cannot tell.
ODD = 2  # the place with the other mark
FAST = "… with eval() and no_grad()"  # another way through PyTorch's own code
FELT = 1e-4  # a change up to this is rounding


class Probe(NamedTuple):
    """One argument of one library, and how to try it."""

    library: str  # its name for pip
    call: str
    argument: str
    marks: tuple  # the two marks to try
    look: Callable[[Tensor, list], Tensor]


def mask_card() -> dict:
    """Ask all libraries; those beyond PyTorch are no requirement of the book.

    Returns:
        "rows": for each argument what :func:`ask` returns.

    Raises:
        ValueError: If a library is missing; the message says how to install it.
    """
    probes = [*torch_probes(), *transformers_probes(), *keras_probes(), *jax_probes()]
    rows = [ask(probe) for probe in probes]
    for row in rows:
        print("  " + ", ".join(f"{value}" for value in row.values()), flush=True)
    return {"rows": rows}


def ask(probe: Probe) -> dict[str, str]:
    """Find out which mark lets a query attend and which hides.

    Args:
        probe: What to ask.

    Returns:
        "library", "version", "call", "argument"; "attend" and "hidden": the mark that
        does it, "attend" being "both" and "hidden" "neither" if nothing is hidden;
        "empty": what a query gets that may attend to nothing, see :func:`give_empty`.

    Raises:
        ValueError: If neither mark hides as a mask does.
    """
    one, other = probe.marks
    marks = [one] * len(X)
    marks[ODD] = other
    seen = places_read(probe.look, marks)
    if seen == {1, 2, 3}:
        attend, hidden, empty = "both", "neither", ""
    elif seen in ({1, 3}, {ODD}):
        attend, hidden = (one, other) if seen == {1, 3} else (other, one)
        open_row = [attend] * len(X)
        if same(probe.look(X, open_row), probe.look(OTHER, open_row)):
            raise ValueError(f"{probe.call}: with nothing hidden all weights are equal")
        empty = give_empty(probe.look, attend, hidden)
    else:
        raise ValueError(
            f"{probe.call}, {probe.argument}: with {other} at place {ODD} and {one} "
            f"elsewhere, place 0 reads {sorted(seen)}; that is no mask"
        )
    return {
        "library": probe.library,
        "version": getattr(import_module(probe.library), "__version__", ""),
        "call": probe.call,
        "argument": probe.argument,
        "attend": sign(attend),
        "hidden": sign(hidden),
        "empty": empty,
    }


def places_read(look: Look, marks: list) -> set[int]:
    """The places whose vectors place 0 reads, itself apart."""
    model = partial(_batched, look, marks)
    moved = influence(model, X[None], -X[None])[0] > FELT  # (S,)
    return {j for j in range(1, len(X)) if moved[j]}


def same(one: Tensor, other: Tensor) -> bool:
    """Whether two results differ by rounding only."""
    return bool((one - other).abs().max() <= FELT)


def give_empty(look: Look, attend: object, hidden: object) -> str:
    """What attention gives a query for which every key is hidden.

    Args:
        look: How to attend.
        attend: The mark that lets attend.
        hidden: The mark that hides.

    Returns:
        "NaN"; "zeros": no place is read; "the mean": all places are read, with equal
        weights.

    Raises:
        ValueError: If it is none of these.
    """
    given = look(X, [hidden] * len(X))
    if given.isnan().any():
        return "NaN"
    seen = places_read(look, [hidden] * len(X))
    itself = look(X, [attend, *[hidden] * (len(X) - 1)])
    if not seen and not same(given, itself):
        return "zeros"
    if seen == {1, 2, 3} and same(given, look(OTHER, [hidden] * len(X))):
        return "the mean"
    raise ValueError(f"with all hidden, place 0 reads {sorted(seen) or 'itself'}")


def sign(mark: object) -> str:
    """A mark as it is printed: True, 1, 0.0, −inf."""
    return str(mark).replace("-", "−")


def _batched(look: Look, marks: list, x: Tensor) -> Tensor:
    """(1, S, D) → (1, 1, D), as the leak detector wants it."""
    return look(x[0], marks)[None, None]


def _square(marks: Sequence) -> Tensor:
    """The marks as a mask that is the same for every query, (T, S)."""
    return torch.tensor([marks] * len(marks))


def torch_probes() -> list[Probe]:
    """Ours and PyTorch's; the page asks them live."""
    sdpa = "F.scaled_dot_product_attention"
    bools, floats = (True, False), (0.0, -torch.inf)
    triangle = nn.Transformer.generate_square_subsequent_mask(2)[0].tolist()
    return [
        Probe("attnbook", "attention", "mask", bools, _ours),
        Probe("torch", sdpa, "attn_mask, bool", bools, _sdpa),
        Probe("torch", sdpa, "attn_mask, float", floats, _sdpa),
        Probe("torch", sdpa, "attn_mask, 1.0 and 0.0", (1.0, 0.0), _sdpa),
        *_multi_head_probes(bools, floats),
        *_encoder_probes(bools),
        Probe(
            "torch",
            "nn.Transformer",
            "generate_square_subsequent_mask",
            tuple(triangle),
            _multi_head("attn_mask"),
        ),
    ]


def _multi_head_probes(bools: tuple, floats: tuple) -> list[Probe]:
    call, padding = "nn.MultiheadAttention", "key_padding_mask"
    lean = _multi_head(padding, need_weights=False)
    fast = _multi_head(padding, need_weights=False, train=False)
    return [
        Probe("torch", call, "attn_mask, bool", bools, _multi_head("attn_mask")),
        Probe("torch", call, "attn_mask, float", floats, _multi_head("attn_mask")),
        Probe("torch", call, padding, bools, _multi_head(padding)),
        Probe("torch", call, "… need_weights=False", bools, lean),
        Probe("torch", call, FAST, bools, fast),
    ]


def _encoder_probes(bools: tuple) -> list[Probe]:
    call, padding = "nn.TransformerEncoderLayer", "src_key_padding_mask"
    fast = _encoder_layer(padding, train=False)
    return [
        Probe("torch", call, "src_mask", bools, _encoder_layer("src_mask")),
        Probe("torch", call, padding, bools, _encoder_layer(padding)),
        Probe("torch", call, FAST, bools, fast),
    ]


def _ours(x: Tensor, marks: list) -> Tensor:
    return attention(x, x, x, _square(marks))[0]


def _sdpa(x: Tensor, marks: list) -> Tensor:
    return F.scaled_dot_product_attention(x, x, x, attn_mask=_square(marks))[0]


def _mask_for(argument: str, marks: list) -> Tensor:
    """A mask of keys alone, (B, S), or of queries and keys, (T, S)."""
    padding = argument.endswith("key_padding_mask")
    return torch.tensor([marks]) if padding else _square(marks)


def _multi_head(
    argument: str, *, train: bool = True, need_weights: bool = True
) -> Look:
    theirs = _seeded(nn.MultiheadAttention, D, 2, batch_first=True).train(train)

    @torch.no_grad()
    def look(x: Tensor, marks: list) -> Tensor:
        x = x[None]  # one tensor three times: only then is the fast path taken
        mask = {argument: _mask_for(argument, marks)}
        return theirs(x, x, x, need_weights=need_weights, **mask)[0][0, 0]

    return look


def _encoder_layer(argument: str, *, train: bool = True) -> Look:
    layer = _seeded(nn.TransformerEncoderLayer, D, 2, D, 0.0, batch_first=True)
    layer.train(train)

    @torch.no_grad()
    def look(x: Tensor, marks: list) -> Tensor:
        return layer(x[None], **{argument: _mask_for(argument, marks)})[0, 0]

    return look


def _seeded(make: Callable[..., nn.Module], *arguments, **named) -> nn.Module:
    """A module whose weights are the same every time; no other draw is moved by it."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return make(*arguments, **named)


def transformers_probes() -> list[Probe]:
    """A small BERT by Hugging Face, with weights drawn at random."""
    call, ints = "BertModel", (1, 0)
    plain, fused = _bert("eager"), _bert("sdpa")
    return [
        Probe("transformers", call, "attention_mask, eager", ints, plain),
        Probe("transformers", call, "attention_mask, sdpa", ints, fused),
        Probe("transformers", call, "… 0.0 and −inf", (0.0, -torch.inf), fused),
    ]


def _bert(implementation: str) -> Look:
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
    model = _seeded(library.BertModel, config, add_pooling_layer=False).eval()
    for table in ("position_embeddings", "token_type_embeddings"):
        nn.init.zeros_(getattr(model.embeddings, table).weight)  # x comes in as it is

    @torch.no_grad()
    def look(x: Tensor, marks: list) -> Tensor:
        mask = torch.tensor([marks])  # (B, S)
        return model(inputs_embeds=x[None], attention_mask=mask)[0][0, 0]

    return look


def keras_probes() -> list[Probe]:
    """The layer of Keras 3, which computes with PyTorch unless told otherwise."""
    os.environ.setdefault("KERAS_BACKEND", "torch")
    keras = _optional("keras")
    keras.utils.set_random_seed(0)
    layer = keras.layers.MultiHeadAttention(num_heads=2, key_dim=D // 2)

    def look(x: Tensor, marks: list) -> Tensor:
        out = layer(x[None], x[None], attention_mask=_square(marks)[None])
        return torch.tensor(keras.ops.convert_to_numpy(out))[0, 0]

    call = "layers.MultiHeadAttention"
    return [Probe("keras", call, "attention_mask", (True, False), look)]


def jax_probes() -> list[Probe]:
    """The functions of JAX and of Flax, whose arguments have the same order."""
    jax, _, nnx = _optional("jax"), _optional("flax"), _optional("flax.nnx")

    def look(function: Callable, x: Tensor, marks: list) -> Tensor:
        q = jax.numpy.asarray(x.numpy())[None, :, None]  # (B, S, H, D)
        mask = jax.numpy.asarray(_square(marks).numpy())
        return torch.tensor(function(q, q, q, mask=mask[None, None]).tolist())[0, 0, 0]

    return [
        Probe(library, call, "mask", (True, False), partial(look, function))
        for library, call, function in (
            ("jax", "nn.dot_product_attention", jax.nn.dot_product_attention),
            ("flax", "nnx.dot_product_attention", nnx.dot_product_attention),
        )
    ]


def _optional(name: str) -> ModuleType:
    """Import a library that the book does not require.

    Raises:
        ValueError: If it is not installed.
    """
    try:
        return import_module(name)
    except ImportError as error:
        raise ValueError(
            f"the mask card asks {name}, which is not installed, and no requirement of "
            "the book: pip install transformers keras jax flax"
        ) from error
