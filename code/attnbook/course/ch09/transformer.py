"""A Transformer in one file, with a language to translate. It needs PyTorch alone."""

import math
import random

import torch
from torch import nn

PAD, BOS, EOS = 0, 1, 2  # fills up a batch, begins a target, ends a sentence


class MultiHeadAttention(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.h = h  # heads, each with d/h of the features
        self.W_Q, self.W_K, self.W_V, self.W_O = (nn.Linear(d, d) for _ in range(4))

    def forward(self, x, memory, mask):  # (B, T, D), (B, S, D), True: may attend
        q, k, v = self.W_Q(x), self.W_K(memory), self.W_V(memory)
        q, k, v = (y.unflatten(-1, (self.h, -1)).transpose(1, 2) for y in (q, k, v))
        scores = q @ k.mT / math.sqrt(q.shape[-1])  # (B, H, T, d_k) → (B, H, T, S)
        weights = scores.masked_fill(~mask, -math.inf).softmax(-1)
        return self.W_O((weights @ v).transpose(1, 2).flatten(2))  # (B, T, D)


class Layer(nn.Module):  # of the encoder; with cross-attention, of the decoder
    def __init__(self, d, h, d_ff, dropout, cross):
        super().__init__()
        self.attention = MultiHeadAttention(d, h)
        self.cross = MultiHeadAttention(d, h) if cross else None
        self.network = nn.Sequential(nn.Linear(d, d_ff), nn.ReLU(), nn.Linear(d_ff, d))
        self.norms = nn.ModuleList(nn.LayerNorm(d) for _ in range(2 + cross))
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, mask, memory=None, memory_mask=None):
        y = self.norms[0](x)  # pre-norm: a sublayer reads a normalised copy
        x = x + self.dropout(self.attention(y, y, mask))
        if self.cross:
            x = x + self.dropout(self.cross(self.norms[1](x), memory, memory_mask))
        return x + self.dropout(self.network(self.norms[-1](x)))  # (B, T, D)


class Transformer(nn.Module):
    def __init__(self, v_src, v_tgt, d=64, h=4, n_layers=2, d_ff=256, dropout=0.0):
        super().__init__()
        self.source_embedding = nn.Embedding(v_src, d)
        self.target_embedding = nn.Embedding(v_tgt, d)  # and output layer
        for table in (self.source_embedding, self.target_embedding):
            nn.init.normal_(table.weight, std=d**-0.5)
        sizes, n = (d, h, d_ff, dropout), n_layers
        self.encoder = nn.ModuleList(Layer(*sizes, cross=False) for _ in range(n))
        self.decoder = nn.ModuleList(Layer(*sizes, cross=True) for _ in range(n))
        self.encoder_norm, self.decoder_norm = nn.LayerNorm(d), nn.LayerNorm(d)
        self.dropout = nn.Dropout(dropout)

    def embed(self, ids, table):  # (B, T) → (B, T, D)
        d, positions = table.embedding_dim, torch.arange(ids.shape[1])[:, None]
        angles = positions / 10_000 ** (torch.arange(0, d, 2).double() / d)  # (T, D/2)
        waves = torch.stack([angles.sin(), angles.cos()], -1).flatten(1)  # (T, D)
        return self.dropout(table(ids) * math.sqrt(d) + waves.to(table.weight))

    def encode(self, src):  # (B, S) → the memory, (B, S, D)
        x = self.embed(src, self.source_embedding)
        for layer in self.encoder:
            x = layer(x, (src != PAD)[:, None, None])  # the mask: (B, 1, 1, S)
        return self.encoder_norm(x)

    def decode(self, tgt_in, memory, src):  # (B, T), (B, S, D), (B, S) → (B, T, V)
        causal = tgt_in.new_ones(2 * tgt_in.shape[1:]).tril() > 0  # 2 · (T,): (T, T)
        mask = causal & (tgt_in != PAD)[:, None, None]  # (B, 1, T, T)
        y = self.embed(tgt_in, self.target_embedding)
        for layer in self.decoder:
            y = layer(y, mask, memory, (src != PAD)[:, None, None])
        return self.decoder_norm(y) @ self.target_embedding.weight.T

    def forward(self, src, tgt_in):  # (B, S), (B, T) → logits, (B, T, V)
        return self.decode(tgt_in, self.encode(src), src)


