"""Say in plain words where two results first differ."""

import inspect
import math
from numbers import Real
from typing import Any

import torch
from torch import Tensor

TOLERANCE = 1e-4
"""Numbers closer than this, absolutely or relatively, count as equal; to a whole number
only absolutely."""


def first_difference(got: Any, wanted: Any) -> str:
    """Say where a result first differs from the one wanted; empty if nowhere.

    Numbers may differ by rounding, a list may stand for a tuple, and a tensor without
    dimensions for a number.
    """
    return _difference(got, wanted, "")


def _difference(got: Any, wanted: Any, place: str) -> str:
    where = f"at {place} " if place else ""
    got, wanted = _plain(got), _plain(wanted)
    if isinstance(wanted, Tensor) and isinstance(got, Tensor):
        return _tensors(got, wanted, where)
    if isinstance(wanted, list | tuple) and isinstance(got, list | tuple):
        return _lists(got, wanted, place)
    if isinstance(wanted, int) and _is_number(wanted) and _is_number(got):
        same = abs(got - wanted) <= TOLERANCE  # relative to a large count, 1e-4 is much
    elif _is_number(wanted) and _is_number(got):
        same = math.isclose(got, wanted, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
        same = same or (math.isnan(got) and math.isnan(wanted))
    else:
        same = type(got) is type(wanted) and got == wanted
    return "" if same else _sentence(where, got, wanted)


def _tensors(got: Tensor, wanted: Tensor, where: str) -> str:
    if got.shape != wanted.shape:
        return f"{where}got the shape {_shape(got)}, expected {_shape(wanted)}."
    if got.is_floating_point() != wanted.is_floating_point() or (
        (got.dtype == torch.bool) != (wanted.dtype == torch.bool)
    ):
        return f"{where}got the type {got.dtype}, expected {wanted.dtype}."
    rtol = TOLERANCE if wanted.is_floating_point() else 0
    pair = got.detach().double(), wanted.detach().double()
    close = torch.isclose(*pair, rtol=rtol, atol=TOLERANCE, equal_nan=True)
    if close.all():
        return ""
    index = (~close).nonzero()[0].tolist()
    mine, right = (x[tuple(index)].item() for x in (got, wanted))
    return _sentence(f"{where}at {index} ", mine, right)


def _lists(got: list | tuple, wanted: list | tuple, place: str) -> str:
    where = f"at {place} " if place else ""
    if len(got) != len(wanted):
        return f"{where}got a list of {len(got)}, expected one of {len(wanted)}."
    for number, (mine, right) in enumerate(zip(got, wanted, strict=True)):
        difference = _difference(mine, right, f"{place}[{number}]")
        if difference:
            return difference
    return ""


def describe(value: Any) -> str:
    """A value in a few words: short ones in full, large tensors by their shape."""
    if isinstance(value, Tensor):
        if value.dim() == 1 and len(value) <= 8:
            return f"tensor([{', '.join(map(describe, value.tolist()))}])"
        return f"a tensor of shape {_shape(value)}"
    if isinstance(value, list | tuple):
        open_, close = "[]" if isinstance(value, list) else "()"
        return f"{open_}{', '.join(map(describe, value))}{close}"
    if isinstance(value, dict):
        entries = (f"{describe(key)}: {describe(x)}" for key, x in value.items())
        return f"{{{', '.join(entries)}}}"
    if isinstance(value, float):
        return f"{value:.5g}"
    if isinstance(value, str | int | None):
        return repr(value)
    if inspect.isroutine(value):
        return f"the function {value.__name__}"
    return f"an object of type {type(value).__name__}"


def kind_of(value: Any) -> str:
    """What sort of thing a value is, without telling the value."""
    value = _plain(value)
    if isinstance(value, bool):
        return "True or False"
    if _is_number(value):
        return "a number"
    if isinstance(value, str):
        return "a string"
    if isinstance(value, list | tuple):
        return f"a list of {len(value)}"
    if isinstance(value, Tensor):
        return f"a tensor of shape {_shape(value)}"
    return f"an object of type {type(value).__name__}"


def _sentence(where: str, got: Any, wanted: Any) -> str:
    return f"{where}got {describe(got)}, expected {describe(wanted)}."


def _shape(tensor: Tensor) -> str:
    return str(tuple(tensor.shape))


def _plain(value: Any) -> Any:
    """A tensor without dimensions as the number it holds."""
    return value.item() if isinstance(value, Tensor) and value.dim() == 0 else value


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)
