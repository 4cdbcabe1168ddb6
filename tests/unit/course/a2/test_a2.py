"""What appendix A2 is made of: its text, its models, and what it says of results."""

import math
from itertools import islice, product
from statistics import fmean

import pytest
import torch
from torch import nn

from attnbook.course.a2 import figures
from attnbook.course.a2.character_models import VARIANTS
from attnbook.course.a2.characters import (
    CHARACTERS,
    character_batches,
    character_texts,
    encode_characters,
    least_loss,
)
from attnbook.course.a2.explorer_learning_rate import (
    BLOCKS,
    RATES,
    learning_rate_view,
)
from attnbook.course.kit.exercises.checking import find
from attnbook.nn.block import Block
from attnbook.nn.gated_feed_forward import SwiGLU
from attnbook.nn.layers import EncoderLayer, FeedForward
from attnbook.nn.mixture_of_experts import MixtureOfExperts
from attnbook.nn.norms import RMSNorm
from attnbook.nn.rotary import Rotary
from attnbook.toy.language import is_sentence

# The text


def test_batches_are_lines_of_the_toy_language_and_their_next_characters():
    ids, targets = next(character_batches(3, 300, batch_size=5))
    assert torch.equal(ids[:, 1:], targets[:, :-1])
    assert ids.min() >= 4
    texts = [*islice(character_texts(3, 300), 5)]
    assert torch.equal(encode_characters(texts)[:, 1:], targets)
    for row, text in zip(ids.tolist(), texts, strict=True):
        assert "".join(CHARACTERS.decode(row)) == text[:-1]
        assert (len(text), text[0]) == (301, "\n")
        lines = text[1:].split("\n")
        assert all(is_sentence(line) for line in lines[:-1])
        assert all(line.count(" and ") <= 1 for line in lines)


def test_the_least_loss_of_a_sentence_is_minus_the_log_of_its_probability():
    """Two phrases of 252, a verb of 8; half of all sentences have one clause."""
    one = "\nthe old farmer sees a bird\n"
    two = "\nthe old farmer sees a bird and an old king helps this dog\n"
    clause = 2 * math.log(252) + math.log(8)
    assert sum(least_loss(one)) == pytest.approx(clause + math.log(2))
    assert sum(least_loss(two)) == pytest.approx(2 * clause + math.log(2))
    assert sum(least_loss(one + one[1:])) == pytest.approx(2 * sum(least_loss(one)))


def test_it_is_the_loss_of_probabilities_that_sum_to_one():
    text = "\nthe old farmer sees a bird and this"
    for end in range(1, len(text)):
        total = 0.0
        for character in CHARACTERS.words[4:]:
            try:
                total += math.exp(-least_loss(text[:end] + character)[-1])
            except ValueError:
                continue
        assert total == pytest.approx(1)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("\nthe farmer sees a old", "no beginning of a text"),
        ("\nthe farmer\n", "no beginning of a text"),
        ("Xthe cat", "begins with 'X'"),
    ],
)
def test_what_the_grammar_does_not_allow_is_refused(text, words):
    with pytest.raises(ValueError, match=words):
        least_loss(text)


# The models


def made(name):
    torch.manual_seed(0)
    return VARIANTS[name]()


@pytest.mark.parametrize("name", VARIANTS)
def test_an_output_depends_on_no_later_character_and_on_the_order_of_those_before(name):
    model = made(name).eval()
    ids = torch.randint(4, len(CHARACTERS), (2, 9))
    changed = ids.clone()
    changed[:, 5] = 4 + (changed[:, 5] - 3) % 20
    with torch.no_grad():
        one, other = model(ids), model(changed)
        moved = model(ids[:, [1, 0, *range(2, 9)]])
    assert torch.allclose(one[:, :5], other[:, :5], atol=1e-6)
    assert (one[:, 5:] - other[:, 5:]).abs().amax((0, 2)).min() > 1e-5
    assert (one[:, -1] - moved[:, -1]).abs().max() > 1e-4


def with_part(kind, part=lambda model: model):
    """The variants whose model, or this part of it, has a module of a kind."""
    models = {name: part(made(name)) for name in VARIANTS}
    return {n for n, m in models.items() if any(type(x) is kind for x in m.modules())}


