"""Metrics and analyses follow their model to its device."""

import pytest
import torch
from compare import close, randomise

from attnbook.analysis.bug_zoo import split_wrongly
from attnbook.analysis.leaks import affected_outputs, influence
from attnbook.analysis.maps import attention_maps, cross_weights
from attnbook.analysis.occlusion import (
    agreement,
    encoder_effects,
    encoder_weights,
    occlusion_effects,
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


def encoded(model):
    """The states of each word of some sentences, and the words."""
    src = make_batch(PAIRS, next(model.parameters()).device).src
    real = src != 0
    return layer_states(model, src)[1][real], src[real], src


OF_TRANSFORMERS = {
    "maps": lambda model: torch.cat(
        [
            weights.flatten()
            for weights in attention_maps(
                model, *make_batch(PAIRS, next(model.parameters()).device)[:2]
            ).values()
        ]
    ),
    "cross-attention": lambda model: cross_weights(model, PAIRS),
    "hiding": lambda model: transformer_hiding_effects(model, PAIR),
    "encoder": lambda model: encoder_effects(model, PAIR),
    "encoder's weights": lambda model: encoder_weights(model, PAIR),
    "probe": lambda model: fit_probe(*encoded(model)[:2]).weight,
    "influence": lambda model: influence(
        model.encode, encoded(model)[2], encoded(model)[2].flip(0)
    ),
    "affected": lambda model: affected_outputs(
        model.encode, encoded(model)[2], 0, encoded(model)[2].flip(0)
    ),
    "tokens": lambda model: torch.stack(correct_tokens(model, PAIRS)),
}


@pytest.mark.parametrize("name", OF_TRANSFORMERS)
def test_analyses_of_a_transformer(gpu, name):
    model = load_toy_model("transformer").double()
    wanted = OF_TRANSFORMERS[name](model)
    found = OF_TRANSFORMERS[name](model.to(gpu))
    assert found.device.type == gpu
    torch.testing.assert_close(found.cpu(), wanted, equal_nan=True)


def test_analyses_of_bahdanau(gpu):
    def found(device):
        model = load_toy_model("bahdanau").to(device)
        effects, weights = (
            occlusion_effects(model, PAIR),
            attention_weights(model, PAIRS),
        )
        assert alignment_accuracy(weights, PAIRS) > 0.9
        results = [weights, effects["hidden"], effects["replaced"]]
        assert {x.device.type for x in results} == {device}
        assert agreement(weights[0], effects["replaced"]) is not None
        return [x.cpu() for x in results]

    for ours, reference in zip(found(gpu), found("cpu"), strict=True):
        torch.testing.assert_close(ours, reference, equal_nan=True)


@pytest.mark.parametrize("name", ["static_context", "bahdanau", "transformer"])
def test_the_models_of_the_package_translate(gpu, name):
    here, there = load_toy_model(name), load_toy_model(name).to(gpu)
    assert greedy_translations(there, PAIRS) == greedy_translations(here, PAIRS)
    assert exact_match(there, PAIRS) == exact_match(here, PAIRS)


def test_a_probe_predicts(gpu):
    x, labels, _ = encoded(load_toy_model("transformer").to(gpu))
    assert probe_accuracy(fit_probe(x, labels), x, labels) > 0.9


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
