"""What to train, and how: everything that decides the result of a training run."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path


@dataclass(frozen=True)
class Config:
    """A training run; the defaults are Multi30k with a tiny Transformer.

    Attributes:
        data: "multi30k", "toy", or a folder of text files; see
            :mod:`attnbook.translation.corpora`.
        source: Language to read.
        target: Language to write.
        lowercase: Whether to lowercase all text first.
        vocabulary: Subwords, shared by both languages.
        model: One of :data:`attnbook.models.registry.MODELS`.
        d_model: Width D.
        n_heads: Heads H.
        n_layers: Encoder layers, and decoder layers.
        d_ff: Width of the feed-forward networks.
        norm_first: Whether to take pre-norm; False is the paper's post-norm.
        variant: "none", or what is left out; see
            :data:`attnbook.models.ablations.VARIANTS`.
        dropout: Share of numbers set to 0 in training.
        batch_tokens: Places of a padded batch on each side.
        batches_per_update: Batches whose gradients are summed, over all processes.
        peak_rate: Highest learning rate. None: that of the paper's formula.
        warmup: Updates until the rate is highest.
        smoothing: ε of label smoothing.
        r_drop: Weight α of R-Drop's second loss; 0 is without.
        clip: Largest norm of the gradient.
        max_epochs: Times that the training data is gone through at most.
        patience: Epochs without a lower validation loss before the run ends.
        average: Epochs, the last ones, whose weights are averaged.
        save_every: Updates between two checkpoints.
        precision: "fp32", "bf16", "fp16", or "auto": what the device does best.
        compile: Whether ``torch.compile`` makes the kernels.
        seed: Decides weights, order and dropout.
    """

    data: str = "multi30k"
    source: str = "en"
    target: str = "de"
    lowercase: bool = False
    vocabulary: int = 8000
    model: str = "transformer"
    d_model: int = 128
    n_heads: int = 4
    n_layers: int = 4
    d_ff: int = 256
    norm_first: bool = False
    variant: str = "none"
    dropout: float = 0.3
    batch_tokens: int = 8192
    batches_per_update: int = 1
    peak_rate: float | None = 5e-3
    warmup: int = 2000
    smoothing: float = 0.1
    r_drop: float = 0.0
    clip: float = 1.0
    max_epochs: int = 160
    patience: int = 10
    average: int = 10
    save_every: int = 200
    precision: str = "auto"
    compile: bool = False
    seed: int = 0

    def __post_init__(self) -> None:
        _check(self)


RULES = {
    "from 0 to below 1": (lambda x: 0 <= x < 1, ("dropout", "smoothing")),
    "0 or more": (lambda x: x >= 0, ("r_drop",)),
    "from 0 to below 2**24": (lambda x: 0 <= x < 2**24, ("seed",)),
    "more than 0": (lambda x: x is None or x > 0, ("clip", "peak_rate")),
    "1 or more": (
        lambda x: x >= 1,
        (
            *("vocabulary", "d_model", "n_heads", "n_layers", "d_ff"),
            *("batch_tokens", "batches_per_update", "warmup"),
            *("max_epochs", "patience", "average", "save_every"),
        ),
    ),
    "auto, fp32, bf16 or fp16": (
        lambda x: x in ("auto", "fp32", "bf16", "fp16"),
        ("precision",),
    ),
}
"""What is allowed, in words and as a test, and the entries that it is asked of."""


def _check(chosen: Config) -> None:
    """Raise a ValueError that names the first entry that is not allowed."""
    kinds = {"str": str, "bool": bool, "int": int, "float": (int, float)}
    for field in fields(Config):
        value = getattr(chosen, field.name)
        kind = field.type.removesuffix(" | None")
        fits = isinstance(value, kinds[kind]) and isinstance(value, bool) == (
            kind == "bool"
        )
        if not (fits or (value is None and kind != field.type)):
            raise ValueError(
                f"{field.name} is {value!r}; it must be of type {field.type}"
            )
    for words, (allowed, names) in RULES.items():
        for name in names:
            if not allowed(value := getattr(chosen, name)):
                raise ValueError(f"{name} is {value!r}; it must be {words}")
    if chosen.source == chosen.target:
        raise ValueError(f"source and target are both {chosen.source!r}; name two")


TINY = Config()

CONFIGS = {
    "toy": replace(
        TINY,
        data="toy",
        source="toy",
        target="invented",
        vocabulary=300,
        d_model=64,
        n_layers=2,
        dropout=0.1,
        batch_tokens=1024,
        peak_rate=4e-3,
        warmup=50,
        max_epochs=6,
        average=2,
        save_every=50,
        precision="fp32",
    ),
    "multi30k-tiny": TINY,
    "multi30k-cpu": replace(
        TINY,
        norm_first=True,
        dropout=0.2,
        batch_tokens=2048,
        peak_rate=4e-3,
        warmup=800,
        max_epochs=36,
    ),
    "multi30k-small": replace(
        TINY, d_model=256, d_ff=512, peak_rate=2e-3, max_epochs=100
    ),
    "base": replace(
        TINY,
        vocabulary=37000,
        d_model=512,
        n_heads=8,
        n_layers=6,
        d_ff=2048,
        dropout=0.1,
        batch_tokens=25000,
        peak_rate=None,
        warmup=4000,
        average=5,
    ),
}
"""Runs by name. "toy" takes seconds and no data. "multi30k-tiny" follows the recipe of
Wu et al. 2021; "multi30k-cpu" has the same sizes and takes an hour and a half on one
processor core. "multi30k-small" is twice as wide. "base" is the paper's model and
batch."""


def config(name: str, **changes: object) -> Config:
    """Take a named config, with some entries changed.

    Raises:
        ValueError: If there is no such config or entry, or a value is not allowed.
    """
    if name not in CONFIGS:
        raise ValueError(
            f"there is no config {name!r}; choose among {', '.join(CONFIGS)}"
        )
    return changed(CONFIGS[name], **changes)


def changed(old: Config, **changes: object) -> Config:
    """Change entries by name; text is read as the entry's kind of value.

    Raises:
        ValueError: If there is no such entry, or a value is not allowed.
    """
    values = asdict(old)
    for key, value in changes.items():
        if key not in values:
            raise ValueError(f"no entry {key!r}; there are {', '.join(values)}")
        values[key] = _read(key, value) if isinstance(value, str) else value
    return Config(**values)


def to_json(chosen: Config) -> str:
    """Write all entries."""
    return json.dumps(asdict(chosen), indent=1) + "\n"


def from_json(path: Path) -> Config:
    """Read what :func:`to_json` wrote; entries left out keep their defaults.

    Raises:
        ValueError: If the file is missing or not JSON, or an entry is not known.
    """
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ValueError(f"{path} cannot be read as a config: {error}") from error
    if not isinstance(values, dict):
        raise ValueError(f"{path} must hold one JSON object, {{entry: value, …}}")
    return changed(Config(), **values)


def _read(key: str, text: str) -> object:
    """Turn text from a command line into the kind of value that the entry holds."""
    kind = next(f.type for f in fields(Config) if f.name == key)
    if kind == "str":
        return text
    try:
        return json.loads(
            text.lower() if kind == "bool" else text.replace("None", "null")
        )
    except ValueError:
        raise ValueError(f"{key} is {text!r}; it must be of type {kind}") from None
