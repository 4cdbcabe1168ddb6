"""What the tests of training share: a few texts, a small config, runs in processes."""

import random
import subprocess
import sys

from attnbook.toy.language import sample_pair
from attnbook.translation.configs import CONFIGS, changed
from attnbook.translation.run_folder import read_metrics

LOG_EVERY = 4
"""Updates between two lines of the log; runs in the tests are short."""

PAIRS = {"train": 170, "val": 12, "test": 16}


def write_texts(folder, numbers=PAIRS, seed=0):
    """Files in the form of Multi30k: ``train.en``, ``train.de`` and so on."""
    rng = random.Random(seed)
    folder.mkdir(exist_ok=True)
    for split, number in numbers.items():
        pairs = [sample_pair(rng.choice((1, 2)), rng) for _ in range(number)]
        for language, side in (("en", "source"), ("de", "target")):
            lines = [" ".join(getattr(pair, side)) + "\n" for pair in pairs]
            (folder / f"{split}.{language}").write_text("".join(lines))
    return folder


def small_config(data, **changes):
    """A run of some seconds: two epochs of 13 updates."""
    return changed(
        CONFIGS["toy"],
        **{
            **{"data": str(data), "source": "en", "target": "de", "vocab_size": 120},
            **{"d_model": 32, "n_layers": 1, "d_ff": 32, "batch_tokens": 384},
            **{"warmup": 8, "peak_learning_rate": 1e-2, "max_epochs": 2},
        }
        | changes,
    )


def lines_of(folder):
    """The log of a run, without what depends on the clock."""
    lines = read_metrics(folder / "metrics.jsonl")
    for line in lines:
        line.pop("tokens_per_second", None)
        del line["seconds"]
    return lines


def command(*arguments, **kwargs):
    """Run ``python -m attnbook.…`` (or another module) and wait for its end."""
    return subprocess.run(
        [sys.executable, "-m", *map(str, arguments)],
        **{"capture_output": True, "encoding": "utf-8"} | kwargs,
    )
