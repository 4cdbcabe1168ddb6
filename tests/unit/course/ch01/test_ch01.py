"""Chapter 1 and its laboratory: what is computed of models just trained."""

import pytest
import torch
from notebook_cells import printed
from torch.nn import functional as F

from attnbook.core.vocabulary import EOS
from attnbook.course.ch01 import figures
from attnbook.data.batching import pad
from attnbook.toy.language import translate_by_rule
from attnbook.toy.models import load_toy_model

pytestmark = pytest.mark.usefixtures("as_in_the_pages")


def test_predictions_are_those_after_the_right_tokens():
    sentence = "a dog sees a cat"
    words = translate_by_rule(sentence).target
    _, captions, alts = figures.prediction_frames(
        load_toy_model("static_context"), sentence
    )
    for t, word in enumerate([*words, "<eos>"]):
        before = " ".join(words[:t]) or "none"
        assert captions[t].startswith(f"Previous tokens: {before}. Most probable")
        assert f"token: {word}, " in captions[t]
        assert captions[t].endswith("(correct).")
        assert f"tokens: {word} " in alts[t]


def test_the_encoder_of_the_page_keeps_columns_that_are_padding_alone():
    torch.manual_seed(0)
    encoder = printed("ch01", "Encoder")(9, 4, 3)
    src = pad([[4, 5, 6, EOS], [7, EOS]])
    states, last = encoder(F.pad(src, (0, 3)))
    alone, alone_last = encoder(src[1:, :2])
    assert states.shape == (2, 7, 6)
    assert torch.allclose(states[1:, :2], alone, atol=1e-6)
    assert torch.allclose(last[1:], alone_last, atol=1e-6)
    assert not states[1, 2:].any()
