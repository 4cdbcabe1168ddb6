"""The explorers compute what the package computes."""

from itertools import pairwise

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from attnbook.course.ch02 import explorer_caption_alignment as caption_alignment
from attnbook.course.ch02 import explorer_query as additive_query
from attnbook.course.ch09 import explorer_toy_heads as toy_heads
from attnbook.course.ch09 import explorer_transformer_pass as transformer_pass
from attnbook.course.ch10 import explorer_search_and_sampling as search_and_sampling
from attnbook.course.kit.explorers.shipped import shipped_bahdanau
from attnbook.course.kit.explorers.token_maps import (
    KINDS,
    MEAN,
    Tokens,
    chosen_weights,
    peaks,
    token_map,
)
from attnbook.toy.data import make_batch
from attnbook.toy.example import STATES, U, V, W
from attnbook.toy.language import translate_by_rule
from attnbook.toy.models import load_toy_model

pytestmark = pytest.mark.usefixtures("as_in_the_pages")

# Maps of tokens

MAPS = {
    kind.module.format(layer): torch.rand(
        3, 2, 2, generator=torch.Generator().manual_seed(7 * number + layer)
    )
    for number, kind in enumerate(KINDS.values())
    for layer in (0, 1)
}


@pytest.mark.parametrize("kind", KINDS)
def test_menus_choose_a_layer_and_a_head_or_their_mean(kind):
    one, two = (MAPS[KINDS[kind].module.format(layer)] for layer in (0, 1))
    assert torch.equal(chosen_weights(MAPS, kind, "2", "3"), two[2])
    assert torch.allclose(chosen_weights(MAPS, kind, "1", MEAN), one.mean(0))
    assert torch.allclose(chosen_weights(MAPS, kind, MEAN, "2"), (one[1] + two[1]) / 2)
    every = torch.cat([one, two]).mean(0)
    assert torch.allclose(chosen_weights(MAPS, kind, MEAN, MEAN), every)


@pytest.mark.parametrize(
    ("kind", "rows", "columns"),
    [
        ("cross-attention", ("x", "<eos>"), ("a", "b", "<eos>")),
        ("encoder self-attention", ("a", "b", "<eos>"), ("a", "b", "<eos>")),
        ("decoder self-attention", ("<bos>", "x"), ("<bos>", "x")),
    ],
)
def test_rows_and_columns_are_the_tokens_of_each_attention(kind, rows, columns):
    tokens = Tokens(("a", "b", "<eos>"), ("<bos>", "x"), ("x", "<eos>"))
    weights = torch.eye(len(rows), len(columns))
    chart = token_map(weights, tokens, kind, [(0, 1), (1, None)])
    assert (chart.rows, chart.columns) == (rows, columns)
    assert torch.equal(torch.tensor(chart.cells), weights)
    assert chart.frames == ((0, 1),)
    said = [f"{row}: {columns[i]}, 1.00" for i, row in enumerate(rows)]
    assert peaks(weights, tokens, kind) == "; ".join(said)


# The toy Transformer


def test_frames_stand_on_an_exact_translation_and_a_wrong_one_is_corrected():
    view = toy_heads.head_view("the king sees a bird", "cross-attention", "1", MEAN)
    assert len(view.drawn[0].frames) == 5
    five = " and ".join(["this kind queen paints the robot"] * 5)
    view = toy_heads.head_view(five, "cross-attention", MEAN, MEAN)
    assert f"Correct: {' '.join(translate_by_rule(five).target)}." in view.said
    assert not view.drawn[0].frames


def test_the_stages_of_a_pass_are_the_steps_of_the_formulas():
    """Each from the one before, and the last from the model itself."""
    stages, controls = transformer_pass.stages(), transformer_pass.CONTROLS
    assert len(stages) == controls["stage"].high
    model, pair = load_toy_model("transformer"), transformer_pass.pair()
    assert {len(words) for words in transformer_pass.tokens()} == {7}
    batch = make_batch([pair])
    with torch.no_grad():
        logits = model(batch.src, batch.tgt_in)[0]
    torch.testing.assert_close(stages[-1].x, logits.softmax(-1))
    stream = None
    for before, stage in pairwise(stages):
        if stage.name == "norm":
            stream = before.x
            normed = F.layer_norm(stream, stream.shape[-1:])
            assert torch.corrcoef(torch.stack([normed[1], stage.x[1]]))[0, 1] > 0.5
        if stage.name == "sum":
            torch.testing.assert_close(stage.x, stream + before.x)


# The translator with Bahdanau's attention

CLIMB = "A man is trying to climb a tree."


def test_weights_are_those_of_the_steps_that_make_the_translation():
    translator = shipped_bahdanau()
    found = caption_alignment.aligned(CLIMB)
    [text] = translator([CLIMB])
    assert found.text == text
    ids = translator.subwords.encode(text)
    with torch.no_grad():
        src = torch.tensor([[*translator.subwords.encode(CLIMB), 2]])
        state, rows = translator.model.start(src), []
        for token in [1, *ids]:
            _, state = translator.model.step(torch.tensor([token]), state)
            rows.append(state.weights[0])
    assert torch.allclose(found.weights, torch.stack(rows), atol=1e-6)
    assert [len(found.target), len(found.source)] == [len(rows), src.shape[1]]


# The worked example and the film of chapter 2


@pytest.mark.parametrize("tanh", [False, True])
@pytest.mark.parametrize("side", [-1, 0.3])
def test_the_query_moves_the_words_along_the_curve(side, tanh):
    curve = torch.tanh if tanh else nn.Identity()
    view = additive_query.query_view(side, tanh)
    *panels, bars = view.drawn
    before = torch.tensor([2.0, 0, 0, side]) @ W.T + STATES @ U.T  # (6, 3)
    scores = curve(before) @ V
    shares = bars.series[0].values
    assert shares == pytest.approx(scores.softmax(0).tolist(), abs=5e-4)
    for k, panel in enumerate(panels):
        found = torch.tensor([[point.x / 4 - 7, point.y] for point in panel.points])
        wanted = torch.stack([before[:, k], curve(before[:, k])], dim=-1)
        torch.testing.assert_close(found, wanted, atol=2e-3, rtol=0)
        x = torch.linspace(-7, 7, len(panel.lines[0].y))
        y = torch.tensor(panel.lines[0].y)
        torch.testing.assert_close(y, curve(x), atol=1e-3, rtol=0)


# Search and sampling

STATION = "People are waiting at the station."


def test_log_probabilities_of_beam_and_samples_agree():
    beam = search_and_sampling.beams(STATION, 4)
    drawn = search_and_sampling.samples(STATION, 0.6)
    assert beam.log_p == sorted(beam.log_p, reverse=True)
    both = set(beam.texts) & set(drawn.texts)
    assert both
    for text in both:
        one, two = (f.log_p[f.texts.index(text)] for f in (beam, drawn))
        assert one == pytest.approx(two, abs=1e-3)
