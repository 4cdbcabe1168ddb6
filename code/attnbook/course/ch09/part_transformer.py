"""The whole model, ``Transformer(config)``: forward, and step by step."""

import torch
from torch import Tensor, nn

from attnbook.core.vocabulary import BOS, EOS, PAD
from attnbook.course.ch05 import part_multi_head as multi_head
from attnbook.course.ch08 import part_encoder_layer as encoder_layer
from attnbook.course.kit.exercises import by_formula, expect
from attnbook.course.kit.exercises.stages import Part, Wrong
from attnbook.decoding.beam import beam_search
from attnbook.decoding.steps import select_rows
from attnbook.models import transformer
from attnbook.nn.layers import DecoderLayer, EncoderLayer, TransformerConfig
from attnbook.nn.masks import key_mask, target_mask
from attnbook.nn.positions import SinusoidalPositions

WORDS, TARGETS, LAYERS, D = 12, 9, 2, multi_head.D
MODULES = (
    *("source_embedding", "target_embedding", "dropout"),
    *("encoder", "decoder", "encoder_norm", "decoder_norm"),
)
SOURCE = torch.tensor([[5, 7, 4, 6, EOS], [8, 9, EOS, PAD, PAD]])
TARGET = torch.tensor([[BOS, 4, 6, 3], [BOS, 8, PAD, PAD]])
RULE = "that of the formula"


class Transformer(nn.Module):
    def __init__(self, config):
        super().__init__()
        d, n = config.d_model, config.n_layers
        self.source_embedding = nn.Embedding(config.source_vocab_size, d)
        self.target_embedding = self.source_embedding
        if config.target_vocab_size is not None:
            self.target_embedding = nn.Embedding(config.target_vocab_size, d)
        for table in (self.source_embedding, self.target_embedding):
            nn.init.normal_(table.weight, std=d**-0.5)
        self.positions = SinusoidalPositions(d)
        self.dropout = nn.Dropout(config.dropout)
        self.encoder = nn.ModuleList(EncoderLayer(config) for _ in range(n))
        self.decoder = nn.ModuleList(DecoderLayer(config) for _ in range(n))
        norm = nn.LayerNorm if config.norm_first else nn.Identity
        self.encoder_norm, self.decoder_norm = norm(d), norm(d)

    def embed(self, table, ids):
        x = table(ids) * table.embedding_dim**0.5
        return self.dropout(self.positions(x))

    def encode(self, src, mask):
        x = self.embed(self.source_embedding, src)
        for layer in self.encoder:
            x = layer(x, mask)
        return self.encoder_norm(x)

    def decode(self, tgt_in, memory, memory_mask):
        y = self.embed(self.target_embedding, tgt_in)
        mask = target_mask(tgt_in)
        for layer in self.decoder:
            y = layer(y, memory, mask, memory_mask)
        y = self.decoder_norm(y)
        logits = y @ self.target_embedding.weight.T
        return logits

    def forward(self, src, tgt_in):
        mask = key_mask(src)
        return self.decode(tgt_in, self.encode(src, mask), mask)

    def start(self, src):
        memory = self.encode(src, key_mask(src))
        return memory, key_mask(src), src[:, :0]

    def step(self, token, state):
        memory, mask, before = state
        ids = torch.cat([before, token[:, None]], 1)
        return self.decode(ids, memory, mask)[:, -1], (memory, mask, ids)


PART = Part("Transformer", 9, (transformer.Transformer,), (Transformer,))