# The toy language: noun, adjective, determiner, all ending alike; the verb comes last.
NOUNS = "farmer horse king robot baker cat bird dog wizard child queen sailor".split()
FOLK = "maron kavon tulan gemin fadun nikan lipas bodus zoris pekes selas rumis".split()
VERBS = "sees helps paints chases hears follows greets finds".split()
DEEDS = "mirat yudet pelot harut ozit sevat lomet tekut".split()
ADJECTIVES = {"old": "veli", "big": "gura", "young": "bora", "small": "pini"}
ADJECTIVES |= {"kind": "sola", "brave": "daku"}
STEMS = {"the": "ke", "a": "do", "an": "do", "this": "ha", **ADJECTIVES}
ENDED = sorted({stem + ending for stem in STEMS.values() for ending in "ns"})
SOURCE = ["<pad>", "<bos>", "<eos>", "and", *STEMS, *NOUNS, *VERBS]
TARGET = ["<pad>", "<bos>", "<eos>", "ul", *ENDED, *FOLK, *DEEDS]


def phrase(rng):  # and its translation
    name, adjective = rng.choice(FOLK), rng.choice([None, *ADJECTIVES])
    determiner = rng.choice(["the", "an" if adjective == "old" else "a", "this"])
    words = [determiner, adjective] if adjective else [determiner]
    ended = [STEMS[word] + name[-1] for word in reversed(words)]
    return [*words, NOUNS[FOLK.index(name)]], [name, *ended]


def batch(rng, clauses, size=64):  # ids of sentences, and of their translations
    sources, targets = [[] for _ in range(size)], [[] for _ in range(size)]
    for source, target in [*zip(sources, targets, strict=True)] * clauses:  # they grow
        one, two, verb = phrase(rng), phrase(rng), rng.randrange(8)
        source += [*(["and"] if source else []), *one[0], VERBS[verb], *two[0]]
        target += [*(["ul"] if target else []), *one[1], *two[1], DEEDS[verb]]
    return tensor(sources, SOURCE), tensor(targets, TARGET)


def tensor(sentences, words):  # (B, T), padded on the right
    ids = [torch.tensor([words.index(w) for w in [*s, "<eos>"]]) for s in sentences]
    return nn.utils.rnn.pad_sequence(ids, batch_first=True)


def train(model, steps, learning_rate=4e-3):
    rng, optimizer = random.Random(0), torch.optim.Adam(model.parameters())
    for step in range(steps):
        src, tgt = batch(rng, clauses=rng.randint(1, 4))
        tgt_in = nn.functional.pad(tgt[:, :-1], (1, 0), value=BOS)  # teacher forcing
        loss = nn.functional.cross_entropy(model(src, tgt_in).mT, tgt, ignore_index=PAD)
        optimizer.param_groups[0]["lr"] = learning_rate * (1 - step / steps)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if step % 100 == 0:
            print(f"step {step}: loss {loss.item():.3f} nats per word")


@torch.no_grad()
def greedy(model, src, max_len=40):  # (B, S) → ids, (B, up to max_len)
    memory, ids = model.encode(src), torch.full_like(src[:, :1], BOS)
    while ids.shape[1] <= max_len and not (ended := (ids == EOS).any(1)).all():
        word = model.decode(ids, memory, src)[:, -1].argmax(-1)  # (B,)
        ids = torch.cat([ids, word.where(~ended, PAD)[:, None]], 1)
    return ids[:, 1:]


if __name__ == "__main__":  # python transformer.py
    torch.manual_seed(0)
    model = Transformer(len(SOURCE), len(TARGET))
    train(model, steps=500)
    for clauses in (1, 2, 3, 4):
        src, tgt = batch(random.Random(1), clauses, 200)
        found = nn.functional.pad(greedy(model.eval(), src), (0, 40))[:, : tgt.shape[1]]
        print(f"clauses {clauses}: {(found == tgt).all(1).sum()} of 200 new ones exact")
    text = "the old farmer sees a bird"
    ids = greedy(model, tensor([text.split()], SOURCE))[0]
    print(text, "→", *(TARGET[i] for i in ids if i != EOS))
