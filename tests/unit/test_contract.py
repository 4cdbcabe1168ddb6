"""What all modules promise: the same on a GPU, in other types, and compiled.

``CASES`` names each with a way to make it, its inputs of a length, and how it's called.
"""

from functools import partial
from itertools import product

import pytest
import torch
from compare import DECODERS, DEVICES, close, decoder_of, numbers, randomise, sentences
from torch import nn

from attnbook import analysis, models, toy
from attnbook import nn as parts
from attnbook.analysis.maps import cross_weights
from attnbook.course.ch08.taggers import LAYERS, deep_tagger, tagger
from attnbook.course.ch11.first_symbol import LAYER_STACKS, LastPosition
from attnbook.decoding import beam_search, greedy, log_probability, sample
from attnbook.nn.local_attention import ALIGNMENTS
from attnbook.nn.scores import SCORES
from attnbook.toy import metrics
from attnbook.toy.task_models import POSITION_KINDS

CASES = {}


def add(inputs, call=lambda module, *inputs: module(*inputs), **makes):
    CASES.update({name: (make, inputs, call) for name, make in makes.items()})


# Inputs of a length n


def heads(n):
    """Queries, keys, values and a bias; under the mask one query has no key."""
    mask = parts.causal_mask(n, n + 1, 1)
    mask[0] = False
    return [*numbers(0, (2, 2, n, 4), *[(2, 2, n + 1, 4)] * 2, (n, n + 1)), mask]


def vectors(n):
    return numbers(0, (2, n, 8))


def ids(n):
    return [sentences(0, (n, 2, 1), 12)]


def pairs(n):
    return [*ids(n), sentences(1, (n + 1, 1, 3), 6)]


# What is made and called


def attend(q, k, v, bias, mask, **way):
    return parts.attention(q, k, v, mask, score_bias=bias, **way)


def grouped():
    return parts.MultiHeadAttention(8, 2, n_groups=1, qk_norm=True, turn=parts.Rotary())


def experts():
    return parts.MixtureOfExperts(8, [parts.SwiGLU(8, 5) for _ in range(3)], 2)


def alignment(name):
    """A wide one: rounding may move a centre, but no key out of the window."""
    return parts.make_alignment(name, 3, None if name == "global" else 4)


def decoder_layer(layer, x, memory, ids):
    mask = parts.key_mask(ids)
    out = layer(x, memory, parts.causal_mask(x.shape[1], device=x.device), mask)
    return out, layer.step(x[:, :1], layer.start(memory), mask)


def step_by_step(stack, x):
    cache, found = stack.start(x), []
    for place in x.split(1, 1):
        out, cache = stack.step(place, cache)
        found.append(out)
    return found, cache


def decode(model, src):
    g = torch.Generator(src.device).manual_seed(0)
    drawn = sample(model, src, 7, g, temperature=2.0, top_k=4, top_p=0.9)
    beam = beam_search(model, src, 7, width=3)
    return *beam, greedy(model, src, 7), drawn, log_probability(model, src, drawn)


add(heads, attention=lambda: attend, weights=lambda: partial(attend, need_weights=True))
add(vectors, layer_norm=lambda: lambda x: parts.layer_norm(x, x[0, 0], x[0, 1]))
add(
    lambda n: [*numbers(0, (2, n, 6)), torch.arange(2 * n).view(2, n) % 6],
    loss=lambda: parts.token_loss,
    smoothed=lambda: parts.label_smoothing_loss,
)
add(
    lambda n: [*vectors(n), sentences(0, (n, 2), 12)],
    lambda m, x, ids: m(x, x, x, parts.target_mask(ids), need_weights=True),
    multi_head=lambda: parts.MultiHeadAttention(8, 2),
    rotary=grouped,
    relative=lambda: parts.RelativeAttention(8, 2, max_distance=2),
)
add(
    vectors,
    sinusoids=lambda: parts.SinusoidalPositions(8),
    learned=lambda: parts.LearnedPositions(20, 8),
    block=lambda: parts.Block(parts.RMSNorm(8), grouped(), parts.RMSNorm(8), experts()),
    linear=lambda: parts.LinearAttention(8, 2),
    convolution=lambda: parts.ConvolutionLayer(8, 3, 2),
    windowed=lambda: parts.WindowedSelfAttention(8, 2, 3),
)
FORMS = {
    name: parts.TransformerConfig(
        *(12, 6), d_model=8, n_heads=2, n_layers=1, d_ff=12, norm_first=name == "pre"
    )
    for name in ("post", "pre")
}
for name, form in FORMS.items():
    add(
        lambda n: [*numbers(0, (2, 4, 8), (2, n, 8)), sentences(0, (n, 2), 12)],
        decoder_layer,
        **{f"{name}_decoder": partial(parts.DecoderLayer, form)},
    )
    add(vectors, step_by_step, **{f"{name}_stack": partial(parts.EncoderStack, form)})
