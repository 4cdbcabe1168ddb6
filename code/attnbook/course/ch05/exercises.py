"""Exercises of chapter 5."""

from torch import Tensor

from attnbook.course.kit.exercises.checking import draw_inputs, register, wrong
from attnbook.nn.multi_head import merge_heads, split_heads
from attnbook.nn.scaled_dot_product import attention


def _heads_attend(q: Tensor, k: Tensor, v: Tensor, n_heads: int) -> Tensor:
    """The function of the page: attention among the heads of one position."""
    b, t, d = q.shape
    q, k, v = (x.view(b, t, n_heads, d // n_heads) for x in (q, k, v))
    return attention(q, k, v).reshape(b, t, d)


def _attend(q: Tensor, k: Tensor, v: Tensor, n_heads: int) -> Tensor:
    return merge_heads(attention(*(split_heads(x, n_heads) for x in (q, k, v))))


register(
    "ex5_find_the_bug",
    reference=_attend,
    inputs=lambda: draw_inputs(
        (*3 * [(2, 5, 8)], 2), (*3 * [(1, 4, 4)], 4), (*3 * [(2, 3, 6)], 1)
    ),
    hint="Write down the shape of the scores. Which two axes should they have last?",
    mistakes=wrong(
        _heads_attend,
        (
            "That is the function as it was. Its scores are (B, T, H, H): the heads of "
            "one position attend to each other, and no position to another."
        ),
        lambda q, k, v, h: attention(*(split_heads(x, h) for x in (q, k, v))).reshape(
            q.shape
        ),
        (
            "The split is right; but before you concatenate the heads, they must go "
            "back behind the positions."
        ),
        lambda q, k, v, h: attention(q, k, v),
        "That is one head of full width.",
    ),
)


def _grouped(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    share = q.shape[1] // k.shape[1]
    k, v = (x.repeat_interleave(share, dim=1) for x in (k, v))
    return attention(q, k, v)


def _by_repeat(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Heads G apart share a set, not neighbours."""
    share = q.shape[1] // k.shape[1]
    k, v = (x.repeat(1, share, 1, 1) for x in (k, v))
    return attention(q, k, v)


def _one_set(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Multi-query attention: the first set for all heads."""
    k, v = (x[:, :1].expand(-1, q.shape[1], -1, -1) for x in (k, v))
    return attention(q, k, v)


def _averaged(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """One output per set: queries averaged over the group."""
    return attention(q.unflatten(1, (k.shape[1], -1)).mean(2), k, v)


register(
    "ex5_grouped",
    reference=_grouped,
    inputs=lambda: draw_inputs(
        ((2, 4, 3, 5), (2, 2, 6, 5), (2, 2, 6, 5)),
        ((1, 6, 2, 4), (1, 3, 5, 4), (1, 3, 5, 4)),
        ((1, 3, 2, 4), (1, 3, 4, 4), (1, 3, 4, 4)),
        ((2, 4, 3, 2), (2, 1, 3, 2), (2, 1, 3, 2)),
    ),
    hint="Give each head its set first: k and v must become (B, H, S, d_k).",
    mistakes=wrong(
        _by_repeat,
        (
            "The shapes fit, but `repeat` gives neighbouring heads different sets. "
            "Which function repeats each entry in a row?"
        ),
        _one_set,
        "All your heads read the first set. Each group has its own.",
        _averaged,
        "There are H outputs, not G: the heads of a group keep their own queries.",
    ),
)
