"""Chapter 12: the paper's learning rates as the page shows them."""

import math

import pytest

from attnbook.course.ch12 import figures_recipe as ch12_recipe

pytestmark = pytest.mark.usefixtures("as_in_the_pages")


def test_learning_rates_are_the_papers():
    widths, warmups = ch12_recipe.learning_rates_figure().axes
    for ax, cases in (
        (widths, [(128, 4000), (512, 4000), (1024, 4000)]),
        (warmups, [(512, 1000), (512, 4000), (512, 16000)]),
    ):
        for line, (d, w) in zip(ax.get_lines(), cases, strict=True):
            for s, found in zip(*line.get_data(), strict=True):
                wanted = min(s**-0.5, s * w**-1.5) / math.sqrt(d)
                assert found == pytest.approx(1000 * wanted)
    named = [text.get_text() for text in warmups.texts]
    assert named == ["1,000", "4,000", "16,000"]
    for text in warmups.texts:  # at the peak
        assert abs(text.xy[0] - int(text.get_text().replace(",", ""))) <= 50
