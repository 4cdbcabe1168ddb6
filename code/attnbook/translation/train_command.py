"""``python -m attnbook train --config NAME``: train a translation model."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import torch

from attnbook.core.threads import set_threads
from attnbook.translation.configs import CONFIGS, Config, changed, config, from_json
from attnbook.translation.corpora import texts
from attnbook.translation.report import TESTS, finish
from attnbook.translation.trainer import Trainer


def main(arguments: Sequence[str] | None = None) -> None:
    """Train, or go on training, and report.

    Args:
        arguments: Those of the command line if not given.

    Raises:
        SystemExit: If a setting is wrong; the message says which.
    """
    parser = make_parser()
    chosen = parser.parse_args(arguments)
    set_threads()
    try:
        run = read_config(chosen)
        train(
            run, chosen.out or Path("runs") / f"{Path(chosen.config).stem}-{run.seed}"
        )
    except ValueError as error:
        parser.exit(2, f"error: {error}\n")


def make_parser() -> argparse.ArgumentParser:
    """Say what the command line may hold."""
    parser = argparse.ArgumentParser(
        prog="attnbook train",
        description="Train a translation model; the same command again goes on where a "
        "run was stopped.",
    )
    parser.add_argument(
        "--config",
        default="multi30k-tiny",
        metavar="NAME",
        help=f"{', '.join(CONFIGS)}, or a JSON file",
    )
    parser.add_argument(
        "--set",
        nargs="+",
        default=[],
        metavar="ENTRY=VALUE",
        help="entries of the config to change, such as seed=1 dropout=0.2",
    )
    parser.add_argument(
        "--out",
        type=Path,
        metavar="FOLDER",
        help="where the run is kept (runs/NAME-SEED); one that is there goes on",
    )
    return parser


def read_config(chosen: argparse.Namespace) -> Config:
    """Take the named config, with the entries that are to be changed.

    Raises:
        ValueError: If there is no such config or entry, or a value is not allowed.
    """
    changes = {}
    for text in chosen.set:
        key, equals, value = text.partition("=")
        if not equals:
            raise ValueError(f"--set {text}: write ENTRY=VALUE, such as seed=1")
        changes[key] = value
    if chosen.config.endswith(".json"):
        return changed(from_json(Path(chosen.config)), **changes)
    return config(chosen.config, **changes)


def train(run: Config, folder: Path) -> dict | None:
    """Train, or go on, to the end; then report.

    Returns:
        The results; None in all processes but the first.

    Raises:
        ValueError: If the data, the folder or the memory do not suffice.
    """
    trainer = None
    try:
        read_all(run)
        trainer = Trainer(run, folder)
        if trainer.processes.first:
            print(beginning(trainer), flush=True)
        trainer.train()
        if trainer.processes.first:
            results = finish(trainer)
            print(summary(results))
            print(f"try it: attnbook translate --model {folder / 'model'} SENTENCE")
            return results
    except (RuntimeError, MemoryError) as error:
        if not is_of_memory(error):
            raise
        raise ValueError(
            f"out of memory: lower batch_tokens (now {run.batch_tokens}) and raise "
            f"batches_per_update (now {run.batches_per_update}) by as much, and name a "
            "new folder with --out, since other batches are another run. (If another "
            f"program took the memory, the same command goes on in {folder}.) {error}"
        ) from error
    except OSError as error:
        raise ValueError(
            f"{folder} cannot be written ({error}). Once it can, the same command goes "
            "on from the last state in it."
        ) from error
    finally:
        if trainer:
            trainer.processes.close()
    return None


def read_all(run: Config) -> None:
    """Read every split once, so that none is missed only after hours of training.

    Raises:
        ValueError: If one of them cannot be read.
    """
    for split in ("train", "val", *TESTS.get(run.data, ("test",))):
        texts(run, split)


def is_of_memory(error: Exception) -> bool:
    """Whether memory was missing; without a CUDA GPU only the words tell it."""
    words = ("out of memory", "can't allocate memory", "not enough memory")
    named = isinstance(error, torch.OutOfMemoryError | MemoryError)
    return named or any(part in str(error) for part in words)


def beginning(trainer: Trainer) -> str:
    """Tell where a run is kept, what it runs on, and where it begins."""
    where = f"goes on after update {trainer.step}" if trainer.step else "begins"
    return (
        f"{trainer.folder}: {where}, {trainer.device.type}, {trainer.precision}, "
        f"at most {trainer.config.max_epochs} epochs"
    )


def summary(results: dict) -> str:
    """Write the scores and what they took, for people."""
    lines = [
        f"{results['parameters']:,} parameters, {results['updates']:,} updates, "
        f"{results['seconds']:,} s on {results['machine']}"
    ]
    for split, scores in results["scores"].items():
        for how, score in scores.items():
            lines.append(f"{split}, {how}: BLEU {score['bleu']:.1f}")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
