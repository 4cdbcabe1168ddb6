"""``python -m attnbook train --config NAME``: train a translation model."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import torch

from attnbook.core.threads import set_threads
from attnbook.translation.configs import CONFIGS, Config, changed, config, from_json
from attnbook.translation.corpora import load_texts
from attnbook.translation.report import TEST_SPLITS, finish
from attnbook.translation.trainer import Trainer


def main(arguments: Sequence[str] | None = None) -> None:
    """Train, or resume training, and report the results.

    Args:
        arguments: By default those of the command line.

    Raises:
        SystemExit: If a setting is invalid; the message names it.
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
    """The parser of the command line."""
    parser = argparse.ArgumentParser(
        prog="attnbook train",
        description="Train a translation model; the same command resumes a stopped "
        "run.",
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
        help="folder of the run (runs/NAME-SEED); an existing run is resumed",
    )
    return parser


def read_config(chosen: argparse.Namespace) -> Config:
    """The config that the command line names, with its changes.

    Raises:
        ValueError: If there is no such config or entry, or a value is invalid.
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
    """Train, or resume training, to the end; then report the results.

    Returns:
        The results; None in all processes but the first.

    Raises:
        ValueError: If data is missing, the folder cannot be written, or memory is not
            sufficient.
    """
    trainer = None
    try:
        check_splits(run)
        trainer = Trainer(run, folder)
        if trainer.processes.first:
            print(start_message(trainer), flush=True)
        trainer.train()
        if trainer.processes.first:
            results = finish(trainer)
            print(summary(results))
            print(f"try it: attnbook translate --model {folder / 'model'} SENTENCE")
            return results
    except (RuntimeError, MemoryError) as error:
        if not is_out_of_memory(error):
            raise
        raise ValueError(
            f"out of memory: lower batch_tokens (now {run.batch_tokens}) and raise "
            f"batches_per_update (now {run.batches_per_update}) by the same factor, "
            "and name a new folder with --out, since other batches make another run. "
            "(If another program took the memory, the same command resumes the run in "
            f"{folder}.) {error}"
        ) from error
    except OSError as error:
        raise ValueError(
            f"{folder} cannot be written ({error}). Once it can, the same command "
            "resumes the run from its last state."
        ) from error
    finally:
        if trainer:
            trainer.processes.close()
    return None


def check_splits(run: Config) -> None:
    """Load every split once, so that a missing one is noticed before training.

    Raises:
        ValueError: If a split cannot be read.
    """
    for split in ("train", "val", *TEST_SPLITS.get(run.data, ("test",))):
        load_texts(run, split)


def is_out_of_memory(error: Exception) -> bool:
    """Whether memory was exhausted; without CUDA only the message tells it."""
    phrases = ("out of memory", "can't allocate memory", "not enough memory")
    typed = isinstance(error, torch.OutOfMemoryError | MemoryError)
    return typed or any(phrase in str(error) for phrase in phrases)


def start_message(trainer: Trainer) -> str:
    """The folder of a run, whether it is resumed, its device and its precision."""
    where = f"resumes after update {trainer.step}" if trainer.step else "begins"
    return (
        f"{trainer.folder}: {where}, {trainer.device.type}, {trainer.precision}, "
        f"at most {trainer.config.max_epochs} epochs"
    )


def summary(results: dict) -> str:
    """The scores of a run, its parameters, updates and time, as text."""
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
