"""Chapters 9 and 10: wrong builds; what a word costs, what beams find."""

import copy
from itertools import combinations

import pytest
import torch
from compare import close, make_transformer, project
from torch import nn
from torch.nn import functional as F

from attnbook.analysis.bug_zoo import (
    CausalInTraining,
    OneCache,
    SoftmaxInside,
    Uncounted,
    WrongSplit,
    scale_wrongly,
    split_wrongly,
)
from attnbook.analysis.leaks import influence
from attnbook.core import results
from attnbook.core.vocabulary import BOS, EOS, PAD
from attnbook.course.ch09 import experiment_broken_builds as broken_builds
from attnbook.course.ch10 import (
    experiment_beams as beams,
)
from attnbook.course.ch10 import (
    experiment_decode_cost as decode_cost,
)
from attnbook.models.transformer import Transformer
from attnbook.nn.losses import token_loss
from attnbook.nn.masks import key_mask, padding_mask
from attnbook.nn.multi_head import MultiHeadAttention
from attnbook.toy.data import held_out_pairs

SRC = torch.tensor([[3, 5, 6, 4, 3, 9], [7, 8, 2, 0, 0, 0]])
READ = torch.tensor([[1, 7, 4, 3, 5], [1, 5, 6, 0, 0]])


def small(kind=Transformer, **kwargs):
    torch.manual_seed(0)
    sizes = {"d_model": 16, "n_heads": 4, "n_layers": 2, "d_ff": 32}
    return make_transformer(10, kind=kind, **sizes, **kwargs).eval()


def step_by_step(model, src, read):
    state, rows = model.start(src), []
    for token in read.unbind(dim=1):
        logits, state = model.step(token, state)
        rows.append(logits)
    return torch.stack(rows, dim=1)


# The zoo


def test_a_wrong_split_reaches_every_attention():
    model = small()
    split_wrongly(model)
    attentions = [m for m in model.modules() if isinstance(m, MultiHeadAttention)]
    assert len(attentions) == 6
    assert all(type(m) is WrongSplit and m.n_heads == 4 for m in attentions)
    with pytest.raises(ValueError, match=r"no keys and values .* all positions"):
        model.start(SRC)


def test_padding_finds_a_wrong_split_but_no_wrong_scale():
    """As chapter 9 says: which positions a head gets depends on the length."""
    longer = F.pad(SRC, (0, 2), value=PAD)
    for break_it, found in ((split_wrongly, True), (scale_wrongly, False)):
        model = small()
        break_it(model)
        tgt_in = SRC[:, :4]
        change = (model(longer, tgt_in) - model(SRC, tgt_in)).abs().max()
        assert change > 1e-2 if found else change < 1e-5


def test_a_wrong_scale_is_that_of_a_narrower_head():
    layer = MultiHeadAttention(16, 4)  # heads 4 wide; wrongly taken for 1
    x = torch.randn(2, 5, 16)
    q, k, v = project(layer, x, x, x)
    wanted = F.scaled_dot_product_attention(q, k, v, scale=1.0)
    before = layer(x, x, x)
    scale_wrongly(layer)
    close(layer(x, x, x), layer.W_O(wanted.transpose(1, 2).flatten(2)), atol=1e-5)
    assert (layer(x, x, x) - before).abs().max() > 1e-3


def test_a_softmax_inside_has_a_floor():
    inside = SoftmaxInside(nn.Identity())
    sure = torch.tensor([[100.0] + [0.0] * 18])
    floor = F.cross_entropy(inside(sure), torch.tensor([0]))
    assert floor.item() == pytest.approx(2.0304, abs=1e-3)  # log(1 + 18 / e)
    close(inside(SRC.double()).sum(-1), torch.ones(2).double())


def test_logits_are_no_probabilities_and_rows_fit_columns():
    model = small()
    assert not torch.allclose(model(SRC, READ).sum(-1), torch.ones(2, 5))
    assert model.target_embedding.weight.shape == model.out.weight.shape


@torch.no_grad()
def test_uncounted_positions_show_only_word_by_word():
    model, read = small(), READ.clamp(min=1)
    right = model(SRC, read)
    close(step_by_step(model, SRC, read), right, atol=1e-5)
    model.positions = Uncounted(16)
    close(model(SRC, read), right, atol=0)
    wrong = (step_by_step(model, SRC, read) - right).abs().amax(dim=(0, 2))
    assert wrong[0] < 1e-5 < 1e-2 < wrong[1:].min()


def test_a_mask_of_training_leaks_in_eval_mode():
    model = small(CausalInTraining, dropout=0.0)
    other = torch.where(READ == 5, 6, 5)
    for training in (True, False):
        model.train(training)
        moved = influence(lambda ids: model(SRC, ids), READ, other)
        assert (moved.triu(1).max() > 0) != training
    model.train()
    close(model(SRC, READ), small(dropout=0.0)(SRC, READ))


@torch.no_grad()
def test_one_cache_gives_two_answers_to_one_state():
    for make, same in ((Transformer, True), (OneCache, False)):
        model = small(make)
        close(step_by_step(model, SRC, READ[:, :1]), model(SRC, READ[:, :1]), atol=1e-5)
        state = model.start(SRC)
        answers = [model.step(torch.tensor([5, 5]), state)[0] for _ in range(2)]
        assert torch.equal(*answers) == same