for name in SCORES:
    add(
        lambda n: numbers(0, (2, n, 8), (2, n + 1, 8)),
        lambda score, query, states: score(query, score.prepare(states)),
        **{f"{name}_score": partial(parts.make_score, name, 8, 8)},
    )
for name in ALIGNMENTS:
    add(
        lambda n: [*numbers(3, (2, 4, n), (2, 4, 3)), torch.arange(n).expand(2, n) < 4],
        lambda align, scores, h, mask: align(scores, h, 1, mask),
        **{f"{name}_alignment": partial(alignment, name)},
    )
add(pairs, **{name: partial(models.Transformer, form) for name, form in FORMS.items()})
OF_TYPES = [*CASES]
WIDE = ["loss", "smoothed", "dot_score", "general_score"]
"""Of 16-bit numbers they make float32: sums that may be larger than float16 allows."""
COMPILED = ["weights", "rotary", "relative", "pre"]

for name in DECODERS:
    add(ids, decode, **{f"decoding by {name}": partial(decoder_of, name)})
    add(pairs, **{name: partial(decoder_of, name)})
for score, align in product(SCORES, ALIGNMENTS):
    width = None if align == "global" else 1
    make = partial(models.Luong, 12, 6, 3, 4, score, align, width)
    call = partial(models.Luong.forward, need_weights=True)
    add(pairs, call, **{f"luong {score} {align}": make})
add(
    ids,
    language_model=partial(models.LanguageModel, FORMS["pre"], 9),
    deep_tagger=partial(deep_tagger, 2, False, 8),
    induction=lambda: toy.InductionModel(parts.WindowedSelfAttention(8, 2, 3), 8),
    **{f"{k} positions": partial(toy.one_layer, k, 9, 8) for k in POSITION_KINDS},
    **{f"{k} tagger": partial(tagger, k, 1) for k in LAYERS},
    **{
        k: partial(lambda k: LastPosition(LAYER_STACKS[k](6, 8), 8), k)
        for k in LAYER_STACKS
    },
)

PAIRS = toy.held_out_pairs(1, 3)


def encoded(model):
    """The states of each word of some sentences, and the words."""
    src = toy.make_batch(PAIRS).src
    return model.encode(src)[src != 0], src[src != 0]


def maps(model):
    batch = toy.make_batch(PAIRS)
    return [*analysis.attention_maps(model, batch.src, batch.tgt_in).values()]


def moved(model):
    src = toy.make_batch(PAIRS).src
    return analysis.influence(model.encode, src, src.flip(0))


def add_analyses(name, **analyses):
    for title, analyse in analyses.items():
        add(lambda n: [], analyse, **{title: lambda: toy.load_toy_model(name)})


add_analyses(
    "transformer",
    maps=maps,
    cross=lambda model: cross_weights(model, PAIRS),
    probe=lambda model: analysis.fit_probe(*encoded(model)).weight,
    influence=moved,
    tokens=lambda model: [*metrics.correct_tokens(model, PAIRS)],
)
add_analyses(
    "bahdanau",
    alignment=lambda model: metrics.attention_weights(model, PAIRS),
    hidden=lambda model: analysis.bahdanau_hiding_effects(model, PAIRS[0]),
    replaced=lambda model: analysis.replacing_effects(model, PAIRS[0]).nan_to_num(),
)


