"""Trained weights on disk: safetensors and JSON, which hold numbers and no code."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from importlib.resources.abc import Traversable
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor, nn

from attnbook.core.files import write_whole


def save_weights(model: nn.Module, folder: Path | str, /, **facts: object) -> None:
    """Write a model's weights, and beside them what they were made by.

    Each of the two files appears whole or not at all.

    Args:
        model: The model; a matrix with two uses is stored once.
        folder: Where to put ``weights.safetensors`` and ``facts.json``.
        facts: Anything JSON can hold, such as the seed, the steps and the scores.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    weights = {name: w.detach().contiguous() for name, w in tensors(model).items()}
    text = json.dumps(facts, indent=1) + "\n"
    write_whole(folder / "weights.safetensors", save(weights))
    write_whole(folder / "facts.json", text)


def load_weights(model: nn.Module, folder: Traversable | str) -> dict:
    """Read weights into a model, and set it to eval mode.

    Args:
        model: Of the kind and size that the weights were saved from.
        folder: As in :func:`save_weights`.

    Returns:
        The facts.

    Raises:
        ValueError: If a file is missing, is not of its kind, or holds the weights of
            another model. The model is then as it was.
    """
    folder = Path(folder) if isinstance(folder, str) else folder
    facts = read_facts(folder)
    weights = dequantize(_read(folder, "weights.safetensors", load))
    weights = {plain(name): w for name, w in weights.items()}
    check_weights(model, weights)
    set_weights(model, weights)
    model.eval()
    return facts


SCALE = ".scale"
"""Ends the name of the scales of a matrix of 8 bits."""


def quantize(weights: dict[str, Tensor]) -> dict[str, Tensor]:
    """Round matrices to 8 bits per weight, with a scale for each row.

    Each row is divided by its largest absolute value, times 127, and rounded. What is
    no matrix, such as biases, is in half precision.

    Args:
        weights: Tensors by name, as :func:`tensors` gives them.

    Returns:
        Tensors by name; a matrix (rows, columns) is int8, with its scales (rows, 1)
        under its name and :data:`SCALE`.
    """
    small = {}
    for name, w in weights.items():
        if w.dim() < 2:
            small[name] = w.half() if w.is_floating_point() else w
            continue
        scale = w.float().abs().amax(-1, keepdim=True).clamp_min(1e-12) / 127
        small[name] = (w.float() / scale).round().to(torch.int8)
        small[name + SCALE] = scale
    return small


def dequantize(weights: dict[str, Tensor]) -> dict[str, Tensor]:
    """Undo :func:`quantize`, up to rounding; other weights stay as they are."""
    return {
        name: w * weights[name + SCALE] if name + SCALE in weights else w
        for name, w in weights.items()
        if not name.endswith(SCALE)
    }


def read_facts(folder: Traversable) -> dict:
    """Read what a saved model was made by.

    Raises:
        ValueError: If the file is missing, cannot be read or holds no object.
    """
    facts = _read(folder, "facts.json", json.loads)
    if not isinstance(facts, dict):
        raise ValueError(
            f"facts.json in {folder} holds {facts!r:.40}, not an object with the facts "
            "of a saved model; save the model again"
        )
    return facts


def _read(folder: Traversable, name: str, parse: Callable[[bytes], dict]) -> dict:
    """Read one of a saved model's files."""
    if not (folder / name).is_file():
        raise ValueError(
            f"there is no {name} in {folder}; give the folder of a saved model"
        )
    try:
        return parse((folder / name).read_bytes())
    except (SafetensorError, ValueError) as error:
        raise ValueError(f"what is in {folder} cannot be read: {error}") from error


WRAPPERS = re.compile(r"^((module|_orig_mod)\.)+|\b_orig_mod\.")
"""What ``DistributedDataParallel`` and ``torch.compile`` add to a weight's name."""


def plain(name: str) -> str:
    """The name of a weight as it is without a wrapper around the model or a part."""
    return WRAPPERS.sub("", name)


def tensors(model: nn.Module) -> dict[str, Tensor]:
    """All that a model has learned or counted; a matrix with two uses is named once."""
    found = dict(model.named_parameters()) | dict(model.named_buffers())
    return {plain(name): w for name, w in found.items()}


@torch.no_grad()
def set_weights(model: nn.Module, weights: dict[str, Tensor]) -> None:
    """Copy weights that :func:`check_weights` has found to fit into a model."""
    for name, w in tensors(model).items():
        w.copy_(weights[name])


def check_weights(model: nn.Module, weights: dict[str, Tensor]) -> None:
    """Raise a ValueError that names the first weight that does not fit the model."""
    wanted = {name: _kind(w) for name, w in tensors(model).items()}
    found = {name: _kind(w) for name, w in weights.items()}
    for name in sorted(wanted | found):
        if wanted.get(name) != found.get(name):
            shapes = [w.get(name, "missing") for w in (wanted, found)]
            raise ValueError(
                f"{name}: {shapes[0]} in the model, {shapes[1]} in the file; these are "
                "the weights of another model: make one of the sizes that the facts "
                "beside it name"
            )


def _kind(tensor: Tensor) -> str:
    """Shape and kind of number; whether it has 16 bits or 32 doesn't matter."""
    return f"{tuple(tensor.shape)}{'' if tensor.is_floating_point() else ' integers'}"
