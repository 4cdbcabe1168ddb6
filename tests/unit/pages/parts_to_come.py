"""Skeletons and solutions of the parts that no chapter asks for yet.

Chapters 9 and 12 take them over, as their exercises "Write it yourself"; what a
chapter has is deleted here.
"""

TRANSFORMER = (
    '''\
import torch
from torch import nn

from attnbook.pages import judge, my_part, save_part

sinusoids, PositionalEncoding = my_part("positions")
key_mask, causal_mask, target_mask = my_part("masks")
EncoderLayer, DecoderLayer = my_part("EncoderLayer"), my_part("DecoderLayer")


class Transformer(nn.Module):
    def __init__(self, config):
        super().__init__()
        # source_embedding, target_embedding, positions, dropout,
        # encoder, decoder, encoder_norm, decoder_norm
        ...

    def encode(self, src, mask):
        """(B, S), (B, 1, 1, S) → (B, S, D)."""
        ...

    def decode(self, tgt_in, memory, memory_mask):
        """(B, T), (B, S, D), (B, 1, 1, S) → logits, (B, T, V)."""
        ...

    def forward(self, src, tgt_in):
        """(B, S), (B, T) → logits, (B, T, V)."""
        ...

    def start(self, src):
        """(B, S) → the state before the first token, of any form."""
        ...

    def step(self, token, state):
        """(B,), state → logits of the next token, (B, V), and the new state."""
        ...


judge("Transformer", Transformer)
# When all stages pass: save_part("Transformer", Transformer)
''',
    """\
class Transformer(nn.Module):
    def __init__(self, config):
        super().__init__()
        d_model, n_layers = config.d_model, config.n_layers
        self.source_embedding = nn.Embedding(config.source_vocab_size, d_model)
        self.target_embedding = self.source_embedding
        if config.target_vocab_size is not None:
            self.target_embedding = nn.Embedding(config.target_vocab_size, d_model)
        for embedding in (self.source_embedding, self.target_embedding):
            nn.init.normal_(embedding.weight, std=d_model**-0.5)
        self.positions = PositionalEncoding(d_model)
        self.dropout = nn.Dropout(config.dropout)
        self.encoder = nn.ModuleList(EncoderLayer(config) for _ in range(n_layers))
        self.decoder = nn.ModuleList(DecoderLayer(config) for _ in range(n_layers))
        norm = nn.LayerNorm if config.norm_first else nn.Identity
        self.encoder_norm, self.decoder_norm = norm(d_model), norm(d_model)

    def embed(self, embedding, ids):
        x = embedding(ids) * embedding.embedding_dim**0.5  # (B, T, D)
        return self.dropout(self.positions(x))

    def encode(self, src, mask):
        x = self.embed(self.source_embedding, src)  # (B, S, D)
        for layer in self.encoder:
            x = layer(x, mask)
        return self.encoder_norm(x)

    def decode(self, tgt_in, memory, memory_mask):
        y = self.embed(self.target_embedding, tgt_in)  # (B, T, D)
        mask = target_mask(tgt_in)  # (B, 1, T, T)
        for layer in self.decoder:
            y = layer(y, memory, mask, memory_mask)
        return self.decoder_norm(y) @ self.target_embedding.weight.T  # (B, T, V)

    def forward(self, src, tgt_in):
        mask = key_mask(src)  # (B, 1, 1, S)
        return self.decode(tgt_in, self.encode(src, mask), mask)

    def start(self, src):
        mask = key_mask(src)
        return self.encode(src, mask), mask, src[:, :0]  # no token yet

    def step(self, token, state):
        memory, mask, before = state
        ids = torch.cat([before, token[:, None]], 1)  # (B, T)
        return self.decode(ids, memory, mask)[:, -1], (memory, mask, ids)


judge("Transformer", Transformer)
""",
)

TRAINING = (
    '''\
import torch
from torch import nn

from attnbook.pages import judge, save_part

PAD = 0


def label_smoothing_loss(logits, targets, smoothing=0.1):
    """(B, T, V), (B, T) → the loss of each token, (B, T); 0 at padding."""
    ...


def train_step(model, optimizer, batch, loss, clip=1.0):
    """One update; returns the loss before it, a scalar.

    `batch` holds the model's inputs and last the targets; `loss` makes a scalar from
    logits and targets; `clip` is the greatest norm of the gradient.
    """
    ...


judge("training", label_smoothing_loss, train_step)
# When all stages pass: save_part("training", label_smoothing_loss, train_step)
''',
    """\
def label_smoothing_loss(logits, targets, smoothing=0.1):
    log_p = logits.log_softmax(-1)  # (B, T, V)
    of_targets = log_p.gather(-1, targets[..., None]).squeeze(-1)  # (B, T)
    loss = -(1 - smoothing) * of_targets - smoothing * log_p.mean(-1)
    return loss.masked_fill(targets == PAD, 0.0)


def train_step(model, optimizer, batch, loss, clip=1.0):
    *inputs, targets = batch
    value = loss(model(*inputs), targets)
    optimizer.zero_grad()
    value.backward()
    nn.utils.clip_grad_norm_(model.parameters(), clip)
    optimizer.step()
    return value.detach()


judge("training", label_smoothing_loss, train_step)
""",
)

TO_COME = {
    "Transformer": TRANSFORMER,
    "training": TRAINING,
}
"""For each part that has no exercise yet: the skeleton and the solution, as cells."""
