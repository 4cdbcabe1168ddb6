"""What chapter 12's experiments read off its translators."""

import pytest
import torch

from attnbook.translation.translator import MODELS, SHIPPED, Translator
from experiments.ch12_translators import caption_weights

CAPTION = "Two men sit on a bench."


@pytest.mark.parametrize("model", [SHIPPED, MODELS / "multi30k_bahdanau"])
def test_each_subword_of_a_translation_shares_its_weight_out(model):
    translator = Translator(model)
    [text] = translator([CAPTION], width=1)
    weights = caption_weights(translator, CAPTION, text)  # (T, S)
    pieces = map(translator.subwords.pieces, (text, CAPTION))
    assert weights.shape == tuple(len(side) + 1 for side in pieces)  # with EOS
    torch.testing.assert_close(weights.sum(1), torch.ones(len(weights)))
