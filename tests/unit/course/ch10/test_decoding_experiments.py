"""Chapter 10's experiments: what a word costs, what beams find."""

import copy

import torch
from compare import close, make_transformer

from attnbook.core import results
from attnbook.core.vocabulary import BOS, EOS, PAD
from attnbook.nn.losses import token_loss
from attnbook.nn.masks import key_mask, padding_mask
from attnbook.toy.data import held_out_pairs
from experiments import ch10_beams as beams
from experiments import ch10_decode_cost as decode_cost

SRC = torch.tensor([[3, 5, 6, 4, 3, 9], [7, 8, 2, 0, 0, 0]])
READ = torch.tensor([[1, 7, 4, 3, 5], [1, 5, 6, 0, 0]])


def small():
    torch.manual_seed(0)
    return make_transformer(10, d_model=16, n_heads=4, n_layers=2, d_ff=32).eval()


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


def test_stored_costs_are_those_that_the_page_tells():
    stored = results.load("decode_cost")
    kept, fair, everything = (
        stored[name]["1"] for name in ("cached", "recomputed", "recomputed_all_logits")
    )
    lengths = [str(n) for n in decode_cost.LENGTHS]
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