def make(transformer: type, norm_first: bool = True) -> nn.Module:
    """The reader's model with random parameters, and its ``norm_first``."""
    sizes = {"source_vocab_size": WORDS, "target_vocab_size": TARGETS}
    sizes["n_layers"] = LAYERS
    found = encoder_layer.make(transformer, norm_first, MODULES, **sizes)
    for name in ("encoder", "decoder"):
        layers = getattr(found, name)
        if not isinstance(layers, nn.ModuleList) or len(layers) != LAYERS:
            raise Wrong(f"`self.{name}` is not an nn.ModuleList of n_layers layers.")
        if layers[0] is layers[1]:
            raise Wrong(f"`self.{name}` holds one layer several times.")
        if norm_first and not hasattr(getattr(found, f"{name}_norm"), "weight"):
            raise Wrong(f"with norm_first `self.{name}_norm` is no nn.LayerNorm.")
    found.judged_norm_first = norm_first
    return found


def predict(model: nn.Module, src: Tensor, tgt_in: Tensor) -> Tensor:
    """Logits, (B, T, V), from the model's own parameters, without dropout."""
    sizes = model.judged_norm_first, multi_head.H
    return by_formula.transformer(src, tgt_in, model, *sizes)


@PART.stage(
    "all modules are there, logits (B, T, V), one table for a shared vocabulary"
)
def shapes(transformer: type) -> None:
    """Which modules are needed on the way from ids to logits, and which of them exist
    n_layers times?

    `source_embedding`, `target_embedding`, `dropout`, `encoder` and `decoder` as
    nn.ModuleList, `encoder_norm` and `decoder_norm`. With `target_vocab_size` None,
    `self.target_embedding = self.source_embedding`.

    On "one layer several times": `[layer] * n` repeats one layer, and a layer made
    before the loop stays one. How often is `EncoderLayer(config)` called?

    On "follow `config.n_layers`|ModuleList of": How many times does your loop over the
    layers run?

    On "tables of embeddings": What should `self.target_embedding` be if
    `config.target_vocab_size` is None?

    On "is no nn.LayerNorm": Which of the two forms leaves the sum at the end of a stack
    without a norm?

    On "the output had": Follow the shapes: (B, T) ids, (B, T, D) vectors, and at the
    end a number for each word, at every position.

    return logits => return y
        The decoder's vectors are not logits yet: each needs a number for every word of
        the target vocabulary.
    return logits => return logits[:, -1]
        You return the logits of the last position; training needs all of them.
    = self.source_embedding => = nn.Embedding(config.source_vocab_size, d)
        If both languages share a vocabulary, they share its embeddings.
    if config.target_vocab_size is not None: => if False:
        With a `target_vocab_size` the target has a table of its own.
    (EncoderLayer(config) for _ in range(n)) => ([EncoderLayer(config)] * n)
        The layers of a stack should be different ones, and all be used: make each by a
        call of its own.
    nn.LayerNorm if config.norm_first else nn.Identity => nn.Identity
        In pre-norm a norm ends the encoder: nothing has normalised its sum.
    self.encoder_norm, self.decoder_norm = => self.encoder_norm = self.decoder_norm =
    norm(d), norm(d) => norm(d)
        Each stack ends with a norm of its own.
    config.n_layers => LAYERS
        Each stack has `config.n_layers` layers.
    """
    model = make(transformer)
    logits = model(SOURCE, TARGET)
    expect.shape(logits, (2, 4, TARGETS), "the output", "(B, T, V)")
    sizes = {"d_model": D, "n_heads": multi_head.H, "n_layers": 1, "d_ff": 8}
    joint = transformer(TransformerConfig(WORDS, None, **sizes))
    if joint.source_embedding.weight is not joint.target_embedding.weight:
        raise Wrong("with target_vocab_size=None there are two tables of embeddings.")
    if not len(joint.encoder) == len(joint.decoder) == 1:
        raise Wrong("the number of layers does not follow `config.n_layers`.")


