"""Configs: everything that determines the result of a training run."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, fields, replace
from difflib import get_close_matches
from pathlib import Path
from typing import NamedTuple

# The kinds of entries; KINDS says what each of them allows.
Text = Optimizer = Precision = str
Count = Seed = int
Share = Positive = float


class Kind(NamedTuple):
    """What an entry may be: its type, what is allowed in words, and the test for it."""

    type: type
    words: str
    allows: Callable[[object], bool] = lambda _: True


KINDS = {
    "Text": Kind(str, "text"),
    "bool": Kind(bool, "true or false"),
    "Count": Kind(
        int, "a whole number, 1 or more, below 2**31", lambda x: 1 <= x < 2**31
    ),
    "Seed": Kind(
        int, "a whole number, from 0 to below 2**24", lambda x: 0 <= x < 2**24
    ),
    "Share": Kind(float, "a number, from 0 to below 1", lambda x: 0 <= x < 1),
    "Positive": Kind(
        float, "a number, more than 0, at most 1e30", lambda x: 0 < x <= 1e30
    ),
    "Optimizer": Kind(str, "adam or muon", lambda x: x in ("adam", "muon")),
    "Precision": Kind(
        str, "auto, fp32 or bf16", lambda x: x in ("auto", "fp32", "bf16")
    ),
}


@dataclass(frozen=True)
class Config:
    """Hyperparameters of a training run; the defaults: a tiny Transformer on Multi30k.

    Attributes:
        data: The text: "multi30k", "toy", or a folder of text files; see
            :mod:`attnbook.translation.corpora`.
        source: Source language.
        target: Target language.
        vocab_size: Number of subwords; both languages share one vocabulary.
        model: The model: one of :data:`attnbook.models.registry.MODELS`.
        d_model: Width D.
        n_heads: Number H of heads. Recurrent models ignore it, and also ``n_layers``,
            ``d_ff`` and ``norm_first``.
        n_layers: Number of encoder layers, and of decoder layers.
        d_ff: Width of the feed-forward networks.
        norm_first: Whether to use pre-norm; False is the paper's post-norm.
        dropout: Dropout rate.
        batch_tokens: The optimisation: positions of a padded batch on each side.
        optimizer: "adam", whose learning rate falls with the inverse square root of
            the step, as in the paper, or "muon", for which it falls in a straight line
            to 0 at the end of the run: see :mod:`attnbook.translation.muon`.
        peak_learning_rate: Highest learning rate, of Adam. None: that of the paper's
            formula.
        warmup: Number of warm-up updates.
        smoothing: ε of label smoothing.
        max_epochs: Maximum number of epochs; see also :attr:`patience`.
        average: Number of last epochs whose weights are averaged.
        precision: The run: "fp32", "bf16", or "auto": the best one for the device.
        seed: Seed of weights, order of the data and dropout.

    Raises:
        ValueError: If an entry isn't of its kind, or both languages are the same.
    """

    data: Text = "multi30k"
    source: Text = "en"
    target: Text = "de"
    vocab_size: Count = 8000

    model: Text = "transformer"
    d_model: Count = 128
    n_heads: Count = 4
    n_layers: Count = 4
    d_ff: Count = 256
    norm_first: bool = False
    dropout: Share = 0.3

    batch_tokens: Count = 8192
    optimizer: Optimizer = "adam"
    peak_learning_rate: Positive | None = 5e-3
    warmup: Count = 2000
    smoothing: Share = 0.1
    max_epochs: Count = 108
    average: Count = 10

    precision: Precision = "auto"
    seed: Seed = 0

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if getattr(value, "ndim", None) == 0:  # NumPy's number becomes Python's
                value = value.item()
                object.__setattr__(self, field.name, value)
            _check_entry(field.name, field.type, value)
        if self.source == self.target:
            raise ValueError(
                f"source and target are both {self.source!r}; name two languages"
            )

    @property
    def patience(self) -> int:
        """Epochs without a lower validation loss before a run ends.

        A quarter of the longest run, but at least ten.
        """
        return max(10, self.max_epochs // 4)


def _check_entry(name: str, annotation: str, value: object) -> None:
    """Raise a ValueError unless a value is of the kind that its entry is annotated as.

    Python's True is an int, too, and an int will do for a float.
    """
    kind = KINDS[annotation.removesuffix(" | None")]
    types = (int, float) if kind.type is float else kind.type
    fits = isinstance(value, types) and isinstance(value, bool) == (kind.type is bool)
    if value is None:
        fits = annotation.endswith(" | None")
    elif fits:
        fits = kind.allows(value)
    if not fits:
        raise ValueError(f"{name} is {value!r}; it must be {kind.words}")


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

QUICK = replace(
    CPU,
    dropout=0.1,
    optimizer="muon",
    peak_learning_rate=8e-3,
    warmup=200,
    max_epochs=13,
    average=1,
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
        average=5,
    ),
    "multi30k-tiny": TINY,
    "multi30k-cpu": CPU,
    "multi30k-quick": QUICK,
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
        max_epochs=160,
        average=5,
    ),
}
"""Configs by name. "toy" needs seconds and no data. "small-data" is for some hundred to
some thousand lines of your own. "multi30k-tiny" has the sizes, dropout and learning
rate of Wu et al. 2021, and takes nearly 7,500 updates on a GPU; "multi30k-cpu" has the
same sizes and takes an hour and a half on one processor core; "multi30k-quick" takes
40 % of that time, and scores half a point of BLEU less. "base" is the base model of
Vaswani et al. 2017 with its batch size.

The runs on GPUs that the course reports were made by an earlier version (commit
``ee4e0849``), whose batches had fixed shapes, and which had the published recipe of
Wu et al. and those of the distilled translators, too."""


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


WORDS = {"none": "null", "true": "true", "false": "false"}
"""What Python's users write, in JSON."""


def _read(key: str, text: str) -> object:
    """Parse text from a command line as the type of the entry."""
    kind = next(f.type for f in fields(Config) if f.name == key)
    if KINDS[kind.removesuffix(" | None")].type is str:
        return text
    for parse in (json.loads, float):  # JSON has no .2 and no 5.
        try:
            return parse(WORDS.get(text.lower(), text))
        except ValueError:
            continue
    return text


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
    try:
        return changed(Config(), **values)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error


def from_stored(values: dict) -> Config:
    """Make a config from what stands in a trained model's facts.

    Other entries, of older versions, say how it was trained; using it needs none.
    """
    known = {field.name for field in fields(Config)}
    return Config(**{name: value for name, value in values.items() if name in known})
