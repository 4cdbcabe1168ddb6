"""Figures and tables of laboratory page 10."""

import pytest
import torch

from attnbook.core import results
from attnbook.course.ch10 import lab as lab10
from attnbook.toy.language import translate_by_rule
from attnbook.toy.models import toy_transformer

pytestmark = pytest.mark.usefixtures("as_in_the_pages")


def test_every_caption_is_in_the_table_of_silence():
    rows, stored = lab10.silence_table().rows(), results.load("silence")
    assert sum(row[1] for row in rows) == stored["captions"]
    assert sum(row[2] for row in rows) == stored["silent"] == 141
    assert [row[3] for row in rows] == sorted(row[3] for row in rows)


@torch.no_grad()
def test_decoding_frames_show_the_weights_of_each_step():
    torch.manual_seed(0)
    model = toy_transformer(35, 43).eval()
    pair = translate_by_rule("the old farmer sees a bird")
    figures, captions, alts = lab10.decoding_frames(model, pair)
    steps = lab10.steps_table(model, pair).rows()
    assert len(figures) == len(captions) == len(alts) == 8  # two more, then cut off
    for t, figure in enumerate(figures):
        left, right = figure.axes
        cross, own = ([p.get_width() for p in ax.patches] for ax in (left, right))
        assert (len(cross), len(own)) == (7, t + 1)
        assert sum(cross) == pytest.approx(1, abs=1e-5)
        assert sum(own) == pytest.approx(1, abs=1e-5)
        names = [ax.get_yticklabels()[0].get_text() for ax in (left, right)]
        assert names == ["the", "<bos>"]
        best = max(range(7), key=cross.__getitem__)
        assert f"({cross[best]:.2f})" in captions[t]
        assert steps[t][1] == [*pair.source, "<eos>"][best]
        assert steps[t][2] == pytest.approx(cross[best])
        assert captions[t].endswith(f"the output is {steps[t][3]}.")
        assert f"Position {t}: " in captions[t]
        assert all(f" {x:.2f}" in alts[t] for x in (*cross, *own))
