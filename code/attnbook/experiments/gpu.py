"""All that the course would measure on a GPU, by one command.

    python -m attnbook.experiments.gpu --out runs/gpu

The parts come in this order, each with a file of its own, ``NAME.json``, in the folder:

- ``en_de``: three seeds of ``multi30k-tiny``, English to German;
- ``de_en``: three seeds the other way;
- ``speed``: what makes training fast, beside ``nn.Transformer`` and Marian;
- ``ladder``: recurrent models and the Transformer on the same data, one seed;
- ``ablation``: the Transformer with one thing changed, one seed;
- ``decoding``: epochs averaged and widths of the beam, on the first run;
- ``base``: speed at the paper's size.

All of it may take an hour of a fast GPU (an estimate). With half an hour, begin with
``--part en_de speed decoding base``.

``--part en_de speed`` takes some of them. ``--minutes 10`` stops in time. Whenever and
however it is stopped, the same command goes on: what is written is not done again, and
a training run goes on from its last state. ``--small`` tries all of it on a processor
in a minute, with data of its own.

A processor can make the training runs, too; each of ``de_en`` takes hours::

    python -m attnbook.experiments.gpu --config multi30k-cpu --at-once 1 --part de_en
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import NamedTuple

from attnbook.core.files import write_whole
from attnbook.core.threads import set_threads
from attnbook.translation.configs import config
from attnbook.translation.corpora import load_texts
from attnbook.translation.devices import best_device
from attnbook.translation.report import commit, hardware
from attnbook.translation.train_command import check_splits
from attnbook.translation.trainer import read_metrics

SEEDS = (0, 1, 2)
EQUAL = {
    "multi30k-tiny": {"seed": 1, "max_epochs": 60},
    "multi30k-cpu": {"seed": 1, "max_epochs": 10, "average": 3},
}
"""What the runs of ladder and ablation have in common, by the config that they change.
Of so few epochs the first ones must not come into the average."""

RECURRENT = {"d_model": 256, "peak_learning_rate": 3e-3, "precision": "fp32"}
LADDER: dict[str, dict] = {
    "initial_state": {"model": "initial_state", **RECURRENT},
    "static_context": {"model": "static_context", **RECURRENT},
    "bahdanau": {"model": "bahdanau", **RECURRENT},
    "transformer": {},
}
"""Changes of the config. The recurrent models are made twice as wide, so that they are
not the smaller ones. Of the peak rates 0.001 and 0.003 the first of them reached the
lower validation loss with the second, on a processor, after five epochs. They are
trained in fp32: whatever autocast is told, it runs cuDNN's GRU in fp16, in which their
gradients are lost."""

ABLATION: dict[str, dict] = {
    "as_it_is": {},
    "heads_1": {"n_heads": 1},
    "heads_8": {"n_heads": 8},
    "no_scale": {"variant": "no_scale"},
    "no_positions": {"variant": "no_positions"},
    "no_feed_forward": {"variant": "no_feed_forward"},
    "pre_norm": {"norm_first": True},
    "post_norm": {"norm_first": False},
    "smoothing_0": {"smoothing": 0.0},
    "dropout_0": {"dropout": 0.0},
    "dropout_0.1": {"dropout": 0.1},
    "r_drop_5": {"r_drop": 5.0},
    "lowercase": {"lowercase": True},
}
"""Changes of the config; one that it has already is left out."""

SMALL = {
    "source": "toy",
    "target": "invented",
    "vocab_size": 150,
    "d_model": 16,
    "n_layers": 1,
    "d_ff": 32,
    "batch_tokens": 256,
    "warmup": 10,
    "max_epochs": 2,
    "patience": 2,
    "average": 2,
    "precision": "fp32",
}
SMALL_LANGUAGES = {"en": "toy", "de": "invented"}
SMALL_SENTENCES = {"train": 120, "val": 4, "test": 4}


class Job(NamedTuple):
    """A program to run, and the file that it has written once it is done."""

    name: str
    command: Sequence[str]
    result: Path


class Plan(NamedTuple):
    """What decides which jobs there are."""

    out: Path
    small: bool = False
    config: str = "multi30k-tiny"

    def training(self, part: str, name: str, **changes: object) -> Job:
        """A training run in a folder of its own."""
        folder = self.out / part / name
        entries = [f"{key}={value}" for key, value in self.changes(changes).items()]
        command = ["attnbook.translation.train_command", "--config", self.config]
        command += ["--set", *entries, "--out", str(folder)]
        return Job(name, command, folder / "results.json")

    def changes(self, wanted: dict) -> dict:
        """The changes of the config; of a trial also what makes it small."""
        if not self.small:
            return wanted
        large = ("max_epochs", "average", *RECURRENT)
        kept = {k: v for k, v in wanted.items() if k not in large}
        turned = {k: SMALL_LANGUAGES[v] for k, v in kept.items() if v in ("en", "de")}
        return {**SMALL, "data": str(self.out / "data"), **kept, **turned}

    def speed(self, part: str, work: str, kind: str) -> Job:
        """Speeds of one kind."""
        result = self.out / part / f"{work}_{kind}.json"
        work, rounds = ("small", 1) if self.small else (work, 5)
        command = ["attnbook.experiments.speed.report", "--work", work]
        command += ["--kinds", kind, "--rounds", str(rounds), "--json", str(result)]
        return Job(result.stem, command, result)

    def decoding(self, part: str) -> Job:
        """Other decodings of the first run of all."""
        result = self.out / part / "decodings.json"
        folder = self.out / "en_de" / "seed_0"
        command = ["attnbook.experiments.run_decodings", str(folder), str(result)]
        return Job(result.stem, command, result)

    def jobs(self, part: str) -> list[Job]:
        """The jobs of a part; of a trial the first and the last of them."""
        jobs = self.all_jobs(part)
        return jobs[:: max(len(jobs) - 1, 1)] if self.small else jobs

    def all_jobs(self, part: str) -> list[Job]:
        """The jobs of a part."""
        if part == "en_de":
            return [self.training(part, f"seed_{seed}", seed=seed) for seed in SEEDS]
        if part == "de_en":
            way = {"source": "de", "target": "en"}
            return [self.training(part, f"seed_{s}", seed=s, **way) for s in SEEDS]
        if part == "speed":
            kinds = ("eager", "decoding", "compiled", "compiled_peers")
            return [self.speed(part, "tiny", kind) for kind in kinds]
        if part == "base":
            return [self.speed(part, "base", kind) for kind in ("eager", "compiled")]
        if part == "decoding":
            return [self.decoding(part)]
        basis = asdict(config(self.config))
        return [
            self.training(part, name, **EQUAL[self.config], **change)
            for name, change in {"ladder": LADDER, "ablation": ABLATION}[part].items()
            if not change or not change.items() <= basis.items()
        ]


PARTS = ("en_de", "de_en", "speed", "ladder", "ablation", "decoding", "base")
ALONE = ("speed", "decoding", "base")
"""Parts whose times would suffer if two of their jobs ran at once."""


LAST_SECONDS = 20
"""How long a program that was told to end may take for it."""


class Clock:
    """Tells when the time is over.

    Args:
        minutes: From now on; None for as long as it takes.
    """

    def __init__(self, minutes: float | None = None):
        now = time.monotonic()
        self.end = float("inf") if minutes is None else now + 60 * minutes

    @property
    def over(self) -> bool:
        """Whether it is."""
        return time.monotonic() >= self.end


def run_jobs(jobs: Sequence[Job], at_once: int, clock: Clock) -> dict[str, str]:
    """Run what is not done yet, several programs at a time.

    One that fails leaves the others alone. When the time is over all are ended, which
    costs a training run what it did since its last state.

    Args:
        jobs: The jobs.
        at_once: How many may run at a time.
        clock: Tells when to stop.

    Returns:
        Why a job is not done, by its name; empty if all are.
    """
    waiting = [job for job in jobs if not job.result.exists()]
    missing = {job.name: "the time was over" for job in waiting}
    running: list[tuple[Job, subprocess.Popen]] = []
    try:
        while (waiting or running) and not clock.over:
            while waiting and len(running) < at_once:
                running.append((waiting[0], start(waiting.pop(0))))
            time.sleep(0.05)
            for job, program in [
                pair for pair in running if pair[1].poll() is not None
            ]:
                running.remove((job, program))
                missing[job.name] = log_of(job).read_text(encoding="utf-8")[-1000:]
                if job.result.exists():
                    del missing[job.name]
                state = "failed" if job.name in missing else "done"
                print(f"  {job.name}: {state}", flush=True)
    finally:
        for _, program in running:
            program.terminate()
        for _, program in running:
            try:
                program.wait(LAST_SECONDS)
            except subprocess.TimeoutExpired:
                program.kill()
    return missing


def start(job: Job) -> subprocess.Popen:
    """Start a job's program; what it says goes to a file beside its result."""
    job.result.parent.mkdir(parents=True, exist_ok=True)
    with log_of(job).open("w") as log:
        return subprocess.Popen(
            [sys.executable, "-m", *job.command], stdout=log, stderr=subprocess.STDOUT
        )


