"""Configs: everything that determines the result of a training run."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields, replace
from difflib import get_close_matches
from pathlib import Path

from attnbook.core.devices import DEVICES


@dataclass(frozen=True)
class Config:
    """Hyperparameters of a training run; the defaults: a tiny Transformer on Multi30k.

    Attributes:
        data: "multi30k", "toy", or a folder of text files; see
            :mod:`attnbook.translation.corpora`.
        source: Source language.
        target: Target language.
        lowercase: Whether to lowercase all text first.
        moses: Whether to normalise and tokenise all text first; see
            :mod:`attnbook.translation.moses`. Translations come out tokenised, too.
        vocab_size: Number of subwords; both languages share one vocabulary.
        model: One of :data:`attnbook.models.registry.MODELS`.
        d_model: Width D.
        n_heads: Number H of heads. Recurrent models ignore it, and also ``n_layers``,
            ``d_ff`` and ``norm_first``.
        n_layers: Number of encoder layers, and of decoder layers.
        d_ff: Width of the feed-forward networks.
        norm_first: Whether to use pre-norm; False is the paper's post-norm.
        variant: "none", or an ablation; see
            :data:`attnbook.models.variants.VARIANTS`.
        tie_tables: Whether a recurrent model has one matrix for source embedding,
            target embedding and output layer; the Transformer always has.
        dropout: Dropout rate.
        batch_tokens: Positions of a padded batch on each side.
        batches_per_update: Batches whose gradients are summed, over all processes.
        few_shapes: Whether batches have a few fixed shapes, are cut once, and stay on
            the device. For a small corpus on a GPU, whose time is otherwise spent on
            launching kernels.
        cuda_graphs: Whether a GPU records the kernels of an update of each shape, and
            replays them; only with ``few_shapes``.
        peak_learning_rate: Highest learning rate. None: that of the paper's formula.
        warmup: Number of warm-up updates.
        decay_to_zero: Whether the learning rate then falls linearly, to 0 at the end of
            the last epoch, instead of with the inverse square root. It needs a peak.
        smoothing: ε of label smoothing.
        r_drop: Weight α of R-Drop's divergence; 0: no R-Drop.
        clip: Maximum norm of the gradient.
        max_epochs: Maximum number of epochs.
        patience: Epochs without a lower validation loss before the run ends.
        average: Number of last epochs whose weights are averaged.
        validate_every: Epochs between two validations; the last one is validated, too.
        scored_share: Share of the validation split that is translated for the log.
        per_token: Whether beam search at the end ranks translations by their
            log-probability per token, as fairseq does, instead of with the length
            penalty whose α is best on validation data.
        score_tests: Whether the test sets are translated and scored at the end. For
            comparisons and choices take False: they are made on validation data, and
            Multi30k's test sets are kept for the recipes of
            :data:`attnbook.translation.report.HEADLINES`.
        save_minutes: Minutes between two states on disk; one is also written after each
            epoch.
        device: "cpu", "cuda", "mps", or "auto": see
            :func:`attnbook.core.devices.choose_device`.
        precision: "fp32", "bf16", "fp16", or "auto": the best one for the device.
        compile: Whether to use ``torch.compile``; for the Transformer alone.
        seed: Seed of weights, order of the data and dropout.
    """

    data: str = "multi30k"
    source: str = "en"
    target: str = "de"
    lowercase: bool = False
    moses: bool = False
    vocab_size: int = 8000
    model: str = "transformer"
    d_model: int = 128
    n_heads: int = 4
    n_layers: int = 4
    d_ff: int = 256
    norm_first: bool = False
    variant: str = "none"
    tie_tables: bool = True
    dropout: float = 0.3
    batch_tokens: int = 8192
    batches_per_update: int = 1
    few_shapes: bool = False
    cuda_graphs: bool = True
    peak_learning_rate: float | None = 5e-3
    warmup: int = 2000
    decay_to_zero: bool = False
    smoothing: float = 0.1
    r_drop: float = 0.0
    clip: float = 1.0
    max_epochs: int = 160
    patience: int = 10
    average: int = 10
    validate_every: int = 1
    scored_share: float = 1.0
    per_token: bool = False
    score_tests: bool = True
    save_minutes: float = 10.0
    device: str = "auto"
    precision: str = "auto"
    compile: bool = False
    seed: int = 0

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if getattr(value, "ndim", None) == 0:  # NumPy's number becomes Python's
                object.__setattr__(self, name, value.item())
        _check(self)


RULES = {
    "from 0 to below 1": (lambda x: 0 <= x < 1, ("dropout", "smoothing")),
    "0 or more, and finite": (
        lambda x: 0 <= x < math.inf,
        ("r_drop", "save_minutes"),
    ),
    "from 0 to below 2**24": (lambda x: 0 <= x < 2**24, ("seed",)),
    "more than 0, at most 1": (lambda x: 0 < x <= 1, ("scored_share",)),
    "more than 0, at most 1e30": (
        lambda x: x is None or 0 < x <= 1e30,
        ("clip", "peak_learning_rate"),
    ),
    "1 or more, below 2**31": (
        lambda x: 1 <= x < 2**31,
        (
            *("vocab_size", "d_model", "n_heads", "n_layers", "d_ff"),
            *("batch_tokens", "batches_per_update", "warmup"),
            *("max_epochs", "patience", "average", "validate_every"),
        ),
    ),
    "auto, cpu, cuda or mps": (lambda x: x in DEVICES, ("device",)),
    "auto, fp32, bf16 or fp16": (
        lambda x: x in ("auto", "fp32", "bf16", "fp16"),
        ("precision",),
    ),
}
"""Each rule in words, as a test, and the entries that it applies to."""


EXAMPLES = {
    **{"int": "a whole number, such as 4", "float": "a number, such as 0.1"},
    **{"bool": "true or false", "str": "text"},
}
"""What the types of entries are, for messages."""


def _check(chosen: Config) -> None:
    """Raise a ValueError that names the first invalid entry."""
    kinds = {"str": str, "bool": bool, "int": int, "float": (int, float)}
    for field in fields(Config):
        value = getattr(chosen, field.name)
        kind = field.type.removesuffix(" | None")
        fits = isinstance(value, kinds[kind]) and isinstance(value, bool) == (
            kind == "bool"
        )
        if not (fits or (value is None and kind != field.type)):
            raise ValueError(
                f"{field.name} is {value!r}; it must be of type {field.type}: "
                f"{EXAMPLES[kind]}"
            )
    for words, (allowed, names) in RULES.items():
        for name in names:
            if not allowed(value := getattr(chosen, name)):
                raise ValueError(f"{name} is {value!r}; it must be {words}")
    if chosen.source == chosen.target:
        raise ValueError(
            f"source and target are both {chosen.source!r}; name two languages"
        )
    if chosen.decay_to_zero and chosen.peak_learning_rate is None:
        raise ValueError(
            "decay_to_zero is true and peak_learning_rate None; name the highest "
            "learning rate, or leave the paper's formula as it is"
        )
    if chosen.few_shapes and chosen.model != "transformer":
        raise ValueError(
            f"few_shapes is True and model is {chosen.model!r}; batches of few shapes "
            "have rows of padding, which a recurrent model refuses: add "
            "few_shapes=false"
        )
    if chosen.compile and chosen.model != "transformer":
        raise ValueError(
            f"compile is True and model is {chosen.model!r}; only the Transformer can "
            "be compiled: a loop over steps is compiled anew for each number of steps"
        )


TINY = Config()
CPU = replace(
    TINY,
    norm_first=True,
    dropout=0.2,
    batch_tokens=2048,
    peak_learning_rate=4e-3,
    warmup=800,
    max_epochs=36,
)

CONFIGS = {
    "toy": replace(
        TINY,
        data="toy",
        source="toy",
        target="invented",
        vocab_size=300,
        d_model=64,
        n_layers=2,
        dropout=0.1,
        batch_tokens=1024,
        peak_learning_rate=4e-3,
        warmup=50,
        max_epochs=6,
        average=2,
        precision="fp32",
    ),
    "small-data": replace(
        TINY,
        norm_first=True,
        vocab_size=1000,
        n_layers=2,
        batch_tokens=1024,
        peak_learning_rate=2e-3,
        warmup=100,
        max_epochs=120,
        patience=30,
        average=5,
    ),
    "multi30k-tiny": replace(
        TINY, few_shapes=True, max_epochs=116, patience=116, validate_every=5
    ),
    "multi30k-published": replace(
        TINY,
        lowercase=True,
        moses=True,
        vocab_size=10_126,
        batch_tokens=4096,
        batches_per_update=2,
        clip=25.0,
        per_token=True,
        few_shapes=True,
        max_epochs=133,
        patience=133,
        validate_every=10,
        score_tests=False,
    ),
    "multi30k-cpu": CPU,
    "multi30k-distilled": replace(
        CPU,
        data="runs/distilled/both",
        max_epochs=18,
        average=5,
        score_tests=False,
    ),
    "multi30k-distilled-tiny": replace(
        TINY,
        data="runs/distilled/both",
        norm_first=True,
        few_shapes=True,
        max_epochs=58,
        patience=58,
        average=5,
        validate_every=5,
        score_tests=False,
    ),
    "multi30k-small": replace(
        TINY,
        d_model=256,
        d_ff=512,
        peak_learning_rate=2e-3,
        max_epochs=100,
        score_tests=False,
    ),
    "base": replace(
        TINY,
        vocab_size=37000,
        d_model=512,
        n_heads=8,
        n_layers=6,
        d_ff=2048,
        dropout=0.1,
        batch_tokens=25000,
        peak_learning_rate=None,
        warmup=4000,
        average=5,
        score_tests=False,
    ),
}
"""Configs by name. "toy" needs seconds and no data. "small-data" is for some hundred to
some thousand lines of your own. "multi30k-published" follows the recipe of Wu et al.
2021 as their code has it, without its early stopping: 10,000 merges of lowercased,
tokenised text, two batches an update as on their two GPUs, and nearly 8,000 updates.
"multi30k-tiny" keeps its sizes, dropout and learning rate for plain text, in 7,424
updates on a GPU; "multi30k-cpu" has the same sizes and takes an hour and a half on one
processor core. "multi30k-distilled" is that for twice the text, which
``benchmarks/distil.py`` wrote (``git checkout gpu-runs``): half the epochs, as many
updates;
"multi30k-distilled-tiny" is "multi30k-tiny" in pre-norm for the same text, also with as
many updates. "multi30k-small" is twice as wide. "base" is the base model of Vaswani et
al. 2017 with its batch size."""


def config(name: str, /, **changes: object) -> Config:
    """Return a config by its name, with some entries changed.

    Raises:
        ValueError: If there is no such config or entry, or a value is invalid.
    """
    if name not in CONFIGS:
        raise ValueError(f"there is no config {name!r}; {suggestion(name, CONFIGS)}")
    return changed(CONFIGS[name], **changes)


def suggestion(name: str, known: Iterable[str]) -> str:
    """The known name that a mistyped one is near to, or else all of them."""
    known = list(known)
    if near := get_close_matches(str(name), known, 1):
        return f"did you mean {near[0]!r}?"
    return f"there are {', '.join(known)}"


def changed(old: Config, /, **changes: object) -> Config:
    """Return a config with some entries changed; text is parsed as the entry's type.

    Raises:
        ValueError: If there is no such entry, or a value is invalid.
    """
    values = asdict(old)
    for key, value in changes.items():
        if key not in values:
            raise ValueError(f"no entry {key!r}; {suggestion(key, values)}")
        values[key] = _read(key, value) if isinstance(value, str) else value
    return Config(**values)


RETIRED = ("save_every",)
"""Entries of older configs that are read and left out; none changed an update."""


def from_stored(values: dict, path: object = "the stored config") -> Config:
    """Make a config from the entries that a run or a model was stored with.

    Args:
        values: By name; missing entries have their default values.
        path: Where they were read, to be named.

    Raises:
        ValueError: If there is no such entry, or a value is invalid.
    """
    kept = {key: value for key, value in values.items() if key not in RETIRED}
    try:
        return changed(Config(), **kept)
    except ValueError as error:
        raise ValueError(
            f"{path}: {error}; if another version of attnbook wrote it, use that one"
        ) from error


def to_json(chosen: Config) -> str:
    """Serialise all entries as JSON."""
    return json.dumps(asdict(chosen), indent=1) + "\n"


def from_json(path: Path | str) -> Config:
    """Read a file of :func:`to_json`; missing entries have their default values.

    Raises:
        ValueError: If the file is missing or not JSON, or an entry is unknown.
    """
    try:
        values = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ValueError(f"{path} cannot be read as a config: {error}") from error
    if not isinstance(values, dict):
        raise ValueError(f"{path} must hold one JSON object, {{entry: value, …}}")
    return from_stored(values, path)


WORDS = {"none": "null", "true": "true", "false": "false"}
"""What Python's users write, in JSON."""


def _read(key: str, text: str) -> object:
    """Parse text from a command line as the type of the entry."""
    kind = next(f.type for f in fields(Config) if f.name == key)
    if kind == "str":
        return text
    for parse in (json.loads, float):  # JSON has no .2 and no 5.
        try:
            return parse(WORDS.get(text.lower(), text))
        except ValueError:
            continue
    return text
