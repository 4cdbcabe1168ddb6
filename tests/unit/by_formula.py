"""The Transformer as its paper writes it: plain formulas, on one sentence at a time.

Vaswani et al. 2017. Nothing here comes from the package but the weights, which are read
from its modules by name, so that both have the same.
"""

import math

import torch
from torch import nn


def layer_norm(x, norm):
    """Ba et al. 2016, number by number: x is (T, D)."""
    rows = []
    for row in x:
        mean = sum(row) / len(row)
        variance = sum((number - mean) ** 2 for number in row) / len(row)
        deviation = torch.sqrt(variance + norm.eps)
        rows.append(
            torch.stack(
                [
                    (number - mean) / deviation * gain + bias
                    for number, gain, bias in zip(
                        row, norm.weight, norm.bias, strict=True
                    )
                ]
            )
        )
    return torch.stack(rows)


def feed_forward(x, network):
    """Equation 2, place by place, with the matrices as the paper writes them."""
    w_1, b_1 = network.W_1.weight.T, network.W_1.bias  # (D, d_ff), (d_ff,)
    w_2, b_2 = network.W_2.weight.T, network.W_2.bias  # (d_ff, D), (D,)
    positions = []
    for row in x:
        inner = row @ w_1 + b_1
        positions.append(torch.where(inner > 0, inner, 0) @ w_2 + b_2)
    return torch.stack(positions)


def multi_head(x, memory, mha, mask=None, *, values=None, bias=None, turn=None):
    """Section 3.2.2, head after head; heads of a group have keys and values in common.

    x is (T, D), memory and values (S, D). The mask, (T, S) or (H, T, S), is True where
    a query may attend, the bias of the scores is shaped alike, and ``turn`` changes
    queries and keys, (T, d_k) and (S, d_k). With a QK-norm they are normed before.
    """
    values, turn = memory if values is None else values, turn or (lambda y: y)
    n, d_k, found = mha.n_heads, mha.d_model // mha.n_heads, []
    shape = n, len(x), len(memory)
    mask = torch.ones(shape).bool() if mask is None else mask.expand(shape)
    bias = torch.zeros(shape) if bias is None else bias.expand(shape)
    for h in range(n):
        group = h * mha.n_groups // n
        q = projected(x, mha.W_Q, slice(h * d_k, (h + 1) * d_k))
        shared = slice(group * d_k, (group + 1) * d_k)
        k = projected(memory, mha.W_K, shared)
        q, k = turn(rms_norm(q, mha.for_queries)), turn(rms_norm(k, mha.for_keys))
        v = projected(values, mha.W_V, shared)
        positions = []
        for i in range(len(x)):
            seen = mask[h, i]
            exps = torch.exp(k[seen] @ q[i] / math.sqrt(d_k) + bias[h, i][seen])
            positions.append(exps / exps.sum() @ v[seen])  # of no key: zeros
        found.append(torch.stack(positions))
    return projected(torch.cat(found, -1), mha.W_O)


def projected(x, linear, rows=slice(None)):
    """x W^T + b, with some rows of W and b."""
    bias = 0 if linear.bias is None else linear.bias[rows]
    return x @ linear.weight[rows].T + bias


def rms_norm(x, norm):
    """Zhang and Sennrich 2019, row by row; x as it is where there is no norm."""
    if isinstance(norm, nn.Identity):
        return x
    roots = [torch.sqrt(sum(row * row) / len(row) + norm.eps) for row in x]
    return torch.stack([row / r * norm.gain for row, r in zip(x, roots, strict=True)])


def residual(x, sublayer, norm, norm_first):
    """LayerNorm(x + Sublayer(x)), or x + Sublayer(LayerNorm(x))."""
    if norm_first:
        return x + sublayer(layer_norm(x, norm))
    return layer_norm(x + sublayer(x), norm)


def encoder_layer(x, layer, norm_first, mask=None):
    """Section 3.1, encoder: x is (S, D)."""
    x = residual(
        x,
        lambda y: multi_head(y, y, layer.attention, mask),
        layer.norm_1,
        norm_first,
    )
    return residual(
        x,
        lambda y: feed_forward(y, layer.feed_forward),
        layer.norm_2,
        norm_first,
    )


def decoder_layer(x, memory, layer, norm_first, mask=None):
    """Section 3.1, decoder: x is (T, D), memory (S, D), the mask (S,)."""
    causal = torch.ones(len(x), len(x)).tril().bool()
    x = residual(
        x,
        lambda y: multi_head(y, y, layer.self_attention, causal),
        layer.norm_1,
        norm_first,
    )
    x = residual(
        x,
        lambda y: multi_head(y, memory, layer.cross_attention, mask),
        layer.norm_2,
        norm_first,
    )
    return residual(
        x,
        lambda y: feed_forward(y, layer.feed_forward),
        layer.norm_3,
        norm_first,
    )


def embedded(ids, table):
    """Sections 3.4 and 3.5: rows of the table times √D, plus sine and cosine."""
    d, rows = table.shape[1], []
    for position, word in enumerate(ids.tolist()):
        code = []
        for i in range(d):
            angle = position / 10_000 ** (2 * (i // 2) / d)
            code.append(math.sin(angle) if i % 2 == 0 else math.cos(angle))
        rows.append(table[word] * math.sqrt(d) + torch.tensor(code, dtype=table.dtype))
    return torch.stack(rows)


def transformer(src, tgt_in, model, norm_first):
    """Logits, (T, V), of one sentence: src is (S,), tgt_in (T,), both without pads."""
    x = embedded(src, model.source_embedding.weight)
    for layer in model.encoder:
        x = encoder_layer(x, layer, norm_first)
    y = embedded(tgt_in, model.target_embedding.weight)
    x = layer_norm(x, model.encoder_norm) if norm_first else x
    for layer in model.decoder:
        y = decoder_layer(y, x, layer, norm_first)
    y = layer_norm(y, model.decoder_norm) if norm_first else y
    return y @ model.target_embedding.weight.T