def log_of(job: Job) -> Path:
    """Where a job's program writes what it has to say."""
    return job.result.with_suffix(".log")


def run_part(part: str, plan: Plan, at_once: int, clock: Clock) -> bool:
    """Do a part, as far as it is not done, and write its file.

    Returns:
        Whether it is whole.
    """
    path = plan.out / f"{part}.json"
    if path.exists() and not json.loads(path.read_text())["missing"]:
        print(f"{part}: there already")
        return True
    print(f"{part}: begins", flush=True)
    jobs, began = plan.jobs(part), time.monotonic()
    missing = run_jobs(jobs, 1 if part in ALONE else at_once, clock)
    values = {
        "part": part,
        "machine": hardware(best_device()),
        "commit": commit(),
        "jobs_at_once": 1 if part in ALONE else at_once,
        "seconds_of_this_call": round(time.monotonic() - began),
        "missing": missing,
        "runs": {job.name: found(job) for job in jobs if job.result.exists()},
    }
    values["bleu"] = means(list(values["runs"].values()))
    write_whole(path, json.dumps(values, indent=1, ensure_ascii=False) + "\n")
    for name, why in missing.items():
        print(f"  {name} is missing: {why.strip().rpartition(chr(10))[2]}")
    return not missing


def found(job: Job) -> dict:
    """What a job wrote; of a training run its log too."""
    values = json.loads(job.result.read_text(encoding="utf-8"))
    metrics = job.result.with_name("metrics.jsonl")
    return values | ({"log": read_metrics(metrics)} if metrics.exists() else {})


