"""What holds for the models with attention over a recurrent encoder."""

from attnbook.models.bahdanau import Bahdanau
from attnbook.models.luong import Luong
from attnbook.models.seq2seq import InitialState, StaticContext
from attnbook.nn.scores import AdditiveScore

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
