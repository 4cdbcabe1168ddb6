"""An ensemble averages probabilities; each member keeps a state of its own."""

import torch
from compare import close, make_transformer, sentences

from attnbook.core.vocabulary import BOS, EOS
from attnbook.decoding import Ensemble, beam_search, greedy

SRC = sentences(0, [6, 4, 1, 3], 12)


def members(*seeds):
    models = []
    for seed in seeds:
        torch.manual_seed(seed)
        models.append(make_transformer(12, d_model=16, n_heads=2, d_ff=32).eval())
    return models


@torch.no_grad()
def test_a_step_is_the_mean_of_the_members_probabilities():
    models = members(0, 1, 2)
    together = Ensemble(models)
    token = torch.full((len(SRC),), BOS)
    state, own = together.start(SRC), [model.start(SRC) for model in models]
    for _ in range(3):
        logits, state = together.step(token, state)
        p = torch.zeros_like(logits)
        for i, model in enumerate(models):
            single, own[i] = model.step(token, own[i])
            p += single.softmax(-1) / len(models)
        close(logits.softmax(-1), p, atol=1e-6)
        token = p[:, EOS + 1 :].argmax(-1) + EOS + 1


def test_one_member_translates_as_it_does_alone():
    (model,) = members(3)
    alone = Ensemble([model])
    assert torch.equal(greedy(alone, SRC, 9), greedy(model, SRC, 9))
    found = [beam_search(m, SRC, 9, width=3).ids for m in (alone, model)]
    assert torch.equal(*found)