def means(runs: Sequence[dict]) -> dict:
    """Mean and standard deviation of BLEU over runs that differ in their seed alone.

    Returns:
        By split and decoding "mean", "sd" and "n"; nothing where runs differ otherwise
        or there is one alone.
    """
    kinds = {json.dumps({**run.get("config", {}), "seed": 0}) for run in runs}
    if len(kinds) != 1 or len(runs) < 2 or "scores" not in runs[0]:
        return {}
    table: dict = {}
    for split, scores in runs[0]["scores"].items():
        for how in scores:
            values = [run["scores"][split][how]["bleu"] for run in runs]
            table.setdefault(split, {})[how] = {
                "mean": statistics.mean(values),
                "sd": statistics.stdev(values),
                "n": len(values),
            }
    return table


def write_small_data(folder: Path) -> None:
    """Write a few sentences of the toy language, as files that a config can name."""
    folder.mkdir(parents=True, exist_ok=True)
    for split, number in SMALL_SENTENCES.items():
        both = load_texts(config("toy"), split)
        for language, lines in zip(("toy", "invented"), both, strict=True):
            text = "\n".join(lines[:number]) + "\n"
            (folder / f"{split}.{language}").write_text(text, encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> None:
    """Do the parts, one after the other.

    Args:
        arguments: Those of the command line if not given.

    Raises:
        SystemExit: With 1 if something is missing in the end.
    """
    parser = argparse.ArgumentParser(
        prog="python -m attnbook.experiments.gpu",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--out", type=Path, default=Path("runs/gpu"), metavar="FOLDER")
    parser.add_argument("--part", nargs="+", default=PARTS, choices=PARTS)
    parser.add_argument("--config", default="multi30k-tiny", choices=EQUAL)
    parser.add_argument("--minutes", type=float, help="stop after as many")
    parser.add_argument("--at-once", type=int, default=3, help="runs on the one GPU")
    parser.add_argument("--small", action="store_true", help="try it on a processor")
    chosen = parser.parse_args(arguments)
    set_threads()
    clock = Clock(chosen.minutes)
    plan = Plan(chosen.out, chosen.small, chosen.config)
    if chosen.small:
        write_small_data(chosen.out / "data")
    else:
        check_splits(config(plan.config))  # download once, not in each run
    whole = [
        run_part(part, plan, chosen.at_once, clock)
        for part in PARTS
        if part in chosen.part
    ]
    if not all(whole):
        parser.exit(1, "not all is there; the same command goes on\n")


if __name__ == "__main__":
    main()