def tensors(found):
    """All tensors of a result, in order."""
    if isinstance(found, torch.Tensor):
        return [found]
    return [] if isinstance(found, int) else [x for y in found for x in tensors(y)]


def made(name, device="cpu", dtype=torch.float64):
    torch.manual_seed(0)
    module = CASES[name][0]()
    if isinstance(module, nn.Module):
        randomise(module).eval().to(device, dtype)
    return module


def inputs_of(name, n=5, device="cpu", dtype=torch.float64):
    """Where and of the type that is asked for; ids and masks keep their types."""
    made = [x.detach() for x in CASES[name][1](n)]
    numbers = [x.to(device, dtype) if x.is_floating_point() else x for x in made]
    return [x.to(device).requires_grad_(x.is_floating_point()) for x in numbers]


def results(name, *place):
    """What comes out, and the gradients by inputs and parameters."""
    module, inputs = made(name, *place), inputs_of(name, 5, *place)
    out = tensors(CASES[name][2](module, *inputs))
    ends = [x for x in out if x.requires_grad]
    leaves = [*inputs, *(module.parameters() if isinstance(module, nn.Module) else [])]
    leaves, factors = [x for x in leaves if x.requires_grad], [x.cos() for x in ends]
    found = (
        torch.autograd.grad(ends, leaves, factors, allow_unused=True) if ends else []
    )
    return [x.detach() for x in out], [x.detach() for x in found if x is not None]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", [x for x in OF_TYPES if x not in ("loss", "block")])
def test_nothing_is_moved_and_no_number_is_looked_at(name, device):
    """On "meta" there are shapes alone; pads and experts must be counted."""
    found, gradients = results(name, device)
    assert {x.device.type for x in (*found, *gradients)} == {device}
    assert [x.shape for x in found] == [x.shape for x in results(name)[0]]


@pytest.mark.parametrize("name", CASES)
def test_what_is_made_on_the_way_lies_where_its_inputs_lie(name):
    """What names no device is made on "meta" here, and fits to nothing of the CPU."""
    module, inputs = made(name), inputs_of(name)
    wanted = tensors(CASES[name][2](module, *inputs))
    with torch.device("meta"):
        found = tensors(CASES[name][2](module, *inputs))
    for ours, theirs in zip(found, wanted, strict=True):
        assert torch.equal(ours, theirs)


SHARES = {torch.float32: 1e-5, torch.bfloat16: 0.05, torch.float16: 0.01}


@pytest.mark.parametrize("dtype", [*SHARES, "autocast"])
@pytest.mark.parametrize("name", OF_TYPES)
def test_less_precise_types_differ_by_rounding(name, dtype):
    if dtype == "autocast":
        with torch.autocast("cpu", torch.bfloat16):
            found, gradients = results(name, "cpu", torch.float32)
    else:
        found, gradients = results(name, "cpu", dtype)
        assert {x.dtype for x in gradients} == {dtype}
        assert {x.dtype for x in found} == {torch.float32 if name in WIDE else dtype}
    assert all(x.isfinite().all() for x in gradients)
    for ours, wanted in zip(found, results(name)[0], strict=True):
        share = SHARES.get(dtype, 0.05)
        close(ours.double(), wanted, share * wanted.abs().max().item())


@pytest.mark.parametrize("name", COMPILED)
def test_it_compiles_without_a_graph_break(name):
    torch._dynamo.reset()
    call = partial(CASES[name][2], made(name))
    fast = torch.compile(call, fullgraph=True, backend="eager")
    for n in (5, 7):
        inputs = inputs_of(name, n)
        pairs = zip(tensors(fast(*inputs)), tensors(call(*inputs)), strict=True)
        for ours, wanted in pairs:
            close(ours, wanted)
