"""What does True mean in a mask argument? Found by tests; documentation is not trusted.

Four positions attend to each other, the mask has one value at one of them and another
value elsewhere, and the leak test finds the positions that the first one reads.
"""

from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from attnbook.analysis.leaks import influence
from attnbook.nn.scaled_dot_product import attention

Attend = Callable[[Tensor, list], Tensor]
"""Maps inputs, (S, D), and S mask values, equal for all queries, to the output of
position 0, (D,)."""

D = 8
SHARED = torch.tensor([1.0, 1, -1, -1, 0, 0, 0, 0])  # half of positions 1 and 2
X = torch.stack(
    [
        torch.tensor([1.0, -1, 1, -1, 1, -1, 1, -1]),
        SHARED + torch.tensor([0.0, 0, 0, 0, 1, 1, -1, -1]),
        SHARED - torch.tensor([0.0, 0, 0, 0, 1, 1, -1, -1]),
        torch.tensor([1.0, -1, -1, 1, -1, -1, 1, 1]),
    ]
)  # (S, D) = (4, 8): the inputs. All rows have mean 0 and variance 1, which layer norm
# does not change.
OTHER = X.clone()
OTHER[1] = SHARED + torch.tensor([0.0, 0, 0, 0, 1, -1, 1, -1])
OTHER[2] = SHARED - torch.tensor([0.0, 0, 0, 0, 1, -1, 1, -1])
# Other vectors at positions 1 and 2, with the same sum: under equal weights the output
# is the same.
ODD = 2  # the position with the other mask value
FAST = "… with eval() and no_grad()"  # another way through PyTorch's own code
TOLERANCE = 1e-4  # a change up to this is rounding


class MaskArgument(NamedTuple):
    """A mask argument of a library, and how to test it."""

    library: str  # its name for pip
    call: str
    argument: str
    values: tuple  # the two mask values to test
    attend: Callable[[Tensor, list], Tensor]


def find_convention(tested: MaskArgument) -> dict[str, str]:
    """Find out which mask value lets a query attend and which one hides a key."""
    one, other = tested.values
    values = [one] * len(X)
    values[ODD] = other
    seen = positions_read(tested.attend, values)
    if seen == {1, 2, 3}:
        attend, hidden, empty = "both", "neither", ""
    elif seen in ({1, 3}, {ODD}):
        attend, hidden = (one, other) if seen == {1, 3} else (other, one)
        open_row = [attend] * len(X)
        if same(tested.attend(X, open_row), tested.attend(OTHER, open_row)):
            raise ValueError(
                f"{tested.call}: with nothing hidden all weights are equal"
            )
        empty = fully_masked_output(tested.attend, attend, hidden)
    else:
        raise ValueError(
            f"{tested.call}, {tested.argument}: with {other} at position {ODD} and "
            f"{one} elsewhere, position 0 reads {sorted(seen)}; that is no mask"
        )
    return {
        "library": tested.library,
        "version": getattr(import_module(tested.library), "__version__", ""),
        "call": tested.call,
        "argument": tested.argument,
        "attend": sign(attend),
        "hidden": sign(hidden),
        "empty": empty,
    }


def positions_read(attend: Attend, values: list) -> set[int]:
    """The positions that the output of position 0 depends on, except itself."""
    model = partial(_batched, attend, values)
    changed = influence(model, X[None], -X[None])[0] > TOLERANCE  # (S,)
    return {j for j in range(1, len(X)) if changed[j]}


def same(one: Tensor, other: Tensor) -> bool:
    """Whether two outputs differ by rounding only."""
    return bool((one - other).abs().max() <= TOLERANCE)


def fully_masked_output(attend: Attend, open_: object, hidden: object) -> str:
    """The output for a query of which every key is hidden."""
    output = attend(X, [hidden] * len(X))
    if output.isnan().any():
        return "NaN"
    seen = positions_read(attend, [hidden] * len(X))
    itself = attend(X, [open_, *[hidden] * (len(X) - 1)])
    if not seen and not same(output, itself):
        return "zeros"
    if seen == {1, 2, 3} and same(output, attend(OTHER, [hidden] * len(X))):
        return "the mean"
    raise ValueError(f"with all hidden, position 0 reads {sorted(seen) or 'itself'}")


