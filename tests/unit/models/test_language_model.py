"""The decoder-only model: its three lines, its cache, decoding with it."""

import pytest
import torch
from compare import agree, close, double, randomise, sentences, step_by_step
from torch import nn

from attnbook.core.vocabulary import BOS, EOS, PAD, UNK
from attnbook.data.batching import pad
from attnbook.decoding.beam import beam_search
from attnbook.decoding.greedy_search import greedy
from attnbook.decoding.sampling import sample
from attnbook.models.language_model import LanguageModel
from attnbook.nn.layers import TransformerConfig
from attnbook.nn.masks import causal_mask

WORDS, MAX_LEN = 12, 9
LENGTHS = (6, 4, 1)
SMALL = {"d_model": 8, "n_heads": 2, "n_layers": 2, "d_ff": 12}
FORMS = pytest.mark.parametrize("norm_first", [False, True], ids=["post", "pre"])


def model_of(norm_first=True, **sizes):
    config = TransformerConfig(WORDS, norm_first=norm_first, **SMALL | sizes)
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
    steps = step_by_step(model, ids[:, :0], ids[:, :4])
    close(steps[0], model(ids[:, :4])[0])


# A prompt is continued


def talker(norm_first=True):
    """A model that does not end at once, nor say the same whatever it has read."""
    torch.manual_seed(0)
    model = model_of(norm_first)
    for name, parameter in model.named_parameters():
        parameter.data *= 0 if "bias" in name else 2
    model.W_e.data[EOS] = 0
    return model


def continued(model, prompt, number):
    """Each text by itself; all of it put through the model anew for each token."""
    rows = []
    for row in prompt.tolist():
        ids = [BOS, *row]
        while len(ids) <= len(row) + number and ids[-1] != EOS:
            logits = model(torch.tensor([ids]))[0, -1]
            logits[[PAD, BOS, UNK]] = -torch.inf
            ids.append(logits.argmax().item())
        rows.append(ids[1 + len(row) :])
    return pad(rows)


@FORMS
@pytest.mark.parametrize("length", [0, 1, 3])
def test_a_prompt_is_continued(norm_first, length):
    """As by a full pass for each token; with BOS or without, nothing else differs."""
    model, prompt = talker(norm_first), torch.randint(4, WORDS, (4, length))
    wanted = continued(model, prompt, 5)
    begun = torch.cat([torch.full((4, 1), BOS), prompt], 1)
    for given in (prompt, begun):
        assert torch.equal(greedy(model, given, 5), wanted)
        coldest = sample(model, given, 5, torch.Generator(), top_k=1)
        assert torch.equal(coldest, wanted)
    if length:
        other = prompt.clone()
        other[:, 0] = 4 + (other[:, 0] - 3) % (WORDS - 4)
        assert not torch.equal(greedy(model, other, 5), wanted)


@pytest.mark.parametrize("length", [0, 1, 3])
def test_a_beam_continues_each_prompt(length):
    """Its scores are those of one full pass over prompt and continuation."""
    model, prompt = talker(), torch.randint(4, WORDS, (3, length))
    found = beam_search(model, prompt, [5, 2, 4], width=3, alpha=0.0)
    for row, ids, scores in zip(prompt, *found, strict=True):
        for said, score in zip(ids.tolist(), scores.tolist(), strict=True):
            words = said[: said.index(EOS) + 1]
            text = torch.tensor([[BOS, *row.tolist(), *words]])
            log_p = model(text[:, :-1])[0].log_softmax(-1)[length:]  # (n, V)
            total = log_p.gather(1, text[0, 1 + length :, None]).sum().item()
            assert score == pytest.approx(total, abs=1e-10)


def test_a_text_that_is_too_long_is_refused():
    model, ids = model_of(), torch.full((1, MAX_LEN + 1), 5)
    with pytest.raises(ValueError, match="10 positions, but only 9 have a vector"):
        model(ids)
    state = model.start(ids[:, :0])
    for token in ids.unbind(1)[:-1]:
        _, state = model.step(token, state)
    with pytest.raises(ValueError, match="10 positions"):
        model.step(ids[:, -1], state)