@PART.stage("the entries of new tables of embeddings have a variance of 1/D")
def initialisation(transformer: type) -> None:
    """A table is used twice: times √D as embeddings, and as it is for the logits. Which
    variance suits both?

    `nn.init.normal_(embedding.weight, std=config.d_model**-0.5)`, for both tables.

    nn.init.normal_(table.weight, std=d**-0.5) => nn.init.normal_(table.weight)
        This is the initialisation of nn.Embedding, with variance 1: the embeddings,
        times √D, would drown the positions.
    """
    sizes = {"d_model": 4 * D, "n_heads": multi_head.H, "n_layers": 1, "d_ff": 8}
    model = transformer(TransformerConfig(400, 300, **sizes))
    wanted = (4 * D) ** -0.5
    for name in ("source_embedding", "target_embedding"):
        found = getattr(model, name).weight.std().item()
        if not 0.8 * wanted < found < 1.25 * wanted:
            # One decimal: other random numbers give the same finding.
            raise Wrong(
                f"the entries of a new `{name}` have a standard deviation of "
                f"{found:.1f}, not {wanted:.1f}."
            )


@PART.stage("the output equals the formula's, in post-norm and in pre-norm")
def values(transformer: type) -> None:
    """Follow one token: embedding times √D, position, layers, in pre-norm a final norm,
    output. Which step differs?

    The output is the product of the decoder's vectors with the transposed table of
    target embeddings, without a bias; `encoder_norm` and `decoder_norm` are nn.Identity
    in post-norm.

    * table.embedding_dim**0.5 =>
        The embeddings are not multiplied by √D.
    self.positions(x) => x
        The positions are missing.
    * table.embedding_dim**0.5 =>
    self.positions(x) => self.positions(x) * table.embedding_dim**0.5
        Multiply the embedding alone by √D, not the position.
    self.positions = => self.out = nn.Embedding(TARGETS, d); self.positions =
    self.target_embedding.weight.T => self.out.weight.T
        The output layer should use the table of target embeddings.
    return logits => return logits.softmax(-1)
        You return probabilities. The loss takes the softmax itself: return logits.
    x = layer(x, mask) => pass
        The encoder's layers are not used.
    in self.encoder: => in self.encoder[:1]:
        The layers of a stack should be different ones, and all be used: make each by a
        call of its own.
    nn.LayerNorm if config.norm_first else nn.Identity => nn.LayerNorm
        In post-norm each layer ends with a norm already: no other follows the last.
    self.encoder_norm(x) => x
        In pre-norm a norm ends the encoder: nothing has normalised its sum.
    self.decoder_norm(y) => y
        In pre-norm a norm ends the decoder: nothing has normalised its sum.
    """
    # One target token and no padding: there is nothing to mask yet.
    src, tgt_in = SOURCE[:1], TARGET[:1, :1]
    for norm_first in (False, True):
        model = make(transformer, norm_first)
        name = "pre-norm" if norm_first else "post-norm"
        right = predict(model, src, tgt_in)
        expect.close(model(src, tgt_in), right, f"the output in {name}", RULE)


@PART.stage("no position sees later tokens, and none sees padding")
def masks(transformer: type) -> None:
    """There are three kinds of attention in the model. Which keys must each of them not
    see?

    `key_mask(src)` for the encoder and for the cross-attention, `target_mask(tgt_in)`
    for the decoder's self-attention.

    mask = target_mask(tgt_in) => mask = None
        The causal mask is missing: the decoder sees what it is to predict.
    mask = target_mask(tgt_in) => mask = target_mask(tgt_in).mT
        The causal mask is transposed: each position sees the later ones only.
    self.encode(src, mask) => self.encode(src, None)
        The encoder attends to padding.
    self.encode(src, mask), mask => self.encode(src, mask), None
        The cross-attention attends to padding of the source.
    """
    model = make(transformer)
    src, tgt_in = SOURCE[:1], TARGET[:1]
    what = "the output for several target tokens"
    right = predict(model, src, tgt_in)
    expect.close(model(src, tgt_in), right, what, "that without the later ones")
    right = predict(model, SOURCE, TARGET)
    got = model(SOURCE, TARGET)
    expect.shape(got, tuple(right.shape), "the output of a padded batch", "(B, T, V)")
    real = TARGET != PAD
    what = "the output of a padded batch"
    expect.close(got[real], right[real], what, "that of its sentences unbatched")


