"""Metrics and analyses follow their model to its device."""

import pytest
import torch
from compare import close, randomise

from attnbook.analysis.bug_zoo import split_wrongly
from attnbook.analysis.leaks import influence
from attnbook.analysis.maps import attention_maps, cross_weights
from attnbook.analysis.occlusion import (
    agreement,
    bahdanau_hiding_effects,
    encoder_effects,
    encoder_weights,
    replacing_effects,
    transformer_hiding_effects,
)
from attnbook.analysis.probes import fit_probe, layer_states, probe_accuracy
from attnbook.models.bahdanau import Bahdanau
from attnbook.toy.data import held_out_pairs, make_batch
from attnbook.toy.deep_stacks import Stack, gradient_norms, token_diversity
from attnbook.toy.metrics import (
    alignment_accuracy,
    attention_weights,
    correct_tokens,
    exact_match,
    greedy_translations,
)
from attnbook.toy.models import load_toy_model, toy_transformer
from attnbook.toy.single_attention import one_layer
from attnbook.toy.tasks import (
    position_numbers,
    previous_symbols,
    random_symbols,
    reversed_symbols,
    sorted_symbols,
    sum_with_previous,
    task_accuracy,
)
from attnbook.toy.training import train_toy_model

PAIRS = held_out_pairs(1, 3)
PAIR = PAIRS[0]


def batch(model):
    return make_batch(PAIRS, next(model.parameters()).device)


def encoded(model):
    """The states of each word of some sentences, and the words."""
    src = batch(model).src
    real = src != 0
    return layer_states(model, src)[1][real], src[real]


def swapped(model):
    """Some sentences, and the same in another order."""
    return batch(model).src, batch(model).src.flip(0)


ANALYSES = {
    "transformer": {
        "maps": lambda model: [*attention_maps(model, *batch(model)[:2]).values()],
        "cross-attention": lambda model: [cross_weights(model, PAIRS)],
        "hiding": lambda model: [transformer_hiding_effects(model, PAIR)],
        "encoder": lambda model: [encoder_effects(model, PAIR)],
        "encoder's weights": lambda model: [encoder_weights(model, PAIR)],
        "probe": lambda model: [fit_probe(*encoded(model)).weight],
        "influence": lambda model: [influence(model.encode, *swapped(model))],
        "tokens": lambda model: correct_tokens(model, PAIRS),
    },
    "bahdanau": {
        "weights": lambda model: [attention_weights(model, PAIRS)],
        "hiding": lambda model: [bahdanau_hiding_effects(model, PAIR)],
        "replacing": lambda model: [replacing_effects(model, PAIR)],
    },
}
CASES = [(model, name) for model, analyses in ANALYSES.items() for name in analyses]


@pytest.mark.parametrize(("model", "name"), CASES)
def test_an_analysis_follows_its_model(gpu, model, name):
    found, wanted = (
        ANALYSES[model][name](load_toy_model(model).double().to(device))
        for device in (gpu, "cpu")
    )
    assert {x.device.type for x in found} == {gpu}
    for ours, theirs in zip(found, wanted, strict=True):
        torch.testing.assert_close(ours.cpu(), theirs, equal_nan=True)


@pytest.mark.parametrize("name", ["static_context", "bahdanau", "transformer"])
def test_the_models_of_the_package_translate(gpu, name):
    here, there = load_toy_model(name), load_toy_model(name).to(gpu)
    assert greedy_translations(there, PAIRS) == greedy_translations(here, PAIRS)
    assert exact_match(there, PAIRS) == exact_match(here, PAIRS)


def test_what_becomes_a_number(gpu):
    model = load_toy_model("transformer").to(gpu)
    x, labels = encoded(model)
    assert probe_accuracy(fit_probe(x, labels), x, labels) > 0.9
    model = load_toy_model("bahdanau").to(gpu)
    weights = attention_weights(model, PAIRS)
    assert alignment_accuracy(weights, PAIRS) > 0.9
    assert agreement(weights[0], replacing_effects(model, PAIR)) is not None


def test_a_broken_model_stays_where_it_is(gpu):
    model = toy_transformer(9, 9).to(gpu)
    split_wrongly(model)
    assert {p.device.type for p in model.parameters()} == {gpu}


def test_a_toy_model_trains(gpu):
    """With the losses of the CPU: batches follow the model."""

    def losses(device):
        def make(*words):
            return randomise(Bahdanau(*words, 4, 4)).double().to(device)

        return train_toy_model(make, seed=0, steps=2)[1]

    assert losses(gpu) == pytest.approx(losses("cpu"))


TASKS = (
    *(previous_symbols, reversed_symbols, sum_with_previous),
    *(sorted_symbols, position_numbers),
)


@pytest.mark.parametrize("task", TASKS)
def test_targets_are_where_the_symbols_are(gpu, task):
    ids = random_symbols(2, 5, torch.Generator().manual_seed(0))
    batch, reference = task(ids.to(gpu)), task(ids)
    assert batch.targets.device.type == gpu
    close(batch.targets.cpu(), reference.targets)
    model = one_layer("none", 5, 8, n_answers=batch.targets.shape[-1]).to(gpu)
    assert task_accuracy(model, batch).device.type == gpu


def test_gradients_and_ranks_of_a_stack(gpu):
    stack = Stack("pre-norm", 2, 8, 2).to(gpu)
    x = torch.randn(2, 3, 8).to(gpu)
    assert len(gradient_norms(stack, x, torch.ones_like(x))) == 3
    assert 0 < token_diversity(x) < 1
    assert influence(lambda y: stack(y)[-1], x).device.type == gpu