def sign(value: object) -> str:
    """A mask value as it is printed: True, 1, 0.0, −inf."""
    return str(value).replace("-", "−")


def _batched(attend: Attend, values: list, x: Tensor) -> Tensor:
    """(1, S, D) → (1, 1, D), as the leak test expects."""
    return attend(x[0], values)[None, None]


def square(values: Sequence) -> Tensor:
    """A mask, (T, S), with these values for every query."""
    return torch.tensor([values] * len(values))


def torch_arguments() -> list[MaskArgument]:
    """Those of this package and of PyTorch; the page tests them live."""
    sdpa = "F.scaled_dot_product_attention"
    bools, floats = (True, False), (0.0, -torch.inf)
    return [
        MaskArgument("attnbook", "attention", "mask", bools, _ours),
        MaskArgument("torch", sdpa, "attn_mask, bool", bools, _sdpa),
        MaskArgument("torch", sdpa, "attn_mask, float", floats, _sdpa),
        MaskArgument("torch", sdpa, "attn_mask, 1.0 and 0.0", (1.0, 0.0), _sdpa),
        *_multi_head_arguments(bools, floats),
        *_encoder_arguments(bools),
    ]


def _multi_head_arguments(bools: tuple, floats: tuple) -> list[MaskArgument]:
    call, padding = "nn.MultiheadAttention", "key_padding_mask"
    lean = _multi_head(padding, need_weights=False)
    fast = _multi_head(padding, need_weights=False, train=False)
    attend = _multi_head("attn_mask")
    triangle = "generate_square_subsequent_mask"  # of nn.Transformer, passed here
    row = tuple(nn.Transformer.generate_square_subsequent_mask(2)[0].tolist())
    return [
        MaskArgument("torch", call, "attn_mask, bool", bools, attend),
        MaskArgument("torch", call, "attn_mask, float", floats, attend),
        MaskArgument("torch", call, triangle, row, attend),
        MaskArgument("torch", call, padding, bools, _multi_head(padding)),
        MaskArgument("torch", call, "… need_weights=False", bools, lean),
        MaskArgument("torch", call, FAST, bools, fast),
    ]


def _encoder_arguments(bools: tuple) -> list[MaskArgument]:
    call, padding = "nn.TransformerEncoderLayer", "src_key_padding_mask"
    fast = _encoder_layer(padding, train=False)
    return [
        MaskArgument("torch", call, "src_mask", bools, _encoder_layer("src_mask")),
        MaskArgument("torch", call, padding, bools, _encoder_layer(padding)),
        MaskArgument("torch", call, FAST, bools, fast),
    ]


def _ours(x: Tensor, values: list) -> Tensor:
    return attention(x, x, x, square(values))[0]


def _sdpa(x: Tensor, values: list) -> Tensor:
    return F.scaled_dot_product_attention(x, x, x, attn_mask=square(values))[0]


def _mask_for(argument: str, values: list) -> Tensor:
    """A mask of keys, (B, S), or of queries and keys, (T, S)."""
    padding = argument.endswith("key_padding_mask")
    return torch.tensor([values]) if padding else square(values)


def _multi_head(
    argument: str, *, train: bool = True, need_weights: bool = True
) -> Attend:
    theirs = seeded(nn.MultiheadAttention, D, 2, batch_first=True).train(train)

    @torch.no_grad()
    def attend(x: Tensor, values: list) -> Tensor:
        x = x[None]  # one tensor three times: only then is the fast path taken
        mask = {argument: _mask_for(argument, values)}
        return theirs(x, x, x, need_weights=need_weights, **mask)[0][0, 0]

    return attend


def _encoder_layer(argument: str, *, train: bool = True) -> Attend:
    layer = seeded(nn.TransformerEncoderLayer, D, 2, D, 0.0, batch_first=True)
    layer.train(train)

    @torch.no_grad()
    def attend(x: Tensor, values: list) -> Tensor:
        return layer(x[None], **{argument: _mask_for(argument, values)})[0, 0]

    return attend


def seeded(make: Callable[..., nn.Module], *arguments, **named) -> nn.Module:
    """Create a module with fixed weights; the global random state is not changed."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return make(*arguments, **named)
