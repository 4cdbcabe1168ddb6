"""What appendix A3 is made of and its exercises."""

from itertools import islice

import pytest
import torch
from notebook_cells import printed

from attnbook.course.a3 import encoders
from attnbook.course.a3 import figures as a3
from attnbook.course.a3.two_orders import (
    object_first,
    two_order_pairs,
    valid_translations,
)
from attnbook.course.kit.exercises.checking import find
from attnbook.nn.masks import key_mask
from attnbook.toy.data import SOURCE, TARGET, held_out_pairs, make_batch
from attnbook.toy.language import translate_by_rule
from attnbook.toy.models import toy_transformer


def test_lite_transformers_own_numbers():
    sizes = [size for size, _ in a3.SIZES.values()]
    assert round(sizes[0] / sizes[1], 1) == 2.5
    assert round(sizes[0] / sizes[-1], 1) == 18.1  # 18.2 in the paper, unrounded
    lite, plain = (a3.BLEU[name] for name in ("Lite Transformer", "Transformer"))
    # As the abstract says: 1.7 BLEU at 100M, 1.2 at 500M, 2.5 times less for 0.3.
    assert round(lite[90] - plain[87], 1) == 1.7
    assert round(lite[527] - plain[527], 1) == 1.2
    assert round(plain[1330] - lite[527], 1) == 0.3


# Two orders


def test_the_phrases_change_places_and_the_verb_stays():
    pair = translate_by_rule("the old farmer sees a bird")
    assert " ".join(object_first(pair).target) == "lipas dos maron velin ken mirat"
    assert valid_translations(pair) == (pair.target, object_first(pair).target)
    with pytest.raises(ValueError, match="2 clauses"):
        object_first(held_out_pairs(2, 1)[0])


def test_the_alignment_goes_with_the_words():
    for pair in held_out_pairs(1, 50):
        one, two = (
            dict(zip(p.alignment, p.target, strict=True))
            for p in (pair, object_first(pair))
        )
        assert one == two
        assert object_first(pair).source == pair.source


def test_half_of_the_pairs_have_the_object_first():
    drawn = [*islice(two_order_pairs(0), 400)]
    rule = [p.target == translate_by_rule(p.source).target for p in drawn]
    assert 0.4 < 1 - sum(rule) / len(rule) < 0.6
    assert [*islice(two_order_pairs(0), 5)] == drawn[:5]


# Lighter encoders


@pytest.mark.parametrize(
    "make", [encoders.toy_lite_transformer, encoders.toy_local_transformer]
)
def test_lighter_encoders_ignore_padding(make):
    torch.manual_seed(0)
    model = make(len(SOURCE), len(TARGET)).eval()
    short, long = held_out_pairs(1, 1), held_out_pairs(2, 1)
    one, two = make_batch(short), make_batch(short + long)
    with torch.no_grad():
        alone = model(one.src, one.tgt_in)
        batch = model(two.src, two.tgt_in)[:1, : alone.shape[1]]
    assert torch.allclose(batch, alone, atol=1e-5)


def test_a_lite_encoder_has_half_of_the_heads_as_wide_as_before():
    lite, plain = (
        make(len(SOURCE), len(TARGET)).encoder[0].attention
        for make in (encoders.toy_lite_transformer, toy_transformer)
    )
    heads = lite.attention.n_heads
    assert heads == plain.n_heads / 2
    widths = [
        layer.W_Q.out_features / layer.n_heads for layer in (lite.attention, plain)
    ]
    assert widths[0] == widths[1]


def test_the_local_encoder_sees_neighbours_only():
    layer = encoders.LocalOnly(8, encoders.WIDTH)
    x = torch.randn(1, 9, 8, generator=torch.Generator().manual_seed(0))
    mask = key_mask(torch.ones(1, 9, dtype=torch.long))
    changed = x.clone()
    changed[:, 4] += 1
    moved = (layer(changed, changed, changed, mask) - layer(x, x, x, mask))[0]
    assert moved.abs().amax(-1).nonzero().flatten().tolist() == [2, 3, 4, 5, 6]


# Exercises


def test_a_decay_is_attention_with_a_mask_that_decays():
    q, k, v, gamma = find("exa3_decay").inputs()[0]
    i = torch.arange(len(q))
    fading = (gamma ** (i[:, None] - i)).tril()
    wanted = ((q @ k.T) * fading) @ v
    assert torch.allclose(find("exa3_decay").reference(q, k, v, gamma), wanted)


def test_valid_translations_by_counting():
    right = find("exa3_valid").reference
    assert right([["a", "b"], ["b", "a"]]) == 0.5
    assert right([["a"] * 5, ["b"] * 5]) == 2 / 2**5


def test_guessing_an_order_at_each_position_would_succeed_in_a_tenth():
    right, chances = find("exa3_valid").reference, []
    for pair in held_out_pairs(1):
        source = " ".join(pair.source)
        chances.append(right([*valid_translations(translate_by_rule(source))]))
    assert round(100 * sum(chances) / len(chances)) == 10


# The page's own code, at its edges


@pytest.mark.parametrize("block", [1, 3, 64, 600])
@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64])
def test_linear_attention_of_the_page_in_any_type(dtype, block):
    """Its weights are positive, and sum to 1 however long the sequence."""
    attend, ones = printed("a3", "linear_attention"), torch.ones(520, 64, dtype=dtype)
    for x in (ones, -15 * ones, -40 * ones.float()):
        out = attend(x, x, ones.to(x), block)
        assert out.dtype == x.dtype
        assert torch.allclose(out, torch.ones_like(out), atol=1e-5)


def test_linear_attention_of_the_page_by_the_formula():
    attend = printed("a3", "linear_attention")
    g = torch.Generator().manual_seed(0)
    q, k, v = torch.randn(3, 7, 4, generator=g, dtype=torch.float64)
    q_features, k_features = (torch.where(x > 0, x + 1, x.exp()) for x in (q, k))
    for i in range(7):
        weights = k_features[: i + 1] @ q_features[i]
        wanted = weights @ v[: i + 1] / weights.sum()
        assert torch.allclose(attend(q, k, v, 3)[i], wanted, 1e-12, 1e-12)
