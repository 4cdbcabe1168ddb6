"""The whole model, ``Transformer(config)``: forward, and step by step."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from attnbook.core.vocabulary import BOS, EOS, PAD
from attnbook.course.ch05 import part_multi_head as multi_head
from attnbook.course.ch08 import (
    part_decoder_layer as decoder_layer,
)
from attnbook.course.ch08 import (
    part_encoder_layer as encoder_layer,
)
from attnbook.course.ch08.part_encoder_layer import normed
from attnbook.course.kit.exercises.checking import wrong
from attnbook.course.kit.exercises.stages import (
    Part,
    Stage,
    Wrong,
    expect_close,
    expect_gradients,
    expect_shape,
)
from attnbook.models.transformer import Transformer
from attnbook.nn.layers import TransformerConfig
from attnbook.nn.masks import causal_mask, key_mask

WORDS, TARGETS, LAYERS, D = 12, 9, 2, multi_head.D
MODULES = (
    *("source_embedding", "target_embedding", "dropout"),
    *("encoder", "decoder", "encoder_norm", "decoder_norm"),
)
SOURCE = torch.tensor([[5, 7, 4, 6, EOS], [8, 9, EOS, PAD, PAD]])
TARGET = torch.tensor([[BOS, 4, 6, 3], [BOS, 8, PAD, PAD]])
RULE = "that of the formula"


def model_of(transformer: type, norm_first: bool = True) -> nn.Module:
    """The reader's model with random parameters, and its ``norm_first``."""
    sizes = {
        "source_vocab_size": WORDS,
        "target_vocab_size": TARGETS,
        "n_layers": LAYERS,
    }
    found = encoder_layer.made(transformer, norm_first, MODULES, **sizes)
    for name in ("encoder", "decoder"):
        layers = getattr(found, name)
        if not isinstance(layers, nn.ModuleList) or len(layers) != LAYERS:
            raise Wrong(f"`self.{name}` is not an nn.ModuleList of n_layers layers.")
    found.judged_norm_first = norm_first
    return found


def embedded(embedding: nn.Module, ids: Tensor) -> Tensor:
    """Word vectors times √D, plus sinusoids: sections 3.4 and 3.5."""
    x = embedding.weight[ids] * math.sqrt(D)  # (B, T, D)
    waves = torch.zeros_like(x[0])  # (T, D)
    for p in range(ids.shape[1]):
        for i in range(0, D, 2):
            angle = p / 10_000 ** (i / D)
            waves[p, i], waves[p, i + 1] = math.sin(angle), math.cos(angle)
    return x + waves


def final(norm: nn.Module, x: Tensor, norm_first: bool) -> Tensor:
    """A norm ends each stack in pre-norm only."""
    return normed(x, norm) if norm_first else x


def read(model: nn.Module, src: Tensor) -> Tensor:
    """What the encoder returns, (B, S, D)."""
    norm_first, mask = model.judged_norm_first, (src != PAD)[:, None, None]
    x = embedded(model.source_embedding, src)
    for layer in model.encoder:
        x = encoder_layer.reference(layer, x, norm_first, mask)
    return final(model.encoder_norm, x, norm_first)


def predicted(model: nn.Module, src: Tensor, tgt_in: Tensor) -> Tensor:
    """Logits, (B, T, V), from the model's own parameters, without dropout."""
    norm_first, t = model.judged_norm_first, tgt_in.shape[1]
    memory, memory_mask = read(model, src), (src != PAD)[:, None, None]
    mask = torch.ones(t, t, dtype=torch.bool).tril()
    y = embedded(model.target_embedding, tgt_in)
    for layer in model.decoder:
        y = decoder_layer.reference(layer, y, memory, norm_first, mask, memory_mask)
    return final(model.decoder_norm, y, norm_first) @ model.target_embedding.weight.T


def shapes(transformer: type) -> None:
    """The modules, the logits, and one table for one vocabulary."""
    model = model_of(transformer)
    logits = model(SOURCE, TARGET)
    expect_shape(logits, (2, 4, TARGETS), "the output", "(B, T, V)")
    sizes = {"d_model": D, "n_heads": multi_head.H, "n_layers": 1, "d_ff": 8}
    joint = transformer(TransformerConfig(WORDS, None, **sizes))
    if joint.source_embedding.weight is not joint.target_embedding.weight:
        raise Wrong("with target_vocab_size=None there are two tables of embeddings.")


