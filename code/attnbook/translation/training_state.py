"""The state of a training run in one file: all that is needed to resume it."""

from __future__ import annotations

import json
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor, nn

from attnbook.core.checks import check_entries
from attnbook.core.divergence import check_finite
from attnbook.core.files import parse_object, write_whole
from attnbook.models.checkpoints import check_weights, set_weights, tensors

KEY = "state"

PROGRESS = {
    **{"step": int, "epoch": int, "updates_done": int, "epochs_without_gain": int},
    **{"lowest": float, "seconds": float, "peak_memory": int, "world": int},
}
"""The numbers that hold the progress of a run, and their types."""


def save_state(
    path: Path,
    model: nn.Module,
    optimizer: torch.optim.Optimizer | None = None,
    **numbers: object,
) -> None:
    """Write weights, the state of the optimizer and a few numbers.

    The one file is replaced atomically: whenever the process is killed, it holds a
    whole state, the old or the new one.

    Args:
        path: The file, safetensors.
        model: The model.
        optimizer: Adam, over ``model.parameters()`` in their order; None to write the
            weights alone.
        numbers: Progress of the run; anything that JSON can hold.

    Raises:
        DivergedError: If a weight or a moment isn't finite; the old file stays.
    """
    content = {f"model.{name}": w.detach() for name, w in tensors(model).items()}
    moments = optimizer.state_dict()["state"] if optimizer else {}
    for i, tensors_of_i in moments.items():
        content |= {f"optimizer.{i}.{name}": t for name, t in tensors_of_i.items()}
    content = {name: t.cpu().contiguous() for name, t in content.items()}
    check_finite(content.values())
    write_whole(path, save(content, {KEY: json.dumps(numbers)}))


def keep_weights(folder: Path, model: nn.Module, epoch: int, average: int) -> None:
    """Keep the weights after an epoch, and of all those in a run's folder the last.

    Args:
        folder: The run's folder; the weights are in ``epochs``.
        model: The model.
        epoch: Number of the epoch, from 1.
        average: How many epochs are kept.
    """
    save_state(folder / "epochs" / f"{epoch:04}.safetensors", model)
    old = folder / "epochs" / f"{epoch - average:04}.safetensors"
    old.unlink(missing_ok=True)


def load_state(
    path: Path, model: nn.Module, optimizer: torch.optim.Optimizer
) -> dict[str, object]:
    """Load a file of :func:`save_state` into a model and an optimizer.

    Args:
        path: The file.
        model: The model.
        optimizer: Adam, over ``model.parameters()`` in their order.

    Returns:
        The numbers of :data:`PROGRESS`.

    Raises:
        ValueError: If the file is missing, damaged or of another kind, or holds the
            state of another model. Model and optimizer are then unchanged.
    """
    content, numbers = read_state(path)
    remedy = "it is no last state of a run; start a new run in another folder"
    check_entries(path, numbers, remedy, **PROGRESS)
    weights = _part(content, "model.")
    check_weights(model, weights)
    moments = _moments(path, content, list(model.parameters()))
    set_weights(model, weights)
    optimizer.load_state_dict(optimizer.state_dict() | {"state": moments})
    return {name: numbers[name] for name in PROGRESS}


def _moments(
    path: Path, content: dict[str, Tensor], parameters: list[Tensor]
) -> dict[int, dict[str, Tensor]]:
    """The optimizer's tensors by the number of the parameter; their shapes must fit."""
    moments: dict[int, dict[str, Tensor]] = {}
    known = {str(i): p.shape for i, p in enumerate(parameters)}
    for name, t in _part(content, "optimizer.").items():
        i, _, entry = name.partition(".")
        if i not in known or (t.dim() and t.shape != known[i]):
            raise ValueError(
                f"{path}: optimizer.{name} of shape {tuple(t.shape)} fits no parameter "
                "of this model; start a new run in another folder"
            )
        moments.setdefault(int(i), {})[entry] = t
    return moments


def read_state(path: Path) -> tuple[dict[str, Tensor], dict[str, object]]:
    """Read the tensors and the numbers of a state; it cannot contain code.

    Raises:
        ValueError: If the file is missing, damaged or of another kind.
    """
    try:
        with safe_open(path, framework="pt") as file:
            numbers = parse_object(path, (file.metadata() or {})[KEY])
            content = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        check_finite(content.values())
        return content, numbers
    except (OSError, SafetensorError, KeyError, ValueError) as error:
        raise ValueError(
            f"{path} is not a state of a training run ({error}); start a new run in "
            "another folder"
        ) from error


def _part(content: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    """The entries with a prefix, without it."""
    return {
        name.removeprefix(prefix): t
        for name, t in content.items()
        if name.startswith(prefix)
    }


def average_weights(paths: list[Path]) -> dict[str, Tensor]:
    """Average the weights of several states: Vaswani et al. 2017, section 6.1.

    Args:
        paths: Files of :func:`save_state`, of one run.

    Returns:
        Weights by name; integers are those of the last state.

    Raises:
        ValueError: If there is no file, or one cannot be read.
    """
    if not paths:
        raise ValueError("there is no state to average; train for at least one epoch")
    total: dict[str, Tensor] = {}
    for path in paths:
        for name, w in _part(read_state(path)[0], "model.").items():
            real = w.is_floating_point()
            total[name] = total.get(name, 0) + w.double() if real else w
    return {
        name: (w / len(paths)).float() if w.is_floating_point() else w
        for name, w in total.items()
    }
