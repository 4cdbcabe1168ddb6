"""What holds for the models with attention over a recurrent encoder."""

from itertools import product

import pytest
import torch
from compare import sentences

from attnbook.core.vocabulary import BOS
from attnbook.models.bahdanau import Bahdanau
from attnbook.models.luong import Luong
from attnbook.models.seq2seq import InitialState, StaticContext
from attnbook.nn.local_attention import ALIGNMENTS
from attnbook.nn.scores import SCORES, AdditiveScore

WORDS = 12


def test_the_models_of_the_thread_read_alike_by_default():
    """One encoder for all, so that the figure that grows compares like with like."""
    for make in (InitialState, StaticContext, Bahdanau, Luong):
        model = make(WORDS, WORDS)
        assert model.encoder.embedding.embedding_dim == 32
        assert model.embedding.embedding_dim == 32
        assert model.encoder.gru.hidden_size == 64
        assert model.encoder.gru.bidirectional
    width = Bahdanau(WORDS, WORDS).score.v.in_features
    assert width == AdditiveScore(8, 8).v.in_features == 64


@pytest.mark.parametrize("form", [None, *product(SCORES, ALIGNMENTS)])
def test_a_step_of_decoding_needs_no_number_to_know_the_shape(form):
    """Nothing waits for the accelerator once the source is read."""
    if form is None:
        model = Bahdanau(WORDS, WORDS, 3, 4, 5)
    else:
        width = None if form[1] == "global" else 1
        model = Luong(WORDS, WORDS, 3, 4, *form, width)
    src = sentences(0, (6, 4, 1, 3), WORDS)
    state, token = model.start(src), torch.full((4,), BOS)

    def elsewhere(part):
        if isinstance(part, torch.Tensor):
            return part.to("meta")
        return part if isinstance(part, int) else type(part)(*map(elsewhere, part))

    logits, new = model.to("meta").step(token.to("meta"), elsewhere(state))
    assert logits.device.type == "meta"
    assert logits.shape == (4, WORDS)
    assert new.weights.shape == (4, 6)
