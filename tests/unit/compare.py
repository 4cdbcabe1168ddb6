"""What the tests of attention share: seeded numbers, models in float64, equality."""

import torch
from torch import nn

from attnbook.data.batching import pad
from attnbook.models.bahdanau import Bahdanau
from attnbook.models.luong import Luong
from attnbook.models.seq2seq import InitialState, StaticContext
from attnbook.models.transformer import Transformer
from attnbook.nn.layers import TransformerConfig
from attnbook.nn.multi_head import split_heads
from attnbook.toy.data import SOURCE, TARGET

DEVICES = ["meta", *(["cuda"] if torch.cuda.is_available() else [])]
"""Where all must work besides the processor; a machine without a GPU skips nothing."""


def make_transformer(source, target=None, *, kind=Transformer, positions=None, **sizes):
    """A Transformer from its sizes, without the config in between."""
    return kind(TransformerConfig(source, target, **sizes), positions)


def make_layer(kind, d_model, n_heads, d_ff, dropout=0.0, **kwargs):
    """An encoder or decoder layer from its sizes; without dropout unless asked for."""
    sizes = {"d_model": d_model, "n_heads": n_heads, "d_ff": d_ff, "dropout": dropout}
    return kind(TransformerConfig(**sizes, **kwargs))


def make_bahdanau(seed=0):
    """A small model of the toy language; its weights differ, as after some training."""
    torch.manual_seed(seed)
    model = Bahdanau(len(SOURCE), len(TARGET), d_embed=8, d_hidden=12, d_attention=10)
    with torch.no_grad():
        model.score.v.weight.mul_(20)
    return model


def project(mha, query, key, value):
    """Each head's queries, (B, H, T, d_k), keys and values, (B, H, S, d_k)."""
    q = split_heads(mha.W_Q(query), mha.n_heads)
    return q, *mha.keys_values(key, value)


def numbers(seed, *shapes):
    """Normal numbers in float64, one tensor a shape; gradients can be asked for."""
    g = torch.Generator().manual_seed(seed)
    made = [torch.randn(shape, generator=g, dtype=torch.float64) for shape in shapes]
    return [tensor.requires_grad_() for tensor in made]


def plain(seed, *shape):
    """One such tensor, without a gradient."""
    return numbers(seed, shape)[0].detach()


def sentences(seed, lengths, words):
    """Padded ids of real words, one row a length."""
    g = torch.Generator().manual_seed(seed)
    return pad([torch.randint(4, words, (n,), generator=g).tolist() for n in lengths])


def some_allowed(seed, *shape):
    """A random mask; its first place is open, so that no row is empty."""
    g = torch.Generator().manual_seed(seed)
    mask = torch.rand(shape, generator=g) < 0.6
    mask[..., 0] = True
    return mask


def stacked(nested):
    """Turn numbers in lists of lists into one tensor, through which gradients flow."""
    if isinstance(nested, torch.Tensor):
        return nested
    return torch.stack([stacked(inner) for inner in nested])


def double(make, *args, seed=0, **kwargs):
    """Make a module with seeded weights, in float64."""
    torch.manual_seed(seed)
    return make(*args, **kwargs).double()


def randomise(module):
    """Weights that are all different from zero: biases and gains too."""
    for parameter in module.parameters():
        nn.init.normal_(parameter, std=0.5)
    return module


def step_by_step(model, src, tgt_in):
    """The logits of a model that is given one target word after the other."""
    state, logits = model.start(src), []
    for token in tgt_in.unbind(1):
        step, state = model.step(token, state)
        logits.append(step)
    return torch.stack(logits, 1)


def close(ours, reference, atol=1e-12):
    """Assert equal shapes and types, and values equal up to rounding."""
    torch.testing.assert_close(ours, reference, rtol=0, atol=atol)


def same(ours, reference, inputs, atol=1e-11):
    """Assert that two ways to compute a tensor agree, and their gradients too.

    The gradients are those of one random weighted sum of the entries: a plain sum would
    miss errors in weights, whose sum is always 1.
    """
    for one, other in _with_gradients(ours, reference, inputs):
        close(one, other, atol)


def agree(ours, reference, inputs, share=1e-12):
    """As :func:`same`, with a tolerance of a share of the largest entry of them all."""
    pairs = _with_gradients(ours, reference, inputs)
    largest = max(other.abs().max().item() for _, other in pairs)
    for one, other in pairs:
        close(one, other, share * largest)


def _with_gradients(ours, reference, inputs):
    g = torch.Generator().manual_seed(ours.numel())
    factors = torch.randn(ours.shape, generator=g, dtype=ours.dtype)
    inputs = list(inputs)
    assert ours.shape == reference.shape
    gradients = (
        torch.autograd.grad(
            (way * factors).sum(), inputs, retain_graph=True, materialize_grads=True
        )
        for way in (ours, reference)
    )
    return [(ours, reference), *zip(*gradients, strict=True)]


DECODERS = {
    "initial state": lambda *words: InitialState(*words, 3, 4),
    "static context": lambda *words: StaticContext(*words, 3, 4),
    "bahdanau": lambda *words: Bahdanau(*words, 3, 4, 5),
    "luong": lambda *words: Luong(*words, 3, 4, "general", "local-m", 1),
    "post-norm": lambda *words: make_transformer(
        *words, d_model=8, n_heads=2, n_layers=2, d_ff=12
    ),
    "pre-norm": lambda *words: make_transformer(
        *words, d_model=8, n_heads=2, n_layers=2, d_ff=12, norm_first=True
    ),
}
"""Small models of all kinds, made from the sizes of the two vocabularies."""


def decoder_of(name, n_target=6, seed=0):
    """One of them, random and untrained, in eval mode; it reads sources of 12 words."""
    return randomise(double(DECODERS[name], 12, n_target, seed=seed)).eval()


class Chain:
    """A model that knows only the last word: row i of a table follows word i."""

    def __init__(self, rows):
        self.logits = torch.tensor(rows, dtype=torch.float64)

    def start(self, src):
        return torch.zeros_like(src[:, 0])

    def step(self, token, state):
        return self.logits[token], state + 1
