"""Models that fill gaps and models that write: their texts, and what they are asked."""

from itertools import islice

import pytest
import torch
from compare import agree, close, double, randomise, sentences

from attnbook.core.vocabulary import BOS, EOS, PAD
from attnbook.course.a1 import writing
from attnbook.course.a1.writing import MASK, TokenModel
from attnbook.nn.layers import TransformerConfig
from attnbook.nn.masks import key_mask, target_mask
from attnbook.toy.data import SOURCE

SENTENCE = ["the", "old", "farmer", "sees", "a", "bird"]
WORDS, LENGTHS = 12, (6, 4, 1)


class Recite(torch.nn.Module):
    """Predicts the words of one sentence by position, and ``EOS`` after them."""

    def __init__(self):
        super().__init__()
        ids = [*SOURCE.encode(SENTENCE), *[EOS] * writing.LONGEST]
        self.rows = 100 * torch.eye(MASK + 1)[torch.tensor(ids)]
        self.given = []

    def forward(self, ids):
        self.given.append(ids[0].tolist())
        return self.rows[: ids.shape[1]].expand(len(ids), -1, -1)


@pytest.mark.parametrize("mask_of", [key_mask, target_mask])
def test_the_model_is_embeddings_layers_and_the_embeddings_again(mask_of):
    sizes = {"d_model": 8, "n_heads": 2, "n_layers": 2, "d_ff": 12}
    config = TransformerConfig(WORDS, norm_first=True, **sizes)
    model = randomise(double(TokenModel, mask_of, config, 9)).eval()
    ids = sentences(0, LENGTHS, WORDS)
    for row, length in zip(ids, LENGTHS, strict=True):  # padding changes nothing
        one = row[None, :length]
        words = torch.nn.functional.one_hot(one, WORDS).double()
        h = words @ model.W_e + model.W_p[:length]
        for layer in model.stack.layers:
            h = layer(h, mask_of(one))
        wanted = model.stack.norm(h) @ model.W_e.T
        agree(model(one), wanted, model.parameters())
        close(model(row[None])[:, :length], wanted)


def test_whole_texts_end_and_the_longest_has_its_room():
    texts = [row for ids in islice(writing.whole_texts(0), 20) for row in ids.tolist()]
    assert {row.count(EOS) for row in texts} == {1}
    assert writing.correct([SOURCE.decode(row) for row in texts]) == 1
    assert max(row.index(EOS) for row in texts) == writing.LONGEST_SENTENCE


def test_gaps_have_their_tokens_as_targets():
    whole, (given, targets) = (
        next(make(seed=0)) for make in (writing.whole_texts, writing.gap_batches)
    )
    hidden = given == MASK
    assert torch.equal(hidden, targets != PAD)
    assert torch.equal(torch.where(hidden, targets, given), whole)
    assert (targets == EOS).any()


def test_cut_texts_differ_from_whole_ones_after_the_gap_alone():
    whole, cut = (next(writing.one_gap_batches(0, cut)) for cut in (False, True))
    gap = cut[1] != PAD
    assert torch.equal(whole[1], cut[1])
    assert (gap.sum(1) == 1).all()
    after = gap.cumsum(1) - gap.long() > 0
    assert torch.equal(cut[0], whole[0].masked_fill(after, PAD))


def test_one_of_the_next_words_is_a_target():
    (ids, every), (_, one) = (next(writing.next_words(0, one)) for one in (False, True))
    assert (ids[:, 0] == BOS).all()
    assert torch.equal(one, every.where(one != PAD, PAD))
    assert ((one != PAD).sum(1) == 1).all()


@pytest.mark.parametrize("ask", [MASK, None])
def test_a_model_writes_until_the_end(ask):
    model = Recite()
    assert writing.write(model, 3, ask) == [SENTENCE] * 3
    assert model.given[0] == [BOS if ask is None else MASK]
    assert (model.given[1][-1] == MASK) == (ask is not None)


@pytest.mark.parametrize(("length", "ends"), [(6, True), (9, False)])
def test_gaps_are_filled_from_left_to_right_until_the_end(length, ends):
    model = Recite()
    assert writing.write_between(model, [length] * 2, ends) == [SENTENCE] * 2
    last = EOS if ends else MASK
    assert model.given[0] == [*[MASK] * length, last]
    assert model.given[2] == [
        *SOURCE.encode(SENTENCE[:2]),
        *[MASK] * (length - 2),
        last,
    ]
    assert writing.guesses(Recite(), "the old [M] sees a bird")[0] == "farmer"


def test_training_begins_with_the_weights_it_is_given(monkeypatch):
    monkeypatch.setattr(writing, "LEARNING_RATE", 1e-300)
    torch.manual_seed(5)
    other = TokenModel(key_mask)

    def begin(weights):
        return writing.train(target_mask, writing.next_words(0), 0, 1, weights)

    new, vectors, every = map(begin, ({}, {"W_e": other.W_e}, other.state_dict()))
    assert torch.equal(vectors.W_e, other.W_e)
    assert torch.equal(vectors.W_p, new.W_p)
    assert not torch.equal(new.W_e, other.W_e)
    for name, weights in other.state_dict().items():
        assert torch.equal(every.state_dict()[name], weights)