def test_each_variant_exchanges_what_it_is_called_after():
    today = {"today", "experts"}
    assert with_part(EncoderLayer) == {*VARIANTS} - with_part(Block) == {"post_norm"}
    assert with_part(nn.LayerNorm) == {*VARIANTS} - {"rms_norm", *today}
    assert with_part(FeedForward) == {*VARIANTS} - {"swiglu", *today}
    assert with_part(MixtureOfExperts) == {"experts"}

    def attention(model):
        return model.blocks[3].attention

    assert with_part(RMSNorm, attention) == {"qk_norm", *today}
    assert with_part(Rotary, attention) == {"rotary", *today}
    grouped = {name for name in VARIANTS if attention(made(name)).n_groups == 2}
    assert grouped == {"grouped", *today}
    biased = {n for n in VARIANTS if any("bias" in p for p in made(n).state_dict())}
    assert biased == {*VARIANTS} - {"no_biases", *today}


def test_only_shared_keys_and_biases_and_experts_change_the_number_of_parameters():
    size = {n: sum(p.numel() for p in made(n).parameters()) for n in VARIANTS}
    baseline = size["pre_norm"]
    assert size["post_norm"] == baseline - 2 * 64  # the last norm
    assert size["swiglu"] == pytest.approx(baseline, rel=0.01)
    assert size["qk_norm"] == baseline - 4 * (4 * 64 - 2 * 16)
    assert size["grouped"] == baseline - 4 * (4 * 64 + 2 * 64 * 32)
    assert size["experts"] > 2.5 * size["today"]


# Exercises and the explorer


def test_an_expert_is_a_gated_network():
    with torch.device("meta"):
        expert = SwiGLU(4096, 14_336)
    size = sum(p.numel() for p in expert.parameters())
    assert find("exa2_active").reference == (256 * size, 64 * size)


def test_the_explorer_shows_every_stored_run():
    assert {*BLOCKS.values()} == {*VARIANTS}
    for block, rate in product(BLOCKS, RATES):
        [chart] = learning_rate_view(block, rate).drawn
        assert len(chart.lines) == 3
        assert max(max(line.y) for line in chart.lines) < chart.y.high


def test_the_explorer_tells_one_number_where_the_seeds_agree():
    said = [learning_rate_view(block, "0.03").said for block in BLOCKS]
    assert said[0].endswith("is 2.474 nats per character with every seed.")
    assert all("to" in text for text in said[1:])


# What the page says of stored results

BOUND = figures.LETTERS / 10


def excess(name, rate):
    return [run["excess"][0] for run in figures.runs_by_rate(name)[rate]]


def test_what_the_text_says_of_post_norm():
    late = {
        name: figures.control_excess(f"post-norm, {name}, warm-up")
        for name in ("RoPE", "QK-norm", "SwiGLU", "all parts")
    }
    rescued = {name for name, seeds in late.items() if max(seeds) < BOUND}
    assert rescued == {"RoPE", "all parts"}
    for name in late:
        assert min(figures.control_excess(f"post-norm, {name}")) > 2.4
    assert round(fmean(figures.control_excess("post-norm, warm-up")), 1) == 2.3


def test_what_the_text_says_of_seeds_below_the_bound_in_pre_norm():
    below = {
        name: sum(x < BOUND for x in figures.at_largest(name))
        for name in ("swiglu", "linear_start")
    }
    assert below == {"swiglu": 3, "linear_start": 5}
    assert round(fmean(figures.at_largest("linear_start")), 2) == 0.38
    for name in ("rms_norm", "grouped", "no_biases"):
        assert min(figures.at_largest(name)) > 0.6
    assert all(min(figures.control_excess(name)) > 0.5 for name in figures.CONTROLS)


def test_what_the_text_says_of_the_best_learning_rate():
    longer = {
        name: [run["excess"][1] for run in figures.runs_by_rate(name)[0.01]]
        for name in VARIANTS
    }
    assert max(longer["rotary"]) < min(longer["today"])
    sinusoids = {*VARIANTS} - {"rotary", "today", "experts", "post_norm"}
    assert min(min(longer[name]) for name in sinusoids) > figures.LETTERS
    assert max(excess("today", 0.01)) <= min(excess("rotary", 0.01))


def test_what_the_reading_list_says_of_experts():
    runs = figures.runs_by_rate("experts")[0.01]
    means = [fmean(excess(name, 0.01)) for name in ("today", "experts")]
    assert [round(x, 4) for x in means] == [0.0063, 0.0040]
    assert round(fmean(share for run in runs for share in run["busiest"]), 1) == 0.5