def initialisation(transformer: type) -> None:
    """The entries of a new table have a variance of 1/D (chapter 9)."""
    sizes = {"d_model": 4 * D, "n_heads": multi_head.H, "n_layers": 1, "d_ff": 8}
    model = transformer(TransformerConfig(400, 300, **sizes))
    wanted = (4 * D) ** -0.5
    for name in ("source_embedding", "target_embedding"):
        found = getattr(model, name).weight.std().item()
        if not 0.8 * wanted < found < 1.25 * wanted:
            raise Wrong(
                f"the entries of a new `{name}` have a standard deviation of "
                f"{found:.2f}, not {wanted:.2f}.",
                round(found, 1),
            )


def values(transformer: type) -> None:
    """One target token and no padding: there is nothing to mask yet."""
    src, tgt_in = SOURCE[:1], TARGET[:1, :1]
    for norm_first in (False, True):
        model = model_of(transformer, norm_first)
        name = "pre-norm" if norm_first else "post-norm"
        right = predicted(model, src, tgt_in)
        expect_close(model(src, tgt_in), right, f"the output in {name}", RULE)


def masks(transformer: type) -> None:
    """No position sees later ones, and nobody sees padding."""
    model = model_of(transformer)
    src, tgt_in = SOURCE[:1], TARGET[:1]
    what = "the output for several target tokens"
    right = predicted(model, src, tgt_in)
    expect_close(model(src, tgt_in), right, what, "that without the later ones")
    right = predicted(model, SOURCE, TARGET)
    got = model(SOURCE, TARGET)
    expect_shape(got, tuple(right.shape), "the output of a padded batch", "(B, T, V)")
    real = TARGET != PAD
    what = "the output of a padded batch"
    expect_close(got[real], right[real], what, "that of its sentences unbatched")


def steps(transformer: type) -> None:
    """``step``, token by token, gives the same logits as ``forward``."""
    model = model_of(transformer)
    src, tgt_in = SOURCE, TARGET[[0, 0]]
    right, state = predicted(model, src, tgt_in), model.start(SOURCE)
    for t, token in enumerate(tgt_in.T):
        found = [model.step(token, state) for _ in range(2)]
        if not all(isinstance(x, tuple | list) and len(x) == 2 for x in found):
            raise Wrong("`step` should return two things: logits and the new state.")
        what = f"the logits of step {t + 1}"
        expect_close(found[0][0], right[:, t], what, "those of `forward`")
        what = "a second step from the same state"
        expect_close(found[1][0], right[:, t], what, "the first one")
        state = found[0][1]


def dropout(transformer: type) -> None:
    """In training the sums of embedding and position are dropped, on both sides."""
    model = model_of(transformer)
    model.dropout.p = 1.0
    model.dropout.train()
    memory = torch.zeros(1, SOURCE.shape[1], D, dtype=torch.float64)
    y = torch.zeros(1, 1, D, dtype=torch.float64)
    for layer in model.encoder:
        memory = encoder_layer.reference(layer, memory, norm_first=True)
    memory = normed(memory, model.encoder_norm)
    for layer in model.decoder:
        y = decoder_layer.reference(layer, y, memory, norm_first=True)
    right = normed(y, model.decoder_norm) @ model.target_embedding.weight.T
    what = "the output, when embeddings and positions are dropped,"
    expect_close(
        model(SOURCE[:1], TARGET[:1, :1]), right, what, "that of zeros in their place"
    )


def gradients(transformer: type) -> None:
    """With respect to every parameter."""
    model = model_of(transformer)
    named = {f"`{name}`": p for name, p in model.named_parameters()}
    src, tgt_in = SOURCE[:1], TARGET[:1]
    right = predicted(model, src, tgt_in)
    expect_gradients(model(src, tgt_in), right, named, RULE)


