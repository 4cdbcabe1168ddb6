"""Scaled dot-product attention, with one head and with several: Vaswani et al. 2017."""

from __future__ import annotations

from torch import Tensor, nn

from attnbook.core.checks import check_sizes
from attnbook.nn.scaled_dot_product import attention, check_dropout


class MultiHeadAttention(nn.Module):
    r"""Several attentions side by side, each with views of its own: W^Q, W^K, W^V.

    Vaswani et al. 2017, section 3.2.2: :math:`\mathrm{Concat}(head_1, …, head_H) W^O`,
    :math:`head_i = \mathrm{Attention}(Q W_i^Q, K W_i^K, V W_i^V).` The matrices of all
    heads lie side by side in one, so that one product makes all queries.

    Args:
        d_model: Width D of what comes in and goes out.
        n_heads: Number H of heads, each D/H wide.
        bias: Whether the four maps add a vector. The paper's formula has none,
            ``nn.MultiheadAttention`` has.
        dropout: Share of the weights set to 0 in training. The paper names none here,
            ``nn.MultiheadAttention`` has it.

    Raises:
        ValueError: If D cannot be divided by H, or a size is not positive.
    """

    def __init__(
        self, d_model: int, n_heads: int, *, bias: bool = True, dropout: float = 0.0
    ):
        super().__init__()
        check_sizes(d_model=d_model, n_heads=n_heads)
        check_dropout(dropout)
        if d_model % n_heads:
            raise ValueError(
                f"d_model = {d_model} cannot be divided among {n_heads} heads; choose "
                f"a multiple, such as {n_heads * (d_model // n_heads + 1)}"
            )
        self.d_model, self.n_heads, self.dropout = d_model, n_heads, dropout
        self.W_Q = nn.Linear(d_model, d_model, bias)
        self.W_K = nn.Linear(d_model, d_model, bias)
        self.W_V = nn.Linear(d_model, d_model, bias)
        self.W_O = nn.Linear(d_model, d_model, bias)
        for linear in (self.W_Q, self.W_K, self.W_V, self.W_O):
            # Entries of variance 1/D: inputs of variance 1 give queries and keys of
            # variance 1, which is what the scale 1/√d_k assumes.
            nn.init.xavier_uniform_(linear.weight)
            if bias:
                nn.init.zeros_(linear.bias)

    def project(
        self, query: Tensor, key: Tensor, value: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Make each head's q, (B, H, T, d_k), k and v, (B, H, S, d_k)."""
        return self.queries(query), *self.keys_values(key, value)

    def queries(self, x: Tensor) -> Tensor:
        """Make each head's queries: (B, T, D) → (B, H, T, d_k)."""
        return split_heads(self.W_Q(x), self.n_heads)

    def keys_values(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """Make each head's keys and values: twice (B, S, D) → (B, H, S, d_k)."""
        return (
            split_heads(self.W_K(key), self.n_heads),
            split_heads(self.W_V(value), self.n_heads),
        )

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        mask: Tensor | None = None,
        *,
        score_bias: Tensor | None = None,
        need_weights: bool = False,
    ) -> Tensor | tuple[Tensor, Tensor]:
        """Attend from T places to S: three times the same tensor is self-attention.

        Args:
            query: (B, T, D).
            key: (B, S, D).
            value: (B, S, D).
            mask: bool, True where a query may attend; (T, S), or four axes that
                broadcast to (B, H, T, S). Two axes are never (B, S): for pads take
                :func:`~attnbook.nn.masks.key_mask`.
            score_bias: Finite numbers to add to the scaled scores; shapes as for
                the mask.
            need_weights: Whether to return the weights too.

        Returns:
            (B, T, D); with ``need_weights`` also the weights of each head before
            dropout, (B, H, T, S).

        Raises:
            ValueError: If a shape or a type does not fit.
        """
        self._check(query, key, value, mask, score_bias)
        q, k, v = self.project(query, key, value)
        return self.attend(
            q, k, v, mask, score_bias=score_bias, need_weights=need_weights
        )

    def attend(
        self,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        mask: Tensor | None = None,
        *,
        score_bias: Tensor | None = None,
        need_weights: bool = False,
    ) -> Tensor | tuple[Tensor, Tensor]:
        """Attend with the heads' q, k and v, and mix what the heads found.

        The second half of ``forward``, for callers that have kept keys and values.
        """
        out = attention(
            q,
            k,
            v,
            mask,
            score_bias=score_bias,
            dropout=self.dropout if self.training else 0.0,
            need_weights=need_weights,
        )
        if not need_weights:
            return self.W_O(merge_heads(out))
        heads, weights = out  # (B, H, T, d_k), (B, H, T, S)
        return self.W_O(merge_heads(heads)), weights

    def _check(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        mask: Tensor | None = None,
        score_bias: Tensor | None = None,
    ) -> None:
        for name, x in (("query", query), ("key", key), ("value", value)):
            if x.dim() != 3 or x.shape[-1] != self.d_model:
                raise ValueError(
                    f"{name} has shape {tuple(x.shape)}; it must be (B, "
                    f"{'T' if name == 'query' else 'S'}, {self.d_model}), batch first"
                )
        if not len(query) == len(key) == len(value):
            raise ValueError(
                f"query, key and value have {len(query)}, {len(key)} and {len(value)} "
                "sentences; row i of each must belong together"
            )
        # With B = H both readings would fit, and the wrong one would go unnoticed.
        for name, x in (("mask", mask), ("score_bias", score_bias)):
            if x is not None and x.dim() == 3:
                raise ValueError(
                    f"{name} has shape {tuple(x.shape)}: is its first axis B or H? "
                    f"{name}[:, None] says one for each sentence, {name}[None] for "
                    "each head"
                )

    @classmethod
    def from_torch(cls, theirs: nn.MultiheadAttention) -> MultiHeadAttention:
        """Make one with the weights of PyTorch's, so that both give the same.

        Args:
            theirs: Any ``nn.MultiheadAttention`` that does what the paper says: its
                keys and values are as wide as its queries, none is added.

        Returns:
            A copy; also of its type, device, dropout and mode (train or eval). It takes
            the batch first, whatever ``theirs.batch_first`` says.

        Raises:
            ValueError: If it has ``kdim``, ``vdim``, ``add_bias_kv`` or
                ``add_zero_attn``, or a subclass is asked for that knows positions.
        """
        if cls is not MultiHeadAttention:
            raise ValueError(
                f"{cls.__name__} knows positions, nn.MultiheadAttention does not; call "
                "MultiHeadAttention.from_torch"
            )
        weight = theirs.in_proj_weight  # (3 D, D): W^Q, W^K and W^V below each other
        if weight is None or theirs.bias_k is not None or theirs.add_zero_attn:
            raise ValueError(
                "this nn.MultiheadAttention has kdim, vdim, add_bias_kv or "
                "add_zero_attn, which the paper does not know; make one without"
            )
        stacked = {"weight": weight}
        if theirs.in_proj_bias is not None:
            stacked["bias"] = theirs.in_proj_bias  # (3 D,)
        state = theirs.out_proj.state_dict(prefix="W_O.")
        for name, rows in stacked.items():
            for linear, part in zip(("W_Q", "W_K", "W_V"), rows.chunk(3), strict=True):
                state[f"{linear}.{name}"] = part
        sizes = theirs.embed_dim, theirs.num_heads
        ours = cls(*sizes, bias="bias" in stacked, dropout=theirs.dropout).to(weight)
        ours.load_state_dict(state)
        return ours.train(theirs.training)


def split_heads(x: Tensor, n_heads: int) -> Tensor:
    """Cut the D numbers of each place into H parts: (B, T, D) → (B, H, T, d_k).

    ``view`` cuts the last axis alone; ``transpose`` then brings the heads to the front.
    A ``view`` straight to (B, H, T, d_k) would deal out places, not numbers.
    """
    b, t, d = x.shape
    return x.view(b, t, n_heads, d // n_heads).transpose(1, 2)  # (B, H, T, d_k)


def merge_heads(heads: Tensor) -> Tensor:
    """Lay the heads' parts side by side again: (B, H, T, d_k) → (B, T, D)."""
    return heads.transpose(1, 2).flatten(2)  # (B, T, H, d_k) → (B, T, D)
