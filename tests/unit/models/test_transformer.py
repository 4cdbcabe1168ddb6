"""The Transformer: equal to formulas and PyTorch's; blind to pads and later words."""

import copy
import math
from functools import partial

import by_formula
import pytest
import torch
from compare import (
    agree,
    close,
    double,
    make_transformer,
    randomise,
    sentences,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.func import functional_call
from torch.nn import functional as F

from attnbook.analysis.bug_zoo import CausalInTraining, SoftmaxInside, Uncounted
from attnbook.analysis.leaks import influence
from attnbook.core.vocabulary import BOS, EOS, PAD
from attnbook.data.batching import pad
from attnbook.models.transformer import Transformer
from attnbook.nn.losses import token_loss
from attnbook.nn.masks import causal_mask, key_mask
from attnbook.nn.positions import LearnedPositions, SinusoidalPositions
from attnbook.nn.relative import RelativeAttention
from attnbook.nn.rotary import RotaryAttention

WORDS = 12
LENGTHS, STEPS = (6, 4, 1, 3), (5, 3, 2, 5)
seeds = st.integers(0, 999)
FORMS = pytest.mark.parametrize("norm_first", [False, True], ids=["post", "pre"])


def model_of(kind=Transformer, seed=0, **kwargs):
    sizes = {"d_model": 8, "n_heads": 2, "n_layers": 2, "d_ff": 12} | kwargs
    n_target = sizes.pop("n_target", WORDS)
    return randomise(
        double(make_transformer, WORDS, n_target, seed=seed, kind=kind, **sizes)
    ).eval()


@pytest.fixture(params=[False, True], ids=["post", "pre"])
def model(request):
    return model_of(norm_first=request.param)


@pytest.fixture
def src():
    return sentences(0, LENGTHS, WORDS)


@pytest.fixture
def tgt_in():
    return targets(STEPS)


def targets(steps, seed=1):
    """BOS and words: n - 1 of them, where n is the number of steps."""
    words = sentences(seed, steps, WORDS).tolist()
    return pad([[BOS, *row[: n - 1]] for row, n in zip(words, steps, strict=True)])


def real(tensor):
    """Sentence by sentence, without the steps at its pads."""
    return [tensor[i, :n] for i, n in enumerate(STEPS)]


def step_by_step(model, src, tgt_in):
    state, logits = model.start(src), []
    for token in tgt_in.unbind(1):
        step, state = model.step(token, state)
        logits.append(step)
    return torch.stack(logits, 1)


def count(module):
    return sum(p.numel() for p in module.parameters())


# Equal to


@FORMS
@pytest.mark.parametrize("n_target", [None, 9], ids=["one vocabulary", "two"])
@given(st.integers(1, 5), st.integers(1, 4), st.integers(1, 3), seeds)
@settings(max_examples=4)
def test_it_equals_the_paper_on_each_sentence(norm_first, n_target, s, t, h, seed):
    """A padded batch against plain formulas, which know neither pads nor batches."""
    model = model_of(
        seed=seed, d_model=2 * h, n_heads=h, norm_first=norm_first, n_target=n_target
    )
    n = n_target or WORDS
    src, tgt_in = sentences(seed, [s, 2], WORDS), sentences(seed, [t, 1], n)
    logits = model(src, tgt_in)
    assert logits.shape == (2, t, n)
    for row, read, found in zip(src, tgt_in, logits, strict=True):
        read = read[read != PAD]
        wanted = by_formula.transformer(row[row != PAD], read, model, norm_first)
        agree(found[: len(read)], wanted, model.parameters(), 1e-10)


def pytorchs(d, h, d_ff, n_layers, norm_first, norms):
    """PyTorch's layers in stacks, with a last norm or without."""
    kind = {"batch_first": True, "norm_first": norm_first, "dtype": torch.float64}
    encoder = nn.TransformerEncoder(
        nn.TransformerEncoderLayer(d, h, d_ff, 0.0, **kind),
        n_layers,
        nn.LayerNorm(d, dtype=torch.float64) if norms else None,
        enable_nested_tensor=False,
    )
    decoder = nn.TransformerDecoder(
        nn.TransformerDecoderLayer(d, h, d_ff, 0.0, **kind),
        n_layers,
        nn.LayerNorm(d, dtype=torch.float64) if norms else None,
    )
    return nn.Transformer(d, h, custom_encoder=encoder, custom_decoder=decoder, **kind)


@FORMS
@pytest.mark.parametrize("norms", [False, True], ids=["no last norm", "last norm"])
@given(
    st.integers(1, 6),
    st.integers(1, 5),
    st.integers(1, 3),
    st.integers(1, 2),
    st.data(),
)
@settings(max_examples=5)
def test_it_equals_pytorchs(norm_first, norms, s, t, h, n_layers, data):
    """``nn.Transformer`` between our embeddings and our output; with all its masks."""
    d, d_ff = 2 * h, 5
    model = model_of(
        seed=s,
        d_model=d,
        n_heads=h,
        n_layers=n_layers,
        d_ff=d_ff,
        norm_first=norm_first,
    )
    for name in ("encoder_norm", "decoder_norm"):
        norm = randomise(nn.LayerNorm(d).double()) if norms else nn.Identity()
        setattr(model, name, norm)
    src = sentences(t, [s, data.draw(st.integers(1, s))], WORDS)
    tgt = sentences(s, [t, data.draw(st.integers(1, t))], WORDS)
    weights = {}
    for half in ("encoder", "decoder"):
        named = by_formula.named_as_pytorchs(getattr(model, half))
        named |= {
            f"norm.{n}": w for n, w in getattr(model, f"{half}_norm").named_parameters()
        }
        weights |= {f"{half}.{n}": w for n, w in named.items()}
    reading = {
        "tgt_mask": ~causal_mask(t),  # True hides, there
        "src_key_padding_mask": src == PAD,
        "tgt_key_padding_mask": tgt == PAD,
        "memory_key_padding_mask": src == PAD,
    }
    vectors = (
        model.positions(model.source_embedding(src)),
        model.positions(model.target_embedding(tgt)),
    )
    theirs = pytorchs(d, h, d_ff, n_layers, norm_first, norms)
    out = model.out(functional_call(theirs, weights, vectors, reading))
    agree(model(src, tgt), out, model.parameters(), 1e-10)


@FORMS
def test_the_number_of_parameters_is_that_of_the_formula(norm_first):
    """Base size, one vocabulary: 4 D² + 4 D an attention, and so on."""
    v, d, n, d_ff = 37_000, 512, 6, 2048
    attention, network = 4 * d * d + 4 * d, 2 * d * d_ff + d_ff + d
    encoder = attention + network + 2 * 2 * d
    decoder = 2 * attention + network + 3 * 2 * d
    with torch.device("meta"):
        base = make_transformer(v, norm_first=norm_first)
        two = make_transformer(v, 1_000, norm_first=norm_first)
    wanted = v * d + n * (encoder + decoder) + (4 * d if norm_first else 0)
    assert count(base) == wanted
    assert count(two) == wanted + 1_000 * d
    assert count(base.encoder[0]) == encoder == 3_152_384
    assert count(base.decoder[0]) == decoder == 4_204_032
    if not norm_first:
        assert count(base) == 63_082_496


def test_the_defaults_are_the_papers_base_model():
    """Table 3: also a dropout of 0.1, post-norm, sinusoids."""
    with torch.device("meta"):
        base = make_transformer(20)
    assert len(base.encoder) == len(base.decoder) == 6
    assert base.encoder[0].attention.n_heads == 8
    assert base.decoder[0].feed_forward.W_1.weight.shape == (2048, 512)
    assert {m.p for m in base.modules() if isinstance(m, nn.Dropout)} == {0.1}
    assert {m.dropout for m in base.modules() if hasattr(m, "W_O")} == {0.0}
    assert not any(getattr(m, "norm_first", False) for m in base.modules())
    assert isinstance(base.positions, SinusoidalPositions)


# One matrix


def test_one_matrix_serves_embedding_and_output():
    """As many rows as there are logits, and no bias."""
    one, two = model_of(n_target=None), model_of(n_target=9)
    assert one.source_embedding is one.target_embedding
    assert one.out.weight is one.target_embedding.weight
    assert two.out.weight is two.target_embedding.weight
    assert two.out.weight.shape == (9, 8)
    assert two.source_embedding.weight.shape == (WORDS, 8)
    assert one.out.bias is None
    last = torch.tensor([[BOS, 8]])
    logits = two(torch.tensor([[4]]), last)
    assert token_loss(logits, last).isfinite()  # the last word can be said and read


def test_copies_stay_tied():
    model = model_of(n_target=None)
    for other in (copy.deepcopy(model), model_of(n_target=None, seed=1).float()):
        other.load_state_dict(model.state_dict())
        assert other.out.weight is other.source_embedding.weight
        assert len({id(p) for p in other.parameters()}) == len([*model.parameters()])


def test_at_the_start_no_word_is_much_preferred():
    """Rows of variance 1/D make logits of deviation 1; N(0, 1) makes one of √D."""
    torch.manual_seed(0)
    model = make_transformer(
        50, d_model=64, n_heads=4, n_layers=2, d_ff=128, norm_first=True
    )
    src, tgt = torch.randint(4, 50, (2, 40, 7))
    guess = math.log(50)
    logits = model(src, tgt)
    assert 0.7 < logits[..., 4:].std() < 1.4
    assert token_loss(logits, tgt.roll(-1, 1)) < 1.5 * guess
    with torch.no_grad():
        model.out.weight *= 64**0.5
    assert token_loss(model(src, tgt), tgt.roll(-1, 1)) > 4 * guess


# Logits


def test_it_returns_logits(model, src, tgt_in):
    """The wrong way a perfect model has a loss of 1.46 (V = 10)."""
    logits = model(src, tgt_in)
    assert (logits.exp().sum(-1) - 1).abs().min() > 1e-3
    assert (logits.sum(-1) - 1).abs().min() > 1e-6
    assert (logits < 0).any()

    def perfect(ids):
        return 50.0 * F.one_hot(ids, 10).double()

    right = torch.tensor([[4, 5, EOS]])
    assert token_loss(perfect(right), right) < 1e-3
    assert token_loss(SoftmaxInside(perfect)(right), right) > 1.46


# Step by step


def test_step_by_step_equals_all_at_once(model, src, tgt_in):
    """Right positions and masks; gradients too."""
    together, steps = model(src, tgt_in), step_by_step(model, src, tgt_in)
    for one, other in zip(real(steps), real(together), strict=True):
        agree(one, other, model.parameters(), 1e-10)


@FORMS
def test_step_by_step_in_float32(norm_first, src, tgt_in):
    model = model_of(norm_first=norm_first).float()
    together, steps = model(src, tgt_in), step_by_step(model, src, tgt_in)
    for one, other in zip(real(steps), real(together), strict=True):
        close(one, other, 1e-5)


def test_without_the_right_offset_only_the_first_step_is_right(src, tgt_in):
    """The wrong way."""
    model = model_of(positions=Uncounted(8))
    together, steps = model(src, tgt_in), step_by_step(model, src, tgt_in)
    close(steps[:, 0], together[:, 0])
    assert ((steps - together)[:, 1:].abs().amax((0, 2)) > 1e-3).all()


def test_the_state_knows_its_position(model, src, tgt_in):
    state = model.start(src)
    for i, token in enumerate(tgt_in.unbind(1)):
        assert state.position == i
        _, state = model.step(token, state)


def test_two_calls_with_one_state_agree(model, src, tgt_in):
    """No state is changed, and none is kept between calls."""
    with torch.no_grad():
        first = model.start(src)
        _, state = model.step(tgt_in[:, 0], first)
        kept = copy.deepcopy(state)
        one, _ = model.step(tgt_in[:, 1], state)
        model.step(tgt_in[:, 2], state)
        model(src.flip(0), tgt_in.flip(0))
        step_by_step(model, src.flip(0), tgt_in)
        other, _ = model.step(tgt_in[:, 1], state)
        assert torch.equal(one, other)
        assert first.position == 0
        assert state.position == 1
        for cache, old in zip(state.layers, kept.layers, strict=True):
            for part, before in zip(
                (*cache.target, *cache.source), (*old.target, *old.source), strict=True
            ):
                assert torch.equal(part, before)
        assert torch.equal(state.source_mask.mask, key_mask(src))


def test_each_word_is_projected_once(src):
    """64 key rows a layer for 64 steps, where all would be 2,080."""
    model, rows = model_of(), {}
    for name, module in model.named_modules():
        if name.endswith(("W_K", "W_V")):
            module.register_forward_hook(
                lambda _, args, out, name=name: rows.setdefault(name, []).append(
                    args[0].shape[1]
                )
            )
    step_by_step(model, src, torch.full((4, 64), 5))
    assert len(rows) == 12
    for name, calls in rows.items():
        own = "decoder" in name and "self" in name
        assert calls == ([1] * 64 if own else [src.shape[1]])


# Pads


def test_more_padding_changes_nothing(model, src, tgt_in):
    wider = [torch.cat([ids, ids.new_full((4, 3), PAD)], 1) for ids in (src, tgt_in)]
    before, after = model(src, tgt_in), model(*wider)[:, :5]
    for one, other in zip(real(before), real(after), strict=True):
        close(one, other)
    close(model.encode(wider[0])[0, :6], model.encode(src)[0])


def test_batch_mates_change_nothing(model, src, tgt_in):
    together = model(src, tgt_in)
    for i, (n, steps) in enumerate(zip(LENGTHS, STEPS, strict=True)):
        alone = model(src[i : i + 1, :n], tgt_in[i : i + 1, :steps])
        close(together[i, :steps], alone[0])


def test_the_vectors_of_pads_are_never_used(model, src, tgt_in):
    """In an embedding; as a row of the output it says how probable a pad is."""
    before = real(model(src, tgt_in))
    with torch.no_grad():
        model.source_embedding.weight[PAD] += 7.0
        model.target_embedding.weight[PAD] += 7.0
    for one, other in zip(before, real(model(src, tgt_in)), strict=True):
        assert torch.equal(one[:, PAD + 1 :], other[:, PAD + 1 :])
        assert not torch.equal(one[:, PAD], other[:, PAD])


def test_pads_on_the_left_give_no_nan(model, tgt_in):
    """Places that may attend to nothing."""
    logits = model(sentences(0, LENGTHS, WORDS).flip(1), tgt_in.flip(1))
    assert logits.isfinite().all()
    logits.square().mean().backward()
    assert all(p.grad.isfinite().all() for p in model.parameters())


# Who reacts to whom


def other_words(ids):
    return torch.where(ids < 4, ids, 4 + (ids - 3) % (WORDS - 4))


def seeded(call):
    def again(*args):
        torch.manual_seed(0)
        return call(*args)

    return again


@pytest.mark.parametrize("mode", ["eval", "train", "train, dropout"])
def test_no_word_sees_a_later_one(mode, src, model):
    """In each mode, with each dropout."""
    model = model_of(
        norm_first=model.encoder[0].norm_first,
        dropout=0.3 if "dropout" in mode else 0.0,
        attention_dropout=0.3 if "dropout" in mode else 0.0,
    ).train(mode != "eval")
    tgt_in = sentences(1, [6] * 4, WORDS)
    found = influence(seeded(lambda ids: model(src, ids)), tgt_in, other_words(tgt_in))
    assert torch.equal(found > 0, causal_mask(6))


def test_a_mask_for_training_alone_is_found(src):
    """The wrong way: in eval mode the first word reacts to the last."""
    tgt_in = sentences(1, [6] * 4, WORDS)
    model = model_of(CausalInTraining, dropout=0.0)
    for mode in (True, False):
        model.train(mode)
        found = influence(lambda ids: model(src, ids), tgt_in, other_words(tgt_in))
        assert torch.equal(found > 0, causal_mask(6)) == mode


def test_each_word_reacts_to_each_word_of_its_source(model, tgt_in):
    src = sentences(0, [6] * 4, WORDS)
    found = influence(lambda ids: model(ids, tgt_in), src, other_words(src))
    assert (found > 1e-6).all()
    found = influence(model.encode, src, other_words(src))
    assert (found > 1e-6).all()


def test_sentences_of_a_batch_do_not_see_each_other(model, src, tgt_in):
    before = model(src, tgt_in)
    src, tgt_in = src.clone(), tgt_in.clone()
    src[1], tgt_in[1] = other_words(src[1]), other_words(tgt_in[1])
    after = model(src, tgt_in)
    changed = (after != before).flatten(1).any(1)
    assert changed.tolist() == [False, True, False, False]


def test_the_order_of_words_matters(model, src, tgt_in):
    """Thanks to positions, on both sides."""
    for one, other in (
        (model(src, tgt_in)[0], model(src[:, [1, 0, 2, 3, 4, 5]], tgt_in)[0]),
        (model(src, tgt_in)[0, -1], model(src, tgt_in[:, [0, 2, 1, 3, 4]])[0, -1]),
    ):
        assert (one - other).abs().max() > 1e-5


# Dropout, norms, positions


def test_the_sums_of_word_vector_and_position_are_dropped_from(src, tgt_in):
    """Section 5.4: twice before the layers, five times in a pair of them."""
    model, seen = model_of(dropout=0.4).train(), []
    for name, module in model.named_modules():
        if isinstance(module, nn.Dropout):
            module.register_forward_hook(
                lambda _, args, out, name=name: seen.append((name, args[0]))
            )
    model(src, tgt_in)
    names = [name for name, _ in seen]
    assert len(names) == 2 + 2 * 5
    assert names.count("dropout") == 2
    sums = [what for name, what in seen if name == "dropout"]
    assert torch.equal(sums[0], model.positions(model.source_embedding(src)))
    assert torch.equal(sums[1], model.positions(model.target_embedding(tgt_in)))


@pytest.mark.parametrize("half", ["encode", "step"])
def test_that_dropout_alone_makes_two_answers(half, src):
    model = model_of(dropout=0.4).train()
    for layer in (*model.encoder, *model.decoder):
        layer.eval()
    if half == "encode":
        one, other = model.encode(src), model.encode(src)
    else:
        state, token = model.start(src), src[:, 0]
        one, other = model.step(token, state)[0], model.step(token, state)[0]
    assert not torch.equal(one, other)


def test_only_pre_norm_ends_with_a_norm(src, tgt_in):
    post, pre = model_of(), model_of(norm_first=True)
    assert isinstance(post.encoder_norm, nn.Identity)
    assert isinstance(post.decoder_norm, nn.Identity)
    x = pre.encode(src)
    nn.init.zeros_(pre.encoder_norm.weight)
    close(pre.encode(src), pre.encoder_norm.bias.expand_as(x))
    nn.init.zeros_(pre.decoder_norm.weight)
    nn.init.zeros_(pre.decoder_norm.bias)
    assert not pre(src, tgt_in).any()
    assert not pre.step(tgt_in[:, 0], pre.start(src))[0].any()


def test_learned_positions_fit_in(src, tgt_in):
    model = model_of(positions=LearnedPositions(6, 8))
    close(step_by_step(model, src, tgt_in)[0], model(src, tgt_in)[0], 1e-10)
    assert model.positions.table.requires_grad
    with pytest.raises(ValueError, match=r"positions 0 … 6 .* rows 0 … 5"):
        model(torch.full((1, 7), 4), tgt_in[:1])
    with pytest.raises(ValueError, match=r"positions 6 … 6 .* larger `max_len`"):
        step_by_step(model, src, torch.full((4, 7), 4))


@FORMS
@pytest.mark.parametrize(
    "attention", [RotaryAttention, partial(RelativeAttention, max_distance=2)]
)
def test_attentions_with_positions_of_their_own_fit_in(
    attention, norm_first, src, tgt_in
):
    """Step by step, too: each query has its true position."""
    model = model_of(norm_first=norm_first)
    for layer in model.encoder:
        layer.attention = attention(8, 2)
    for layer in model.decoder:
        layer.self_attention = attention(8, 2)
    randomise(model.double())
    together, steps = model(src, tgt_in), step_by_step(model, src, tgt_in)
    for one, other in zip(real(steps), real(together), strict=True):
        agree(one, other, model.parameters(), 1e-10)


# It learns


def test_it_learns_four_sentences_by_heart(src):
    """Through both halves: each target is a source read backwards."""
    torch.manual_seed(0)
    model = make_transformer(
        WORDS, d_model=16, n_heads=2, n_layers=1, d_ff=32, dropout=0.0, norm_first=True
    )
    rows = [row[row != PAD].tolist()[::-1] for row in src]
    tgt_in, tgt_out = pad([[BOS, *r] for r in rows]), pad([[*r, EOS] for r in rows])
    optimiser = torch.optim.Adam(model.parameters(), 1e-2)
    for _ in range(60):
        loss = token_loss(model(src, tgt_in), tgt_out)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    assert loss < 0.1
    assert (model(src, tgt_in).argmax(-1) == tgt_out)[tgt_out != PAD].all()


tiny = {"d_model": 8, "n_heads": 2, "n_layers": 1, "d_ff": 12}
ids = torch.tensor([[4, 5, 6], [7, 8, PAD]])
small_model = make_transformer(WORDS, **tiny)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: make_transformer(0, **tiny), "source_vocab_size is 0; .* from 1 on"),
        (
            lambda: make_transformer(9, 0, **tiny),
            "target_vocab_size is 0; .* from 1 on",
        ),
        (lambda: make_transformer(9, **tiny | {"d_model": 0}), "d_model is 0"),
        (lambda: make_transformer(9, **tiny | {"n_layers": 0}), "n_layers is 0"),
        (lambda: make_transformer(9, **tiny | {"d_ff": -1}), "d_ff is -1"),
        (lambda: make_transformer(9, **tiny | {"n_heads": 3}), "divided among 3 heads"),
        (
            lambda: make_transformer(9, **tiny, dropout=-0.1),
            "dropout is -0.1; .* from 0",
        ),
        (lambda: make_transformer(9, **tiny, dropout=1.0), "dropout is 1.0"),
        (lambda: make_transformer(9, **tiny, attention_dropout=2), "dropout is 2"),
        (lambda: small_model(ids, ids[:1]), "2 source but 1 target sentences"),
        (lambda: small_model(ids[0], ids), r"src has shape \(3,\) .* pad makes one"),
        (lambda: small_model(ids, ids.double()), "tgt_in has .* torch.float64"),
        (lambda: small_model(ids[:, :0], ids), r"no key \(S = 0\)"),
        (lambda: small_model(ids, ids[:, :0]), "no causal mask of 0 queries"),
        (
            lambda: small_model.start(ids + 4),
            r"source id 12 is not in 0 … 11, .*; encode with the vocabulary",
        ),
        (lambda: small_model.start(-ids), "source id -4 is not in 0 … 11"),
        (lambda: small_model.start(0 * ids), "source sentence 0 has no word"),
        (lambda: small_model.start(ids[:, :0]), "source sentence 0 has no word"),
        (lambda: small_model.start(ids[:0]), "0 sentences; give at least one"),
        (lambda: small_model.start(ids[0]), r"src has shape \(3,\)"),
        (
            lambda: small_model.step(ids[:, :1], small_model.start(ids)),
            r"shape \(2, 1, 1, 8\); it must be \(B, T, 8\)",
        ),
        (
            lambda: make_transformer(9, **tiny, positions=SinusoidalPositions(6))(
                ids, ids
            ),
            r"must be \(B, T, 6\)",
        ),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