class _Other(Transformer):
    """The right model, in pieces that a mistake can replace."""

    def __init__(self, config):
        super().__init__(config)
        self.scale = math.sqrt(config.d_model)

    def vectors(self, embedding, ids):
        return embedding.weight[ids] * self.scale

    def embed(self, embedding, ids):
        return self.dropout(self.positions(self.vectors(embedding, ids)))

    def source_mask(self, src):
        return key_mask(src)

    def read(self, src):
        x, mask = self.embed(self.source_embedding, src), self.source_mask(src)
        for layer in self.encoder:
            x = layer(x, mask)
        return self.encoder_norm(x)

    def own_mask(self, t):
        return causal_mask(t)

    def cross_mask(self, src):
        return key_mask(src)

    def layers(self, y, memory, src):
        mask = self.own_mask(y.shape[1])
        for layer in self.decoder:
            y = layer(y, memory, mask, self.cross_mask(src))
        return self.decoder_norm(y)

    def scores(self, y):
        return self.out(y)

    def predict(self, tgt_in, memory, src):
        y = self.embed(self.target_embedding, tgt_in)
        return self.scores(self.layers(y, memory, src))

    def forward(self, src, tgt_in):
        return self.predict(tgt_in, self.read(src), src)

    def start(self, src):
        return self.read(src), src, src[:, :0]

    def step(self, token, state):
        memory, src, before = state
        ids = torch.cat([before, token[:, None]], 1)
        return self.predict(ids, memory, src)[:, -1], (memory, src, ids)


def _with(**methods) -> tuple[type]:
    """The model with some of its pieces replaced."""
    return (type("Other", (_Other,), methods),)


class _TwoTables(_Other):
    def __init__(self, config):
        super().__init__(config)
        self.source_embedding = type(self.source_embedding)(WORDS, config.d_model)


class _Default(_Other):
    def __init__(self, config):
        super().__init__(config)
        for embedding in (self.source_embedding, self.target_embedding):
            nn.init.normal_(embedding.weight)


class _OwnOutput(_Other):
    def __init__(self, config):
        super().__init__(config)
        self.out = nn.Linear(config.d_model, self.out.out_features, bias=False)


class _OneLayer(_Other):
    def __init__(self, config):
        super().__init__(config)
        self.encoder = nn.ModuleList([self.encoder[0]] * config.n_layers)
        self.decoder = nn.ModuleList([self.decoder[0]] * config.n_layers)

    def read(self, src):
        x, mask = self.embed(self.source_embedding, src), self.source_mask(src)
        return self.encoder_norm(self.encoder[0](x, mask))


def _from_embeddings(self, src):
    return self.encoder_norm(self.embed(self.source_embedding, src))


def _no_encoder_norm(self, src):
    x, mask = self.embed(self.source_embedding, src), self.source_mask(src)
    for layer in self.encoder:
        x = layer(x, mask)
    return x


def _no_decoder_norm(self, y, memory, src):
    mask = self.own_mask(y.shape[1])
    for layer in self.decoder:
        y = layer(y, memory, mask, self.cross_mask(src))
    return y


def _first_position(self, token, state):
    memory, src, _ = state
    _, state = _Other.step(self, token, state)
    return self.predict(state[2], memory, src)[:, 0], state


def _old_state(self, token, state):
    return _Other.step(self, token, state)[0], state


def _start_in_model(self, src):
    self.generated = src[:, :0]
    return self.read(src), src


def _step_in_model(self, token, state):
    memory, src = state
    self.generated = torch.cat([self.generated, token[:, None]], 1)
    return self.predict(self.generated, memory, src)[:, -1], state