@PART.stage("`start` and `step`, token by token, give the same logits as `forward`")
def steps(transformer: type) -> None:
    """What does the next token depend on, and where does `step` get it from?

    The state can be simple: what the encoder returned, its mask, and the ids generated
    so far. `step` appends the token to a copy, decodes all of them and returns the
    logits of the last position.

    On "second step": What is another object, or has another content, after `step` than
    before? Neither the state that it gets nor the model should be changed.

    On "(B, V)": One step has the logits of one position. Which one?

    self.decode(ids, memory, mask)[:, -1] => self.decode(ids, memory, mask)[:, 0]
        The logits of the next token are those of the last position.
    self.decode(ids, memory, mask)[:, -1] => self.decode(ids, memory, mask)
        `step` returns the logits of the last position only.
    (memory, mask, ids) => state
        The decoder gets the last token alone: put each token into the state, and return
        the new state.
    memory = self.encode => self.ids = src[:, :0]; memory = self.encode
    ids = torch.cat([before, => ids = self.ids = torch.cat([self.ids,
        The tokens are kept in the model, or `step` changes the state it was given.
        Return a new state, so that two continuations of one sentence do not mix.
    """
    model = make(transformer)
    src, tgt_in = SOURCE, TARGET[[0, 0]]
    right, state = predict(model, src, tgt_in), model.start(SOURCE)
    for t, token in enumerate(tgt_in.T):
        (first, new), (second, _) = (
            expect.pair(model.step(token, state), "step", "logits and the new state")
            for _ in range(2)
        )
        what = f"the logits of step {t + 1}"
        expect.shape(first, tuple(right[:, t].shape), what, "(B, V)")
        expect.close(first, right[:, t], what, "those of `forward`")
        what = "a second step from the same state"
        expect.close(second, right[:, t], what, "the first one")
        state = new


class Recomputed:
    """The reader's model, decoded by the formula: its state is ids alone."""

    def __init__(self, model: nn.Module):
        self.model = model

    def start(self, src: Tensor) -> tuple[Tensor, Tensor]:
        """The source, and no token yet."""
        return src, src[:, :0]

    def step(self, token: Tensor, state: tuple) -> tuple[Tensor, tuple]:
        """Predict all tokens anew, and return the logits of the last position."""
        src, before = state
        ids = torch.cat([before, token[:, None]], 1)
        return predict(self.model, src, ids)[:, -1], (src, ids)


@PART.stage("a beam, which copies and reorders the rows of a state, finds the same")
def beam(transformer: type) -> None:
    """Beam search goes on with some hypotheses and gives up others: it takes rows of
    the state, one more than once and another never. Where are the rows of your state?

    A state is a tensor, or a tuple, list or dict of tensors. Each tensor has one row
    for each sentence, on its first axis; numbers and None belong to all sentences.

    return memory, => state = memory,
    src[:, :0] => src[:, :0]; return lambda: state
    before = state => before = state()
    (memory, mask, ids) => (lambda: (memory, mask, ids))
        Nobody knows where the rows of such an object are. Return a tuple or a dict of
        tensors.
    src[:, :0] => src.T[:0]
    torch.cat([before, token[:, None]], 1) => torch.cat([before, token[None]])
    self.decode(ids, => self.decode(ids.T,
        The rows of a tensor should be sentences: the first axis is B, not the number of
        tokens.
    """
    model = make(transformer)
    try:
        select_rows(model.start(SOURCE), torch.tensor([1, 0]))
    except Exception as error:
        raise Wrong(
            "the state has a part without rows.", type(error).__name__
        ) from error
    wanted = beam_search(Recomputed(model), SOURCE, max_len=5, width=3)
    found = beam_search(model, SOURCE, max_len=5, width=3)
    if not torch.equal(found.ids, wanted.ids):
        raise Wrong("beam search finds other translations with your state.")


