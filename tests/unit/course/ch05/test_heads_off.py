"""The explorer of chapter 5: a translator without some of its heads."""

import random

import pytest
import torch

from attnbook.course.ch05 import explorer_heads_off as heads_off
from attnbook.course.kit.explorers.packed import settings_of
from attnbook.course.kit.explorers.shipped import shipped_translator

pytestmark = pytest.mark.usefixtures("as_in_the_pages")

ON = {f"head_{n}": True for n in range(1, 5)}
OFF = dict.fromkeys(ON, False)
TEXT = "Two dogs run."


def bars(view):
    """Lengths of the bars, from the first token on."""
    return view.drawn[0].series[0].values


def test_bars_are_the_falls_of_the_log_probabilities():
    view = heads_off.heads_off_view(TEXT, "cross-attention", "all", **OFF)
    original = heads_off.translated(TEXT)
    drops = torch.tensor(bars(view), dtype=torch.float32)
    assert len(drops) == len(original.tokens) == len(original.log_p)
    [chart] = view.drawn
    assert chart.names == original.tokens
    assert chart.value.low < drops.min() <= drops.max() < chart.value.high
    for layer in shipped_translator().model.decoder:
        torch.nn.init.zeros_(weight := layer.cross_attention.W_O.weight)
        assert not weight.any()
    without = heads_off.token_log_p(original.source, original.text)
    shipped_translator.cache_clear()  # it has lost its weights
    torch.testing.assert_close(drops, original.log_p - without, atol=1e-4, rtol=1e-3)
    assert (
        f"The loss on this caption rises by {drops.mean():.2f} nats per token."
        in view.said
    )
    assert "Without heads 1, 2, 3, 4: " in view.said


def test_on_the_page_the_views_are_those_that_were_stored():
    every = [*settings_of(heads_off.CONTROLS)]
    for settings in random.Random(0).sample(every, 8):
        stored, now = (
            heads_off.stored_view(**settings),
            heads_off.heads_off_view(**settings),
        )
        assert stored.said == now.said
        assert bars(stored) == pytest.approx(bars(now), abs=1e-3)