SHAPES = Stage(
    "shapes",
    "all modules are there, logits (B, T, V), one table for a shared vocabulary",
    shapes,
    (
        "Which modules are needed on the way from ids to logits, and which of them "
        "exist n_layers times?",
        "`source_embedding`, `target_embedding`, `dropout`, `encoder` and `decoder` "
        "as nn.ModuleList, `encoder_norm` and `decoder_norm`. With `target_vocab_size` "
        "None, `self.target_embedding = self.source_embedding`.",
    ),
    wrong(
        _with(scores=lambda self, y: y),
        "The decoder's vectors are not logits yet: each needs a number for every word "
        "of the target vocabulary.",
        _with(scores=lambda self, y: self.out(y)[:, -1]),
        "You return the logits of the last position; training needs all of them.",
        (_TwoTables,),
        "If both languages share a vocabulary, they share its embeddings.",
    ),
)
INITIALISATION = Stage(
    "initialisation",
    "the entries of new tables of embeddings have a variance of 1/D",
    initialisation,
    (
        "A table is used twice: times √D as embeddings, and as it is for the logits. "
        "Which variance suits both?",
        "`nn.init.normal_(embedding.weight, std=config.d_model**-0.5)`, for both "
        "tables.",
    ),
    wrong(
        (_Default,),
        "This is the initialisation of nn.Embedding, with variance 1: the embeddings, "
        "times √D, would drown the positions.",
    ),
)
VALUES = Stage(
    "values",
    "the output equals the formula's, in post-norm and in pre-norm",
    values,
    (
        "Follow one token: embedding times √D, position, layers, in pre-norm a final "
        "norm, output. Which step differs?",
        "The output is the product of the decoder's vectors with the transposed table "
        "of target embeddings, without a bias; `encoder_norm` and `decoder_norm` are "
        "nn.Identity in post-norm.",
    ),
    wrong(
        _with(vectors=lambda self, embedding, ids: embedding.weight[ids]),
        "The embeddings are not multiplied by √D.",
        _with(
            embed=lambda self, embedding, ids: self.dropout(
                self.vectors(embedding, ids)
            )
        ),
        "The positions are missing.",
        _with(
            embed=lambda self, embedding, ids: self.dropout(
                self.positions(embedding.weight[ids]) * self.scale
            )
        ),
        "Multiply the embedding alone by √D, not the position.",
        (_OwnOutput,),
        "The output layer should use the table of target embeddings.",
        _with(read=_from_embeddings),
        "The encoder's layers are not used.",
        (_OneLayer,),
        "The layers of a stack should be different ones, and all be used: make each "
        "by a call of its own.",
        _with(read=_no_encoder_norm),
        "In pre-norm a norm ends the encoder: nothing has normalised its sum.",
        _with(layers=_no_decoder_norm),
        "In pre-norm a norm ends the decoder: nothing has normalised its sum.",
    ),
)
MASKS = Stage(
    "masks",
    "no position sees later tokens, and none sees padding",
    masks,
    (
        "There are three kinds of attention in the model. Which keys must each of them "
        "not see?",
        "`key_mask(src)` for the encoder and for the cross-attention, "
        "`target_mask(tgt_in)` for the decoder's self-attention.",
    ),
    wrong(
        _with(own_mask=lambda self, t: None),
        "The causal mask is missing: the decoder sees what it is to predict.",
        _with(own_mask=lambda self, t: causal_mask(t).T),
        "The causal mask is transposed: each position sees the later ones only.",
        _with(source_mask=lambda self, src: None),
        "The encoder attends to padding.",
        _with(cross_mask=lambda self, src: None),
        "The cross-attention attends to padding of the source.",
    ),
)
STEPS = Stage(
    "steps",
    "`start` and `step`, token by token, give the same logits as `forward`",
    steps,
    (
        "What does the next token depend on, and where does `step` get it from?",
        "The state can be simple: what the encoder returned, its mask, and the ids "
        "generated so far. `step` appends the token to a copy, decodes all of them and "
        "returns the logits of the last position.",
    ),
    wrong(
        _with(step=_first_position),
        "The logits of the next token are those of the last position.",
        _with(step=_old_state),
        "The decoder gets the last token alone: put each token into the state, and "
        "return the new state.",
        _with(start=_start_in_model, step=_step_in_model),
        "The generated tokens are kept in the model: keep them in the state, so that "
        "two continuations of one sentence do not mix.",
    ),
)
DROPOUT = Stage(
    "dropout",
    "in training the sums of embedding and position are dropped, too",
    dropout,
    (
        "The paper drops in two kinds of places. The layers have one of them; what is "
        "the other?",
        "`self.dropout(…)` around the sum of embedding and position, on both sides.",
    ),
    wrong(
        _with(
            embed=lambda self, embedding, ids: self.positions(
                self.vectors(embedding, ids)
            )
        ),
        "Nothing is dropped yet.",
        _with(
            embed=lambda self, embedding, ids: self.positions(
                self.dropout(self.vectors(embedding, ids))
            )
        ),
        "You drop the embedding alone: the position belongs to the sum.",
    ),
)
GRADIENTS = Stage(
    "gradients",
    "the loss reaches every parameter",
    gradients,
    (
        "Which parameters can the loss at the last target token not change?",
        "Look for `.detach()`, `.data` or `torch.no_grad()`, above all between encoder "
        "and decoder.",
    ),
    wrong(
        _with(
            forward=lambda self, src, tgt_in: self.predict(
                tgt_in, self.read(src).detach(), src
            )
        ),
        "The encoder cannot learn: its output is detached.",
        _with(
            scores=lambda self, y: y @ self.target_embedding.weight.detach().T,
        ),
        "The table learns as embeddings only, not as the output layer.",
    ),
)

PART = Part(
    name="Transformer",
    chapter=9,
    names=("Transformer",),
    ours=(Transformer,),
    stages=(SHAPES, INITIALISATION, VALUES, MASKS, STEPS, DROPOUT, GRADIENTS),
)
