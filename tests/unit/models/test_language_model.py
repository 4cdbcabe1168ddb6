"""The decoder-only model: its three lines, its cache, decoding with it."""

import pytest
import torch
from compare import agree, close, double, randomise, sentences
from torch import nn

from attnbook.core.vocabulary import BOS
from attnbook.decoding.beam import beam_search
from attnbook.decoding.greedy_search import greedy
from attnbook.decoding.sampling import sample
from attnbook.models.language_model import LanguageModel
from attnbook.nn.layers import TransformerConfig
from attnbook.nn.masks import causal_mask

WORDS, MAX_LEN = 12, 9
LENGTHS = (6, 4, 1)
FORMS = pytest.mark.parametrize("norm_first", [False, True], ids=["post", "pre"])


def model_of(norm_first=True, **sizes):
    sizes = {"d_model": 8, "n_heads": 2, "n_layers": 2, "d_ff": 12} | sizes
    config = TransformerConfig(WORDS, norm_first=norm_first, **sizes)
    return randomise(double(LanguageModel, config, MAX_LEN)).eval()


@pytest.fixture
def ids():
    return sentences(0, LENGTHS, WORDS)


@FORMS
def test_it_is_the_three_lines_of_the_paper(norm_first, ids):
    model = model_of(norm_first)
    one = ids[:1]  # no padding
    one_hot = nn.functional.one_hot(one, WORDS).double()
    h = one_hot @ model.W_e + model.W_p[: one.shape[1]]
    for layer in model.stack.layers:
        h = layer(h, causal_mask(one.shape[1]))
    wanted = model.stack.norm(h) @ model.W_e.T
    agree(model(one), wanted, model.parameters())


def test_the_tables_begin_small_and_the_output_is_the_embedding():
    torch.manual_seed(0)
    model = LanguageModel(TransformerConfig(1000, d_model=64, n_heads=4), 100)
    assert model.W_e.std().item() == pytest.approx(0.02, rel=0.02)
    assert model.W_p.std().item() == pytest.approx(0.02, rel=0.05)
    assert sum(p is model.W_e for p in model.parameters()) == 1


def test_padding_changes_nothing(ids):
    model = model_of()
    logits = model(ids)
    for row, length in enumerate(LENGTHS):
        close(logits[row, :length], model(ids[row : row + 1, :length])[0])


@FORMS
def test_token_by_token_is_as_all_at_once(norm_first, ids):
    model = model_of(norm_first)
    state, steps = model.start(ids), []
    for position, token in enumerate(ids[:, :4].unbind(1)):
        assert state.position == position
        logits, state = model.step(token, state)
        steps.append(logits)
    close(torch.stack(steps, 1)[0], model(ids[:, :4])[0])


def test_decoding_begins_with_no_source():
    model = model_of().float()
    nothing = torch.zeros(3, 0, dtype=torch.int64)
    drawn = sample(model, nothing, MAX_LEN, torch.Generator().manual_seed(0))
    best = greedy(model, nothing, MAX_LEN)
    assert drawn.shape[0] == best.shape[0] == 3
    assert (best == best[:1]).all()
    first = model(torch.tensor([[BOS]]))[0, 0]
    first[:2] = -torch.inf  # neither PAD nor BOS
    assert best[0, 0] == first.argmax()
    assert beam_search(model, nothing[:1], MAX_LEN, width=2)


def test_a_text_that_is_too_long_is_refused():
    model, ids = model_of(), torch.full((1, MAX_LEN + 1), 5)
    with pytest.raises(ValueError, match="10 positions, but only 9 have a vector"):
        model(ids)
    state = model.start(ids)
    for token in ids.unbind(1)[:-1]:
        _, state = model.step(token, state)
    with pytest.raises(ValueError, match="10 positions"):
        model.step(ids[:, -1], state)
