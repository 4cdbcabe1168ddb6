"""``attnbook train``: train a translation model, or resume its training."""

from __future__ import annotations

import math
import os
import shlex
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path

import click
import torch
from torch.distributed import DistBackendError

from attnbook.core.devices import DEVICES, choose_device
from attnbook.core.divergence import DivergedError
from attnbook.core.signals import Ended, last_words, on_signal
from attnbook.core.threads import set_threads
from attnbook.translation.configs import CONFIGS, Config, changed, config, from_json
from attnbook.translation.corpora import holds_out, load_texts
from attnbook.translation.distributed import is_first
from attnbook.translation.report import HEADLINES, may_test, test_splits, write_results
from attnbook.translation.trainer import Trainer
from attnbook.translation.training_state import read_state

EXAMPLES = """\b
Examples:
  attnbook train --config toy            (half a minute, no data)
  attnbook train   (on one core, 40 minutes; 2 MB of data)
  attnbook train --config multi30k-cpu --set n_heads=8 --out runs/heads-8
  attnbook train --set data=FOLDER source=en target=it
      (your own text: a sentence a line in FOLDER/train.en and FOLDER/train.it)
  torchrun --nproc-per-node 4 -m attnbook train   (on four GPUs)
"""

SMALL = 10_000
"""Fewer lines of text than these are trained on with the config "small-data"."""


@click.command(
    "train",
    short_help="Train a translation model, or resume a run.",
    epilog=EXAMPLES,
)
@click.option(
    "--config",
    "name",
    metavar="NAME",
    help=f"{', '.join(CONFIGS)}, or a JSON file. If not given: multi30k-tiny on a GPU, "
    "multi30k-quick without one; small-data for fewer than 10,000 lines of your own.",
)
@click.option(
    "--set",
    "changes",
    multiple=True,
    metavar="ENTRY=VALUE...",
    help="Entries of the config to change, such as seed=1 dropout=0.2.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="Folder of the run; if not given, runs/NAME-SEED. A run that is there already "
    "is resumed.",
)
@click.option(
    "--device",
    type=click.Choice(DEVICES),
    default="auto",
    help="Where to compute; auto takes a GPU if there is one.",
)
@click.argument("more_changes", nargs=-1, metavar="")
def train_command(
    name: str | None,
    changes: tuple[str, ...],
    out: Path | None,
    device: str,
    more_changes: tuple[str, ...],
) -> None:
    """Train a translation model; the same command resumes a run that was stopped.

    Ctrl-C saves the state and stops. At the end the model is tested, and stands in the
    run's folder.
    """
    set_threads()
    entries = [*changes, *more_changes]
    data = [text.removeprefix("data=") for text in entries if text.startswith("data=")]
    name = name or default_config(device, *data[-1:])
    run = read_config(name, entries)
    folder = out or Path("runs") / f"{Path(name).stem}-{run.seed}"
    words = f"stopped; the same command resumes the run in {folder}"
    with last_words(lambda: words if is_first() else ""):
        train(run, folder, device)


def default_config(device: str, data: str = "") -> str:
    """The name of the config that suits a device, and the reader's own text."""
    files = Path(data).expanduser().glob("train.*") if data else ()
    if any(path.read_bytes().count(b"\n") < SMALL for path in files):
        return "small-data"
    cpu = choose_device(device).type == "cpu"
    return "multi30k-quick" if cpu else "multi30k-tiny"


def read_config(name: str, entries: Sequence[str]) -> Config:
    """The config that the command line names, with its changes.

    Args:
        name: Of a config, or a JSON file.
        entries: Changes, as ENTRY=VALUE.

    Raises:
        ValueError: If there is no such config or entry, or a value is invalid.
    """
    changes = {}
    for text in entries:
        key, equals, value = text.partition("=")
        if not equals:
            hint = f", or --config {text}" if text in CONFIGS else ""
            raise ValueError(f"{text}: write ENTRY=VALUE, such as seed=1{hint}")
        changes[key] = value
    if name.endswith(".json"):
        return changed(from_json(Path(name)), **changes)
    return config(name, **changes)


def train(run: Config, folder: Path, device: str = "auto") -> dict | None:
    """Train, or resume training, to the end; then report the results.

    Returns:
        The results; None in all processes but the first.

    Raises:
        ValueError: If data is missing, the folder cannot be written, or memory is not
            sufficient, or training diverged.
        Ended: If the program was asked to end; the state has been saved.
    """
    trainer = None
    try:
        for split in ("train", "val", *test_splits(run)):
            load_texts(run, split)  # a missing one is told now, not at the end
        trainer = Trainer(run, folder, device)
        if trainer.first:
            click.echo("\n".join([start_message(trainer), *remarks(trainer)]))
        train_until_asked(trainer)
        return report(trainer) if trainer.first else None
    except DivergedError as error:
        raise ValueError(f"{error}. {after_divergence(trainer)}") from error
    except (RuntimeError, MemoryError) as error:
        if isinstance(error, DistBackendError) or "by peer" in str(error):
            raise ValueError(
                "another process of this run has ended; its own message says why, and "
                f"the same command resumes the run in {folder}"
            ) from error
        if not is_out_of_memory(error):
            raise
        raise ValueError(
            f"out of memory: lower batch_tokens (now {run.batch_tokens}), and name a "
            "new folder with --out, since other batches make another run. (If another "
            f"program took the memory, the same command resumes the run in {folder}; "
            "on a GPU, so it does with precision=bf16, which takes less.) "
            f"{error}"
        ) from error
    except BrokenPipeError:  # of the output, which nobody reads any more
        raise
    except OSError as error:
        raise ValueError(
            f"{folder} cannot be written ({error}). Once it can, the same command "
            "resumes the run from its last state."
        ) from error
    finally:
        if trainer:
            trainer.close()


