"""What a stage compares; each function raises ``Wrong`` with a sentence.

``got`` is what the reader's code has returned, ``what`` its name, such as "the output",
and ``rule`` what it should equal, in words or a formula. No sentence gives the answer
away. All suit one thing and many ("the output", "the weights"), and none has a number
that differs between readers with the same mistake.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from attnbook.course.kit.exercises.differences import describe
from attnbook.course.kit.exercises.stages import Wrong

TOLERANCE = 1e-5
"""Entries closer than this, relative to the largest, count as equal. Tests are in
float64, but a reader's constants may be float32."""


def tensor(got: Any, what: str) -> None:
    """Raise Wrong unless something is a tensor."""
    if got is None or got is ...:
        raise Wrong(f"{what} came out as {got}: is a `return` missing?")
    if not isinstance(got, Tensor):
        raise Wrong(f"{what} came out as {describe(got)}, not as a tensor.")


def shape(got: Any, shape: tuple[int, ...], what: str, letters: str) -> None:
    """Raise Wrong unless a tensor has a shape; only its letters, "(B, T)", are told."""
    tensor(got, what)
    if got.shape != shape:
        found = tuple(got.shape)
        raise Wrong(f"{what} had the shape {found}; it should be {letters}.", found)


def pair(found: Any, name: str, parts: str) -> tuple:
    """What a function returns, if it is two things; else raise Wrong."""
    if not (isinstance(found, tuple | list) and len(found) == 2):
        raise Wrong(f"`{name}` should return two things: {parts}.")
    return tuple(found)


def close(got: Any, wanted: Tensor, what: str, rule: str) -> None:
    """Raise Wrong unless two tensors are equal up to rounding."""
    tensor(got, what)
    if got.shape != wanted.shape:
        raise Wrong(
            f"{what} had the shape {tuple(got.shape)}, which is not that of {rule}.",
            tuple(got.shape),
        )
    values = got.detach().double()
    if values.isnan().any() and not wanted.isnan().any():
        raise Wrong(f"{what} had entries that were NaN.", values)
    largest = max(1.0, wanted.abs().max().item()) if wanted.numel() else 1.0
    if not torch.allclose(values, wanted.double(), rtol=0, atol=TOLERANCE * largest):
        raise Wrong(f"{what} did not equal {rule}.", values)


def gradients(
    got: Tensor,
    wanted: Tensor,
    rule: str,
    module: nn.Module | None = None,
    **inputs: Tensor,
) -> None:
    """Raise Wrong unless the gradients of two tensors agree.

    They are those of one random weighted sum of the entries: a plain sum would miss
    errors in weights, whose sum is always 1. They are taken for all parameters of a
    module, and for the inputs.
    """
    if module is not None:
        inputs |= {f"`{name}`": p for name, p in module.named_parameters()}
    tensor(got, "the result")
    if not got.requires_grad:
        raise Wrong("the result has no gradient: it is cut off from all inputs.")
    g = torch.Generator().manual_seed(1)
    factors = torch.randn(wanted.shape, generator=g, dtype=torch.float64)
    tensors = list(inputs.values())
    mine, right = (
        torch.autograd.grad(
            (x * factors).sum(), tensors, retain_graph=True, materialize_grads=True
        )
        for x in (got, wanted)
    )
    pairs = list(zip(inputs, mine, right, strict=True))
    cut = [name for name, found, formula in pairs if formula.any() and not found.any()]
    if cut:
        more = " and more" if cut[4:] else ""
        raise Wrong(f"no gradient reaches {', '.join(cut[:4])}{more}.", cut)
    for name, found, formula in pairs:
        close(found, formula, f"the gradient with respect to {name}", rule)


def parameters(module: nn.Module, shapes: Mapping[str, tuple]) -> None:
    """Raise Wrong unless a module has parameters of these names and shapes."""
    found = {name: tuple(p.shape) for name, p in module.named_parameters()}
    for name, shape in shapes.items():
        if name not in found:
            raise Wrong(f"there is no parameter `{name}`.", name)
        if found[name] != shape:
            raise Wrong(f"`{name}` has the shape {found[name]}.", found[name])
    more = sorted({*found} - {*shapes})
    if more:
        raise Wrong(f"there is a parameter `{more[0]}` that is not needed.", more)