# What they learn


def test_reversals_are_shifted_and_reversed():
    src, read, output = next(broken_builds.reversals(seed=0))
    assert src.shape == read.shape == output.shape == (64, 8)
    assert torch.equal(output, src.flip(1))
    assert (read[:, 0] == BOS).all()
    assert torch.equal(read[:, 1:], output[:, :-1])
    assert src.min() > EOS


@pytest.mark.parametrize("wrong", [(), ("scale",), ("heads",), ("softmax", "heads")])
def test_builds_are_wrong_where_they_say_so(wrong):
    torch.manual_seed(0)
    built = broken_builds.broken_transformer(wrong)
    model = built.model if "softmax" in wrong else built
    attention = model.encoder[0].attention
    assert isinstance(attention, WrongSplit) == ("heads" in wrong)
    assert (attention.scale is not None) == ("scale" in wrong)
    inputs = next(broken_builds.reversals(seed=0))[:2]
    sums = built(*inputs).sum(-1)
    assert torch.allclose(sums, torch.ones(64, 8)) == ("softmax" in wrong)


@torch.no_grad()
def test_each_bug_counts_beside_every_other():
    src, read, _ = next(broken_builds.reversals(seed=0))
    outputs = {}
    for size in range(4):
        for wrong in combinations(("softmax", "heads", "scale"), size):
            torch.manual_seed(0)
            model = broken_builds.broken_transformer(wrong).eval()
            outputs[wrong] = model(src, read)
    for one, other in combinations(outputs.values(), 2):
        assert not torch.allclose(one, other)


def test_stored_builds_are_complete_and_as_the_page_tells():
    stored = results.load("broken_builds")
    right, loss = {}, {}
    for name in broken_builds.BUILDS:
        runs = [run for run in stored["runs"] if run["build"] == name]
        assert [run["seed"] for run in runs] == list(broken_builds.SEEDS)
        right[name] = [run["right"] for run in runs]
        loss[name] = [run["loss"] for run in runs]
    for name, wrong in broken_builds.BUILDS.items():
        if "heads" in wrong:
            assert max(right[name]) < 0.08  # chance is 1/16
        elif "softmax" not in wrong:
            assert min(right[name]) > 0.98
    assert min(loss["all but the softmax"]) > 2.03


# What a word costs


@torch.no_grad()
def test_recomputing_makes_logits_of_the_last_word_alone():
    model, mask = small(), key_mask(SRC)
    memory, shapes = model.encode(SRC), []
    hook = model.out.register_forward_hook(lambda *x: shapes.append(x[-1].shape[1]))
    last = decode_cost.last_logits(model, READ, memory, mask)
    everything = model.decode(READ, memory, mask)
    hook.remove()
    assert shapes == [1, 5]
    close(last, everything[:, -1:], atol=1e-5)


@torch.no_grad()
def test_the_fair_rival_says_what_a_step_says():
    model = small()
    read, mask = READ[:, :3], key_mask(SRC)
    last = decode_cost.last_logits(model, read, model.encode(SRC), mask)
    close(last, step_by_step(model, SRC, read)[:, -1:], atol=1e-5)


def test_stored_costs_are_those_that_the_page_tells():
    stored = results.load("decode_cost")
    lengths = [str(n) for n in decode_cost.LENGTHS]
    kept, fair, everything = (
        stored[name]["1"] for name in ("cached", "recomputed", "recomputed_all_logits")
    )
    assert list(kept) == list(fair) == list(everything) == lengths
    assert kept["256"] < 2 * kept["1"]
    assert everything["256"] > 8 * kept["256"]
    assert kept["256"] * 4 < fair["256"] < everything["256"]


# Beams


@torch.no_grad()
def test_log_probability_is_minus_the_loss_of_its_words():
    model = small()
    output = torch.tensor([[7, 4, EOS, PAD], [5, 6, 4, EOS]])
    read = torch.tensor([[BOS, 7, 4, EOS], [BOS, 5, 6, 4]])
    found = beams.log_probability(model, SRC, output)
    loss = token_loss(model(SRC, read), output)
    close(-found.sum() / padding_mask(output).sum(), loss, atol=1e-5)
    alone = beams.log_probability(model, SRC[:1], output[:1, :3])
    close(alone, found[:1], atol=1e-5)


def test_comparing_with_itself_finds_nothing():
    """A beam of one, without a length penalty, is greedy."""
    torch.manual_seed(0)
    model = beams.toy_transformer(35, 43).eval()
    with torch.no_grad():
        model.out.weight[[PAD, BOS]] = 0  # greedy could say them
    pairs = held_out_pairs(1, number=20)
    found = beams.compare_with_greedy(copy.deepcopy(model), pairs, width=1, alpha=0.0)
    assert found["exact"] == found["greedy_exact"] == 0
    wider = beams.compare_with_greedy(model, pairs, width=4, alpha=0.0)
    assert wider["log_p"] > found["log_p"] - 1e-3


def test_stored_beams_are_complete():
    stored = results.load("beams")
    keys = [(r["seed"], r["clauses"], r["width"], r["alpha"]) for r in stored["runs"]]
    assert len(set(keys)) == len(keys) == len(beams.SEEDS) * 4 * len(beams.SETTINGS)
    for run in stored["runs"]:
        assert run["better"] + run["worse"] <= 1.001