def after_divergence(trainer: Trainer) -> str:
    """What to try when training has diverged, and what is kept."""
    run, kept = trainer.config, "no state was saved yet"
    text = (
        f"This run has peak_learning_rate={run.peak_learning_rate} and "
        f"warmup={run.warmup}: choose others, and another folder with --out"
    )
    if trainer.finished:  # it would end the same way again
        return f"{text}."
    if trainer.last.exists():
        update = read_state(trainer.last)[1]["step"]
        kept = f"the state after update {update} is kept, and nothing since"
    text = f"{text}. In {trainer.folder} {kept}"
    if trainer.precision == torch.float32:
        return f"{text}."
    return f"{text}; precision=fp32 may help, and goes on from there."


def report(trainer: Trainer) -> dict:
    """Test the model of a finished run, and say what came out."""
    if trainer.ended_early:
        click.echo(
            f"stopped after {trainer.step:,} updates: no lower validation loss for "
            f"{trainer.epochs_without_gain} epochs"
        )
    results = write_results(trainer)
    click.echo(summary(results))
    click.echo(f"try it: {example_command(trainer.config, trainer.folder)}")
    return results


def train_until_asked(trainer: Trainer) -> None:
    """Train to the end, or until a signal; the state is then saved.

    Raises:
        Ended: If there was a signal; at a second one at once, without saving.
    """
    signals: list[int] = []
    patience = 2 if trainer.world > 1 else 1  # torchrun sends Ctrl-C on

    def stop(number: int) -> None:
        if len(signals) >= patience:
            raise Ended(number)
        signals.append(number)
        trainer.stop()

    with on_signal(stop):
        trainer.train()
    if trainer.stopped:  # perhaps by a signal to another of several processes
        raise Ended(signals[0] if signals else signal.SIGTERM)


def is_out_of_memory(error: Exception) -> bool:
    """Whether memory was exhausted; without CUDA only the message tells it."""
    phrases = ("out of memory", "can't allocate memory", "not enough memory")
    phrases += ("ALLOC_FAILED", "bad_alloc")  # of cuBLAS and cuDNN, and of C++
    typed = isinstance(error, torch.OutOfMemoryError | MemoryError)
    return typed or any(phrase in str(error) for phrase in phrases)


def start_message(trainer: Trainer) -> str:
    """The folder of a run, whether it is resumed, its device and its precision."""
    where = f"resumes after update {trainer.step}" if trainer.step else "begins"
    return (
        f"{trainer.folder}: {where}, {trainer.device.type}, {trainer.precision}, "
        f"at most {trainer.config.max_epochs} epochs"
    )


def remarks(trainer: Trainer) -> list[str]:
    """What isn't as one might expect: a validation split, a test, a rate's peak."""
    found, run = [], trainer.config
    if holds_out(run):
        found.append(
            f"{run.data} has no val.{run.source} and val.{run.target}: "
            f"{len(trainer.val_pairs)} pairs of train are held out to validate with"
        )
    if not may_test(run):
        found.append(
            "this recipe is compared on validation data; Multi30k's test sets are for "
            f"those of {', '.join(HEADLINES)}"
        )
    if trainer.updates <= run.warmup:
        needed = math.ceil(5 * run.warmup * run.max_epochs / trainer.updates)
        found.append(
            f"warning: the learning rate rises over {run.warmup} updates, and the run "
            f"has {trainer.updates}: add max_epochs={needed}, or lower warmup"
        )
    return found


def summary(results: dict) -> str:
    """The scores of a run, its parameters, updates and time, as text."""
    lines = [
        f"{results['parameters']:,} parameters, {results['updates']:,} updates, "
        f"{results['seconds']:,} s on {results['machine']}"
    ]
    tests = results["scores"] or {"val": results["validation_scores"]}
    for split, scores in tests.items():
        for how, score in scores.items():
            lines.append(f"{split}, {how}: BLEU {score['bleu']:.1f}")
    return "\n".join(lines)


def example_command(run: Config, folder: Path) -> str:
    """A command that translates the first unseen sentence by a run's model."""
    sentence = load_texts(run, (*test_splits(run), "val")[0]).source[0]
    command = ["attnbook", "translate", "--model", str(folder), sentence]
    windows = os.name == "nt"  # whose shell takes single quotes for letters
    return subprocess.list2cmdline(command) if windows else shlex.join(command)
