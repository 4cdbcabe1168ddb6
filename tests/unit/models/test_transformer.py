"""The Transformer: equal to formulas and PyTorch's."""

import copy

import pytest
import torch
from compare import (
    agree,
    close,
    double,
    make_transformer,
    randomise,
    sentences,
    step_by_step,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from attnbook.analysis.leaks import influence
from attnbook.core.vocabulary import BOS, PAD
from attnbook.course.kit.exercises import by_formula
from attnbook.data.batching import pad
from attnbook.models.transformer import Transformer
from attnbook.nn.masks import causal_mask
from attnbook.nn.positions import SinusoidalPositions

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


def test_copies_stay_tied():
    model = model_of(n_target=None)
    for other in (copy.deepcopy(model), model_of(n_target=None, seed=1).float()):
        other.load_state_dict(model.state_dict())
        assert other.out.weight is other.source_embedding.weight
        assert len({id(p) for p in other.parameters()}) == len([*model.parameters()])


# Step by step


def test_step_by_step_equals_all_at_once(model, src, tgt_in):
    """Right positions and masks; gradients too, and in float32."""
    together, steps = model(src, tgt_in), step_by_step(model, src, tgt_in)
    for one, other in zip(real(steps), real(together), strict=True):
        agree(one, other, model.parameters(), 1e-10)
    together, steps = model.float()(src, tgt_in), step_by_step(model, src, tgt_in)
    for one, other in zip(real(steps), real(together), strict=True):
        close(one, other, 1e-5)


def test_two_calls_with_one_state_agree(model, src, tgt_in):
    """No state is changed, and none is kept between calls."""
    _, state = model.step(tgt_in[:, 0], model.start(src))
    one, _ = model.step(tgt_in[:, 1], state)
    step_by_step(model, src.flip(0), tgt_in)
    model.step(tgt_in[:, 2], state)
    assert torch.equal(model.step(tgt_in[:, 1], state)[0], one)


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
        calls = [n for n in calls if n]  # an empty cache is made of no position
        own = "decoder" in name and "self" in name
        assert calls == ([1] * 64 if own else [src.shape[1]])


def test_rows_of_pads_give_no_nan(model, src, tgt_in):
    """Places that may attend to nothing."""
    nothing = torch.tensor([[PAD]] * 3 + [[1]])
    logits = model(src * nothing, tgt_in * nothing.flip(0))
    assert logits.isfinite().all()
    logits.square().mean().backward()
    assert all(p.grad.isfinite().all() for p in model.parameters())


@FORMS
def test_no_word_sees_a_later_one_in_training_either(norm_first, src):
    """With each dropout; each call drops the same."""
    shares = {"dropout": 0.3, "attention_dropout": 0.3}
    model = model_of(norm_first=norm_first, **shares).train()
    ids = sentences(1, [6] * 4, WORDS)

    def seeded(ids):
        torch.manual_seed(0)
        return model(src, ids)

    found = influence(seeded, ids, 4 + (ids - 3) % (WORDS - 4))
    assert torch.equal(found > 0, causal_mask(6))


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