@PART.stage("in training the sums of embedding and position are dropped, too")
def dropout(transformer: type) -> None:
    """The paper drops in two kinds of places. The layers have one of them; what is the
    other?

    `self.dropout(…)` around the sum of embedding and position, on both sides.

    On "another probability": Which entry of `config` have you not used yet?

    self.dropout(self.positions(x)) => self.positions(x)
        Nothing is dropped yet.
    self.dropout(self.positions(x)) => self.positions(self.dropout(x))
        You drop the embedding alone: the position belongs to the sum.
    self.dropout(self.positions(x)) => self.dropout(self.positions(self.dropout(x)))
        `self.dropout` is for the sum of embedding and position, once on each side.
    self.positions(x) => self.positions(nn.functional.dropout(x, 0.1, self.training))
        Something else drops, too: in `positions`, say.
    nn.Dropout(config.dropout) => nn.Dropout(0.1)
        The probability stands in `config.dropout`.
    """
    model = make(transformer).train()
    model.dropout.p = 1.0
    for module in (*model.encoder.modules(), *model.decoder.modules()):
        if isinstance(module, nn.Dropout):
            module.p = 0.0
    heads = multi_head.H
    memory = torch.zeros(1, SOURCE.shape[1], D, dtype=torch.float64)
    y = torch.zeros(1, 1, D, dtype=torch.float64)
    for layer in model.encoder:
        memory = by_formula.encoder_layer(memory, layer, True, n_heads=heads)
    memory = by_formula.layer_norm(memory, model.encoder_norm)
    for layer in model.decoder:
        y = by_formula.decoder_layer(y, memory, layer, True, n_heads=heads)
    y = by_formula.layer_norm(y, model.decoder_norm)
    right = y @ model.target_embedding.weight.T
    given = SOURCE[:1], TARGET[:1, :1]
    what = "the output, when embeddings and positions are dropped,"
    expect.close(model(*given), right, what, "that of zeros in their place")
    encoder_layer.drop_nothing_else(model, 2, *given)
    encoder_layer.read_probability(make(transformer))


@PART.stage("the loss reaches every parameter")
def gradients(transformer: type) -> None:
    """Which parameters can the loss at the last target token not change?

    Look for `.detach()`, `.data` or `torch.no_grad()`, above all between encoder and
    decoder.

    self.encode(src, mask) => self.encode(src, mask).detach()
        The encoder cannot learn: its output is detached.
    self.target_embedding.weight.T => self.target_embedding.weight.detach().T
        The table learns as embeddings only, not as the output layer.
    """
    model = make(transformer)
    src, tgt_in = SOURCE[:1], TARGET[:1]
    right = predict(model, src, tgt_in)
    learned = {  # the positions may be a frozen table
        f"`{name}`": parameter
        for name, parameter in model.named_parameters()
        if name.split(".")[0] in MODULES
    }
    expect.gradients(model(src, tgt_in), right, RULE, **learned)


@PART.stage("masks, positions and states lie where the ids lie, on a GPU too")
def devices(transformer: type) -> None:
    """
    src[:, :0] => torch.zeros(len(src), 0, dtype=torch.long)
        The tokens of your first state lie on the CPU.
    mask = target_mask(tgt_in) => mask = torch.ones(tgt_in.shape[1], tgt_in.shape[1])
    (y, memory, mask, => (y, memory, mask.tril().bool() & key_mask(tgt_in),
        The causal mask is made on the CPU.
    """
    model = make(transformer)

    def use():
        _, state = model.step(TARGET[[0, 0], 0], model.start(SOURCE))
        return model(SOURCE, TARGET), model.step(TARGET[[0, 0], 1], state)[0]

    expect.same_device(use, SOURCE, TARGET, module=model)
