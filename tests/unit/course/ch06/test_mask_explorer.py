"""The masks that the reader chooses, their weights, and what is said of them."""

import random

import pytest
import torch

from attnbook.course.ch06.explorer_masks import (
    CONTROLS,
    KINDS,
    SCORES,
    WORDS,
    mask_view,
)
from attnbook.course.kit.explorers.packed import settings_of

SETTINGS = random.Random(0).sample([*settings_of(CONTROLS)], 300)


@pytest.mark.parametrize("kind", KINDS)
def test_weights_are_the_softmax_of_what_each_query_may_attend_to(kind):
    """The mask by its definition, cell by cell."""
    asks, offers, causal = KINDS[kind]
    for setting in SETTINGS:
        setting = setting | {"attention": kind}
        [chart] = mask_view(**setting).drawn
        first = {
            side: (6 - setting[side]) * setting["left"] for side in ("source", "target")
        }
        for side, words in ((asks, chart.rows), (offers, chart.columns)):
            end = first[side] + setting[side]
            real = WORDS[side][: setting[side]]
            assert words[first[side] : end] == real
            assert words[: first[side]] + words[end:] == ("pad",) * (6 - len(real))
        for i, (cells, texts) in enumerate(zip(chart.cells, chart.texts, strict=True)):
            may = [
                (
                    first[offers] <= j < first[offers] + setting[offers]
                    and (j <= i or not causal)
                    and abs(i - j) < setting["window"]
                )
                or not setting["masked"]
                for j in range(6)
            ]
            assert [cell is not None for cell in cells] == may, setting
            assert [bool(text) for text in texts] == may
            scores = torch.tensor(SCORES[i], dtype=torch.float64)[torch.tensor(may)]
            shown = [float(text) for text in texts if text]
            assert shown == pytest.approx(scores.softmax(-1).tolist(), abs=0.0051)
            assert shown == [cell for cell in cells if cell is not None]
