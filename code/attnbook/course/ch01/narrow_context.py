"""A static context no wider than the initial state: the control of chapter 1.

:class:`~attnbook.models.seq2seq.InitialState` reaches the source through H numbers,
:class:`~attnbook.models.seq2seq.StaticContext` through the encoder's 2 H. Here both
channels have the same H numbers, and differ only in how often the decoder reads them.
"""

from torch import Tensor, nn

from attnbook.models.seq2seq import Readout, StaticContext, StaticState


class NarrowContext(StaticContext):
    """A static context that is the decoder's initial state: s_0, at every step.

    Its arguments are those of ``StaticContext``, but the context is only H wide.
    """

    def __init__(
        self,
        source_vocab_size: int,
        target_vocab_size: int,
        d_embed: int = 32,
        d_hidden: int = 64,
    ):
        super().__init__(source_vocab_size, target_vocab_size, d_embed, d_hidden)
        self.gru = nn.GRU(d_embed + d_hidden, d_hidden, batch_first=True)
        self.readout = Readout(2 * d_hidden + d_embed, d_hidden, target_vocab_size)

    def start(self, src: Tensor) -> StaticState:
        """Encode the source, (B, S): the initial state is the context, too."""
        s = super().start(src).s  # (B, H)
        return StaticState(s, s)
