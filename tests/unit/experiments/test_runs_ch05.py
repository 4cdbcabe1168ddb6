"""What chapter 5's experiments measure, at small size."""

from statistics import fmean

import pytest
import torch

from attnbook.analysis.maps import attention_maps
from attnbook.data.batching import IdPair, id_batch
from attnbook.models.transformer import Transformer
from attnbook.nn.layers import TransformerConfig
from attnbook.nn.masks import key_mask
from attnbook.toy.task_models import one_layer
from attnbook.toy.tasks import previous_symbols, reversed_symbols
from experiments import ch05

PAIRS = [IdPair([5, 6, 7], [8, 9]), IdPair([6, 5], [9, 8, 7]), IdPair([9], [5])]


@pytest.fixture
def model():
    torch.manual_seed(0)
    config = TransformerConfig(12, d_model=8, n_heads=2, n_layers=2, d_ff=16)
    return Transformer(config).eval().requires_grad_(False)


# Tasks on symbols


def test_shares_are_none_where_nothing_counts():
    torch.manual_seed(0)
    rows = ch05.accuracy_by_position(one_layer("none", 4), previous_symbols, 4)
    assert [[share is None for share in row] for row in rows] == [
        [True, True],
        [False, True],
        [False, False],
        [False, False],
    ]


def test_training_on_a_task_changes_the_answers():
    torch.manual_seed(0)
    model = one_layer("learned", 4, n_heads=4, n_answers=1)
    ch05.train_task_model(model, reversed_symbols, 4, 150, seed=0)
    rows = ch05.accuracy_by_position(model, reversed_symbols, 4)
    assert min(row[0] for row in rows) > 0.8


# The translator without some of its heads


def test_the_loss_is_a_mean_over_subwords_whatever_the_batches(model):
    whole = ch05.mean_loss(model, ch05.length_batches(PAIRS))
    apart = [batch for pair in PAIRS for batch in ch05.length_batches([pair])]
    assert whole == pytest.approx(ch05.mean_loss(model, apart), rel=1e-5)


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("encoder self-attention", "encoder.{}.attention"),
        ("decoder self-attention", "decoder.{}.self_attention"),
        ("cross-attention", "decoder.{}.cross_attention"),
    ],
)
def test_a_kind_without_its_heads_is_a_model_without_that_attention(model, kind, name):
    batches = ch05.length_batches(PAIRS)
    before = ch05.mean_loss(model, batches)
    with ch05.removed(model, [(kind, n, head) for n in (0, 1) for head in (0, 1)]):
        found = ch05.mean_loss(model, batches)
    assert ch05.mean_loss(model, batches) == before != found
    for n in (0, 1):
        model.get_submodule(name.format(n)).W_O.weight.zero_()
    assert ch05.mean_loss(model, batches) == found


def test_offsets_and_the_end_are_means_over_queries_and_sentences(model):
    maps = []  # of each sentence the weights of layer and head
    for pair in PAIRS:
        batch = id_batch([pair])
        found = attention_maps(model, batch.src, batch.tgt_in)
        maps.append([found[f"encoder.{n}.attention"][0] for n in (0, 1)])

    def share(layer, head, key):
        """The mean weight on the key at a place that depends on query and length."""
        means = []
        for of in maps:
            rows = of[layer][head].tolist()
            places = [key(i, len(rows)) for i in range(len(rows))]
            inside = [(i, j) for i, j in enumerate(places) if 0 <= j < len(rows)]
            means.append(sum(rows[i][j] for i, j in inside) / len(rows))
        return fmean(means)

    rows = ch05.encoder_offsets(model, PAIRS)
    places = [(row["layer"], row["head"]) for row in rows]
    assert places == [(0, 0), (0, 1), (1, 0), (1, 1)]
    for row, at in zip(rows, places, strict=True):
        offsets = [share(*at, lambda i, n, d=d: i + d) for d in ch05.OFFSETS]
        assert row["offsets"] == pytest.approx(offsets, abs=6e-5)
        assert row["eos"] == pytest.approx(share(*at, lambda i, n: n - 1), abs=6e-5)


# Possessives


@pytest.fixture
def cases():
    sources, prefixes = ([5, 6, 7, 3], [7, 5, 3]), ([2, 8], [2, 9, 8])
    return [
        ch05.Case(torch.tensor([src]), torch.tensor([tgt]), ("ihr", "e"), [0], [1], [2])
        for src, tgt in zip(sources, prefixes, strict=True)
    ]


def logits(model, case):
    return model.decode(case.tgt_in, model.encode(case.src), key_mask(case.src))[0, -1]


def test_weights_are_means_over_the_cases_of_the_last_query(model, cases):
    found = ch05.cross_weights(model, cases)
    for n in (0, 1):
        rows = []
        for case in cases:
            maps = attention_maps(model, case.src, case.tgt_in)
            rows.append(maps[f"decoder.{n}.cross_attention"][0, :, -1, :2])  # (H, 2)
        torch.testing.assert_close(found[n], sum(rows) / len(rows))


def test_a_head_that_is_held_gives_its_mean_to_the_last_query(model, cases):
    module, seen = model.decoder[0].cross_attention.W_O, []
    hook = module.register_forward_pre_hook(lambda _, args: seen.append(args[0][0, -1]))
    whole = [logits(model, case) for case in cases]
    hook.remove()
    mean = sum(seen)[:4] / len(seen)
    with ch05.held(model, cases, [(0, 0)]):
        changed = [logits(model, case) for case in cases]

    def hold(_, args):
        args[0][0, -1, :4] = mean

    for case, old, new in zip(cases, whole, changed, strict=True):
        assert torch.equal(logits(model, case), old)
        assert not torch.allclose(old, new)
        hook = module.register_forward_pre_hook(hold)
        torch.testing.assert_close(logits(model, case), new)
        hook.remove()


def test_kept_counts_stems_endings_and_words_of_another_kind(model, cases):
    tokens = [logits(model, case).argmax().item() for case in cases]
    wanted = sum(token == tokens[0] for token in tokens)
    found = ch05.kept(model, cases, {tokens[0]: ("ihr", "en")})
    assert found == {"stem": wanted, "ending": 0, "either": wanted}
