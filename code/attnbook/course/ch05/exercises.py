"""Exercises of chapter 5."""

from torch import Tensor

from attnbook.course.kit.exercises.short_exercises import draw_inputs, exercise
from attnbook.nn.multi_head import merge_heads, split_heads
from attnbook.nn.scaled_dot_product import attention


@exercise(
    lambda: draw_inputs(
        (*3 * [(2, 5, 8)], 2), (*3 * [(1, 4, 4)], 4), (*3 * [(2, 3, 6)], 1)
    )
)
def ex5_find_the_bug(q: Tensor, k: Tensor, v: Tensor, n_heads: int) -> Tensor:
    """Write down the shape of the scores. Which two axes should they have last?

    split_heads(x, n_heads) => x.unflatten(-1, (n_heads, -1))
    merge_heads(heads) => heads.flatten(2)
        That is the function as it was. Its scores are (B, T, H, H): the heads of one
        position attend to each other, and no position to another.
    merge_heads(heads) => heads.reshape(len(heads), heads.shape[2], -1)
        The split is right; but before you concatenate the heads, they must go back
        behind the positions.
    split_heads(x, n_heads) => x
    merge_heads(heads) => heads
        That is one head of full width.
    """
    q, k, v = (split_heads(x, n_heads) for x in (q, k, v))
    heads = attention(q, k, v)
    return merge_heads(heads)


@exercise(
    lambda: draw_inputs(
        ((2, 4, 3, 5), (2, 2, 6, 5), (2, 2, 6, 5)),
        ((1, 6, 2, 4), (1, 3, 5, 4), (1, 3, 5, 4)),
        ((1, 3, 2, 4), (1, 3, 4, 4), (1, 3, 4, 4)),
        ((2, 4, 3, 2), (2, 1, 3, 2), (2, 1, 3, 2)),
    )
)
def ex5_grouped(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Give each head its set first: k and v must become (B, H, S, d_k).

    x.repeat_interleave(share, dim=1) => x.repeat(1, share, 1, 1)
        The shapes fit, but `repeat` gives neighbouring heads different sets. Which
        function repeats each entry in a row?
    x.repeat_interleave(share, dim=1) => x[:, :1].expand(-1, q.shape[1], -1, -1)
        All your heads read the first set. Each group has its own.
    x.repeat_interleave(share, dim=1) => x
    attention(q, => attention(q.unflatten(1, (-1, share)).mean(2),
        There are H outputs, not G: the heads of a group keep their own queries.
    """
    share = q.shape[1] // k.shape[1]
    k, v = (x.repeat_interleave(share, dim=1) for x in (k, v))
    return attention(q, k, v)
