"""The peak learning rate of each model of the comparison, chosen on validation data.

    python benchmarks/learning_rates.py --out runs/learning_rates

Every model gets the same rates to choose from and the same number of epochs. A run that
was stopped is resumed by the same command, and a finished one is not repeated.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

from attnbook.core.files import write_whole
from attnbook.core.threads import set_threads
from attnbook.translation.configs import Config, config
from attnbook.translation.run_folder import read_metrics
from attnbook.translation.trainer import Trainer
from gpu import LADDER

RATES = (1e-3, 3e-3)
EPOCHS = 5  # 1,230 updates, of which 800 are the warm-up


def short_run(model: str, rate: float, base: str = "multi30k-cpu") -> Config:
    """The config of one run."""
    changes = {**LADDER[model], "peak_learning_rate": rate}
    return config(base, seed=1, max_epochs=EPOCHS, **changes)


def losses(run: Config, folder: Path) -> list[float]:
    """Train, or resume, and return the validation loss after each epoch."""
    log = read_metrics(folder / "metrics.jsonl")
    if not any(line.get("validation_loss") and line["epoch"] == EPOCHS for line in log):
        Trainer(run, folder).train(bar=False)
        log = read_metrics(folder / "metrics.jsonl")
    return [line["validation_loss"] for line in log if "validation_loss" in line]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run all models with all rates, or some.

    Args:
        arguments: By default those of the command line.
    """
    parser = argparse.ArgumentParser(
        prog="python benchmarks/learning_rates.py",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--out", type=Path, default=Path("runs/learning_rates"))
    parser.add_argument("--models", nargs="+", default=[*LADDER], choices=LADDER)
    parser.add_argument("--rates", nargs="+", type=float, default=RATES)
    chosen = parser.parse_args(arguments)
    set_threads()
    path = chosen.out / "learning_rates.json"
    table = json.loads(path.read_text("utf-8")) if path.exists() else {}
    for model in chosen.models:
        for rate in chosen.rates:
            run = short_run(model, rate)
            found = losses(run, chosen.out / f"{model}_{rate:g}")
            table.setdefault(model, {})[f"{rate:g}"] = found
            write_whole(path, json.dumps(table, indent=1) + "\n")
            print(f"{model}, {rate:g}: {', '.join(f'{x:.3f}' for x in found)}")


if __name__ == "__main__":
    main()