def same_in_training(module: nn.Module, *given: Tensor, what: str) -> None:
    """Raise Wrong if a module does something else in training, such as dropout.

    It is left in eval mode.
    """
    got, wanted = module.train()(*given), module.eval()(*given)
    if not torch.allclose(got, wanted):
        raise Wrong(f"{what} in training was another than in eval mode.")


def calls(module: nn.Module, most: int, what: str, call: Callable[[], Any]) -> None:
    """Raise Wrong if a module, such as a dropout, is called more often than needed."""
    found: list[None] = []
    hook = module.register_forward_hook(lambda *_: found.append(None))
    call()
    hook.remove()
    if len(found) > most:
        raise Wrong(f"{what} was called more than {most} times.")


class _Counter(TorchDispatchMode):
    """Counts each operation that PyTorch carries out."""

    def __init__(self):
        super().__init__()
        self.count = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.count += 1
        return func(*args, **(kwargs or {}))


def no_loop(call: Callable, few: Any, many: Any, over: str) -> None:
    """Raise Wrong if more of PyTorch's operations are needed for a larger input.

    How many isn't told: a loop is recognised by a finding that all loops share.

    Args:
        call: Takes one size, few or many.
        few: A small size.
        many: A large size.
        over: What there is more of, such as "queries".
    """
    counts = []
    for size in (few, many):
        with _Counter() as counter:
            call(size)
        counts.append(counter.count)
    if counts[1] > counts[0]:
        raise Wrong(f"more {over} needed more operations.")


MOVES = {"to", "type", "type_as"}
OF_THE_FIRST = {  # they take a shape, numbers or lengths from other tensors
    *("expand_as", "view_as", "reshape_as"),
    *("copy_", "__setitem__", "__set__", "_pack_padded_sequence"),
}


class _Devices(TorchFunctionMode):
    """Tells tensors that come from the input from those that are made on the CPU.

    Without a GPU all lie on the CPU, wherever they come from. What was moved, or was
    given a device, may lie anywhere, and nothing is said against it.
    """

    def __init__(self, given: Iterable[Tensor], made: Iterable[Tensor]):
        super().__init__()
        # By id, and kept, so that no id comes twice.
        self.given, self.made = ({id(x): x for x in part} for part in (given, made))

    def __torch_function__(self, func, types, args=(), kwargs=None):
        name, kwargs = func.__name__, kwargs or {}
        used = _tensors((args, kwargs))
        if name in OF_THE_FIRST or (
            name == "__getitem__" and id(args[0]) in self.given  # by a CPU's index
        ):
            used = used[:1]
        given = [x for x in used if id(x) in self.given]
        made = [x for x in used if id(x) in self.made]
        places = [x for x in args[1:] if isinstance(x, Tensor | torch.device | str)]
        moved = name in ("cpu", "cuda") or (name in MOVES and places)
        moved = moved or kwargs.get("device") is not None
        if given and not moved and any(x.dim() for x in made):  # numbers may mix
            raise Wrong(
                "a tensor that is made on the CPU meets one that lies where the input "
                "lies: on a GPU that is an error.",
                name,
            )
        found = func(*args, **kwargs)
        if moved:
            return found.view_as(found) if args and found is args[0] else found
        if given or len(made) == len(used):
            of_one_kind = self.given if given else self.made
            of_one_kind |= {id(x): x for x in _tensors(found)}
        return found


def _tensors(values: Any) -> list[Tensor]:
    return [x for x in tree_leaves(values) if isinstance(x, Tensor)]


def same_device(
    call: Callable[[], Any], *given: Tensor, module: nn.Module | None = None
) -> None:
    """Raise Wrong unless the code would run on a GPU, too, on input that lies there.

    Args:
        call: Runs the code and returns what comes out.
        given: The input.
        module: Its parameters and buffers move to the GPU, other tensors don't.
    """
    modules = [] if module is None else [*module.modules()]
    moved = [x for m in modules for x in (*m.parameters(), *m.buffers())]
    left = [x for m in modules for x in vars(m).values() if isinstance(x, Tensor)]
    with _Devices([*given, *moved], left) as devices:
        found = call()
    if any(id(x) in devices.made for x in _tensors(found)):
        raise Wrong("the result lies on the CPU, wherever the input lies.")
