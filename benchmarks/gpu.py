"""All measurements of the course that need a GPU, by one command.

    python benchmarks/gpu.py --out runs/gpu

With half an hour, take the three commands of ``benchmarks/half_hour.py`` instead. The
parts, in this order, each with its own file ``NAME.json`` in the folder:

- ``smoke``: what is there, and which way of training works and is fastest;
- ``en_de``: three seeds of ``multi30k-tiny``, English to German;
- ``de_en``: three seeds in the other direction;
- ``speed``: what makes training fast, compared with ``nn.Transformer`` and Marian;
- ``base``: the same at the paper's size;
- ``decoding``: averaged epochs and beam widths, on the first run;
- ``costs``: time and memory of attention, by length;
- ``compiled``: ``torch.compile``, for ours and for the others;
- ``published``: three seeds of ``multi30k-published``, which needs ``sacremoses``;
- ``recipe``: from the published recipe to ours, and beyond, one seed;
- ``distilled``, ``distilled_de_en``: three seeds of ``multi30k-distilled-tiny`` in each
  direction, whose texts ``benchmarks/distil.py`` writes before;
- ``pre_norm``: three seeds of ``multi30k-tiny`` in pre-norm;
- ``published_text``, ``published_merges``: three seeds of ``multi30k-published``, with
  plain text, and with 8,000 subwords;
- ``ladder``: recurrent models and the Transformer on the same data, one seed;
- ``ablation``: the Transformer with one thing changed, one seed;
- ``ablation_seed_2``: the ablation with another seed.

``--part en_de speed`` selects parts, ``--set max_epochs=60`` changes the config of all
training runs. ``--minutes 10`` stops in time. Whenever it is stopped, its programs end
with it, and the same command resumes: finished jobs are not repeated, a training run
continues from its last state, a table of speeds from its last row. ``--pack FILE``
keeps one file with all results so far; ``--unpack FILE`` begins with one.
``--small`` is a trial on a CPU that takes a minute or two, with data of its own.

A CPU can do the training runs, too; each of ``de_en`` takes hours::

    python benchmarks/gpu.py --config multi30k-cpu --at-once 1 --part de_en
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import NamedTuple

import children
from attnbook.core.devices import choose_device
from attnbook.core.files import read_object, write_whole
from attnbook.core.signals import last_words
from attnbook.core.threads import set_threads
from attnbook.translation.configs import config
from attnbook.translation.corpora import load_texts
from attnbook.translation.report import commit, hardware
from attnbook.translation.run_folder import read_metrics
from attnbook.translation.train_command import check_splits, read_config
from growing import part_of
from packing import Packer, unpack
from smoke import WAYS

OVER = "the time was over"
SEEDS = (0, 1, 2)
EQUAL = {
    "multi30k-tiny": {"seed": 1, "max_epochs": 60},
    "multi30k-published": {"seed": 1, "max_epochs": 60},
    "multi30k-cpu": {"seed": 1, "max_epochs": 10, "average": 3},
}
"""Common changes of all runs of ladder and ablation, by config. With so few epochs, the
first ones must not be averaged."""

COMPARED = {"few_shapes": False, "peak_learning_rate": 3e-3, "score_tests": False}
RECURRENT = {"d_model": 256, **COMPARED}
LADDER: dict[str, dict] = {
    "initial_state": {"model": "initial_state", **RECURRENT},
    "static_context": {"model": "static_context", **RECURRENT},
    "bahdanau": {"model": "bahdanau", **RECURRENT},
    "luong": {"model": "luong", **RECURRENT},
    "transformer": COMPARED,
}
"""Changes of the config. The recurrent models are twice as wide, so that they are not
smaller: without word tables they have 1.2 to 2.0 million parameters, the Transformer
1.3. All have one word table, and the same dropout, smoothing, batches and epochs. Every
model has the better of two peak learning rates, 0.001 and 0.003, which is 0.003 for all
of them (:mod:`learning_rates`)."""

ABLATION: dict[str, dict] = {
    "as_it_is": {},
    "heads_1": {"n_heads": 1},
    "heads_8": {"n_heads": 8},
    "no_scale": {"variant": "no_scale"},
    "no_positions": {"variant": "no_positions"},
    "no_feed_forward": {"variant": "no_feed_forward"},
    "pre_norm": {"norm_first": True},
    "post_norm": {"norm_first": False},
    "post_norm_slow": {"norm_first": False, "peak_learning_rate": 1e-3},
    "smoothing_0": {"smoothing": 0.0},
    "dropout_0": {"dropout": 0.0},
    "dropout_0.1": {"dropout": 0.1},
    "r_drop_5": {"r_drop": 5.0},
    "lowercase": {"lowercase": True},
    "fp32": {"precision": "fp32"},
    "seed_2": {"seed": 2},
}
"""Changes of the config; one that is its default is left out. "seed_2" tells how much
chance alone may change, and "post_norm_slow" whether the learning rate is to blame."""

ABLATION_SEED_2 = {
    name: {**change, "seed": 2}
    for name, change in ABLATION.items()
    if name not in ("as_it_is", "seed_2")
}
"""The same with another seed, but for "seed_2", which is the unchanged model's."""

WHOLE = {"seed": 0, "max_epochs": 116, "score_tests": False}
PRE_NORM = {**WHOLE, "norm_first": True, "dropout": 0.2}
RECIPE: dict[str, dict] = {
    "accumulated": {
        **WHOLE,
        **{"batch_tokens": 4096, "batches_per_update": 2, "clip": 25.0},
    },
    "pre_norm": {**WHOLE, "norm_first": True},
    "pre_norm_dropout_0.2": PRE_NORM,
    "to_zero": {**WHOLE, "decay_to_zero": True},
    "r_drop": {**WHOLE, "r_drop": 5.0},
    "r_drop_to_zero": {**WHOLE, "r_drop": 5.0, "decay_to_zero": True},
    "pre_norm_to_zero": {**PRE_NORM, "decay_to_zero": True},
    "pre_norm_r_drop_to_zero": {**PRE_NORM, "r_drop": 5.0, "decay_to_zero": True},
}
"""From the published recipe (``--config multi30k-published``) over the runs of "en_de"
to that of ``multi30k-cpu``, and beyond, with as many updates."""

REVERSE = {"source": "de", "target": "en"}
SEEDED: dict[str, tuple[str | None, dict]] = {
    "en_de": (None, {}),
    "de_en": (None, REVERSE),
    "published": ("multi30k-published", {}),
    "distilled": ("multi30k-distilled-tiny", {}),
    "distilled_de_en": (
        "multi30k-distilled-tiny",
        {**REVERSE, "data": "runs/distilled_de_en/both"},
    ),
    "pre_norm": ("multi30k-tiny", {"norm_first": True, "score_tests": False}),
    "published_text": ("multi30k-published", {"lowercase": False, "moses": False}),
    "published_merges": ("multi30k-published", {"vocab_size": 8000}),
}
"""Parts of three seeds each: their config, by default the one of the command line, and
its changes."""

COMPARISONS = {
    "ladder": LADDER,
    "ablation": ABLATION,
    "ablation_seed_2": ABLATION_SEED_2,
}
"""By part the changes of the config, by the name of a run."""

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
    "moses": False,
}
SMALL_LANGUAGES = {"en": "toy", "de": "invented"}
SMALL_SENTENCES = {"train": 120, "val": 4, "test": 4}


REMEDY = "delete the file, and the same command makes it again"
"""What to do about a result that cannot be read."""


class Job(NamedTuple):
    """A program to run, and the file that it writes at the end."""

    name: str
    command: Sequence[str]
    result: Path


class Plan(NamedTuple):
    """Options that determine the jobs."""

    out: Path
    small: bool = False
    config: str = "multi30k-tiny"
    entries: tuple[str, ...] = ()

    def facts(self, part: str) -> dict[str, object]:
        """What must be the same for all calls that work on a part."""
        facts: dict[str, object] = {"small": self.small, "config": self.config}
        if part in TRAINED and self.entries:
            facts["set"] = list(self.entries)
        return facts

    def training(self, part: str, name: str, **changes: object) -> Job:
        """A training run in its own folder."""
        folder = self.out / part / name
        own = dict(entry.split("=", 1) for entry in self.entries)
        entries = [f"{k}={v}" for k, v in {**self.changes(changes), **own}.items()]
        command = ["attnbook", "train", "--config", self.config]
        command += ["--set", *entries, "--out", str(folder)]
        return Job(name, command, folder / "results.json")

    def changes(self, wanted: dict) -> dict:
        """The changes of the config, with those that make a trial small."""
        if not self.small:
            return wanted
        large = ("max_epochs", "patience", "average", "d_model", "peak_learning_rate")
        large += ("vocab_size", "data")
        kept = {k: v for k, v in wanted.items() if k not in large}
        languages = {
            k: SMALL_LANGUAGES[v] for k, v in kept.items() if v in ("en", "de")
        }
        return {**SMALL, "data": str(self.out / "data"), **kept, **languages}

    def speed(self, part: str, work: str, kind: str) -> Job:
        """Speed measurements of one kind."""
        result = self.out / part / f"{work}_{kind}.json"
        work, rounds = ("small", 1) if self.small else (work, 5)
        command = ["speed.report", "--work", work]
        command += ["--kinds", kind, "--rounds", str(rounds), "--json", str(result)]
        return Job(result.stem, command, result)

    def other(self, part: str) -> Job:
        """The only job of a part that has a program of its own."""
        result = self.out / part / f"{part}.json"
        command = {
            "decoding": ["run_decodings", str(self.out / "en_de" / "seed_0")],
            "costs": ["attention_costs", *["--small"] * self.small, "--json"],
        }[part]
        return Job(part, [*command, str(result)], result)

    def smoke(self, part: str, way: str) -> Job:
        """A training of seconds."""
        command = self.training(part, way, **WAYS[way]).command
        name, entries = command[3], command[5:-2]
        result = self.out / part / f"{way}.json"
        run = str(self.out / part / way)
        return Job(way, ["smoke", run, name, *entries, str(result)], result)

    def jobs(self, part: str) -> list[Job]:
        """The jobs of a part; in a trial only the first and the last."""
        jobs = self.all_jobs(part)
        return jobs[:: max(len(jobs) - 1, 1)] if self.small else jobs

    def all_jobs(self, part: str) -> list[Job]:
        """The jobs of a part."""
        if part == "smoke":
            return [self.smoke(part, way) for way in WAYS]
        if part in SEEDED:
            own, changes = SEEDED[part]
            plan = self._replace(config=own or self.config)
            return [
                plan.training(part, f"seed_{seed}", seed=seed, **changes)
                for seed in SEEDS
            ]
        if part == "recipe":
            return [self.training(part, name, **RECIPE[name]) for name in RECIPE]
        if part in SPEEDS:
            return [self.speed(part, work, kind) for work, kind in SPEEDS[part]]
        if part not in COMPARISONS:
            return [self.other(part)]
        equal = {**EQUAL[self.config], "score_tests": False}
        return [
            self.training(part, name, **{**equal, **change})
            for name, change in COMPARISONS[part].items()
            if self.differs(change)
        ]

    def differs(self, change: dict) -> bool:
        """Whether a change, but for the seed, isn't what the config has anyway."""
        others = {key: value for key, value in change.items() if key != "seed"}
        return not others or not others.items() <= asdict(config(self.config)).items()


SPEEDS = {
    "speed": (("tiny", "eager"), ("tiny", "decoding")),
    "base": (("base", "eager"),),
    "compiled": (
        *(("tiny", "compiled"), ("base", "compiled"), ("tiny", "compiled_peers")),
    ),
}
"""By part the workloads and kinds of :mod:`speed.report`."""

TRAINED = (*SEEDED, "recipe", *COMPARISONS)
"""Parts that train, whose jobs may share the machine."""

PARTS = (
    *("smoke", "en_de", "de_en", "speed", "base", "decoding", "costs", "compiled"),
    *("published", "recipe", "distilled", "distilled_de_en", "pre_norm"),
    *("published_text", "published_merges", *COMPARISONS),
)


class Clock:
    """A time limit.

    Args:
        minutes: Minutes from now; None: no limit.
    """

    def __init__(self, minutes: float | None = None):
        now = time.monotonic()
        self.end = float("inf") if minutes is None else now + 60 * minutes

    @property
    def over(self) -> bool:
        """Whether the limit has passed."""
        return time.monotonic() >= self.end


def run_jobs(
    jobs: Sequence[Job],
    at_once: int,
    clock: Clock,
    changed: Callable[[dict[str, str]], None] = lambda missing: None,
    often: Callable[[], None] = lambda: None,
) -> dict[str, str]:
    """Run the unfinished jobs, several at a time.

    A job that fails does not affect the others. When the time is over, all are
    ended, as they are when this program is; a training run then saves its state.

    Args:
        jobs: The jobs.
        at_once: How many may run at a time.
        clock: The time limit.
        changed: Called after each job, with what is missing.
        often: Called many times a second.

    Returns:
        The reason for each unfinished job, by its name; empty if all are finished.
    """
    waiting = [job for job in jobs if not job.result.exists()]
    missing = {job.name: OVER for job in waiting}
    running: list[tuple[Job, subprocess.Popen]] = []
    try:
        while (waiting or running) and not clock.over:
            while waiting and len(running) < at_once:
                running.append((waiting[0], start(waiting.pop(0))))
            time.sleep(0.05)
            often()
            for job, program in [
                pair for pair in running if pair[1].poll() is not None
            ]:
                running.remove((job, program))
                missing[job.name] = log_of(job).read_text(encoding="utf-8")[-1000:]
                if job.result.exists():
                    del missing[job.name]
                state = "failed" if job.name in missing else "done"
                print(f"  {job.name}: {state}", flush=True)
                changed(missing)
    finally:
        children.end([program for _, program in running])
    return missing


def start(job: Job) -> subprocess.Popen:
    """Start a job's program; its output goes to a log file next to its result."""
    job.result.parent.mkdir(parents=True, exist_ok=True)
    return children.start(job.command, log_of(job))


def log_of(job: Job) -> Path:
    """The file with the output of a job's program."""
    return job.result.with_suffix(".log")


def run_part(
    part: str,
    plan: Plan,
    at_once: int,
    clock: Clock,
    packer: Callable[[], None] = lambda: None,
) -> bool:
    """Run the unfinished jobs of a part; its file is written after each of them.

    Returns:
        Whether the part is complete.
    """
    path = plan.out / f"{part}.json"
    check_plan(path, plan, part)
    if path.exists() and not read_object(path, REMEDY, missing=dict)["missing"]:
        print(f"{part}: there already")
        return True
    print(f"{part}: begins", flush=True)
    jobs, began = plan.jobs(part), time.monotonic()
    at_once = at_once if part in TRAINED else 1  # others would disturb its timings
    device = choose_device()

    def write(missing: dict[str, str]) -> None:
        values = {
            "part": part,
            "plan": plan.facts(part),
            "machine": hardware(device),
            "device": device.type,
            "commit": commit(),
            "jobs_at_once": at_once,
            "seconds_of_this_call": round(time.monotonic() - began),
            "missing": missing,
            "runs": {job.name: read_result(job) for job in jobs if result_of(job)},
        }
        whole = [run for name, run in values["runs"].items() if name not in missing]
        values["bleu"] = bleu_statistics(whole)
        plan.out.mkdir(parents=True, exist_ok=True)
        write_whole(path, json.dumps(values, indent=1, ensure_ascii=False) + "\n")

    missing = run_jobs(jobs, at_once, clock, write, packer)
    write(missing)
    for name, why in missing.items():
        print(f"  {name} is missing: {why.strip().rpartition(chr(10))[2]}")
    return not missing


def check_plan(path: Path, plan: Plan, part: str) -> None:
    """Raise a ValueError if a part's file was made by another plan."""
    facts = plan.facts(part)
    found = read_object(path, REMEDY).get("plan", facts) if path.exists() else facts
    if found != facts:
        raise ValueError(
            f"{path} was made with {found}, not {facts}; name another folder with --out"
        )


def result_of(job: Job) -> Path | None:
    """The file of a job's result, complete or not; None if there is none."""
    files = (job.result, part_of(job.result))
    return next((file for file in files if file.exists()), None)


def read_result(job: Job) -> dict:
    """The result of a job; of a training run with its log."""
    values = read_object(result_of(job), REMEDY)
    metrics = job.result.with_name("metrics.jsonl")
    return values | ({"log": read_metrics(metrics)} if metrics.exists() else {})


def bleu_statistics(runs: Sequence[dict]) -> dict:
    """Mean and standard deviation of BLEU over runs that differ in their seed only.

    Returns:
        By split and decoding method "mean", "sd" and "n"; empty if the runs differ
        otherwise or there is only one.
    """
    kinds = {json.dumps({**run.get("config", {}), "seed": 0}) for run in runs}
    if len(kinds) != 1 or len(runs) < 2 or "scores" not in runs[0]:
        return {}
    tables = [run["scores"] or {"val": run["validation_scores"]} for run in runs]
    table: dict = {}
    for split, scores in tables[0].items():
        for how in scores:
            values = [scores[split][how]["bleu"] for scores in tables]
            table.setdefault(split, {})[how] = {
                "mean": statistics.mean(values),
                "sd": statistics.stdev(values),
                "n": len(values),
            }
    return table


def write_small_data(folder: Path) -> None:
    """Write a few sentences of the toy language as files for a config."""
    folder.mkdir(parents=True, exist_ok=True)
    for split, number in SMALL_SENTENCES.items():
        both = load_texts(config("toy"), split)
        for language, lines in zip(("toy", "invented"), both, strict=True):
            text = "\n".join(lines[:number]) + "\n"
            (folder / f"{split}.{language}").write_text(text, encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the parts, one after the other.

    Args:
        arguments: By default those of the command line.

    Raises:
        SystemExit: With 1 if something is missing at the end.
    """
    parser = argparse.ArgumentParser(
        prog="python benchmarks/gpu.py",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--out", type=Path, default=Path("runs/gpu"), metavar="FOLDER")
    parser.add_argument("--part", nargs="+", default=PARTS, choices=PARTS)
    parser.add_argument("--config", default="multi30k-tiny", choices=EQUAL)
    parser.add_argument("--set", nargs="+", default=(), metavar="ENTRY=VALUE")
    parser.add_argument("--pack", type=Path, metavar="FILE", help="one file of results")
    parser.add_argument("--unpack", type=Path, metavar="FILE", help="one to begin with")
    parser.add_argument("--minutes", type=float, help="time limit")
    parser.add_argument("--at-once", type=int, default=3, help="runs on the one GPU")
    parser.add_argument("--small", action="store_true", help="a trial on a CPU")
    chosen = parser.parse_args(arguments)
    if chosen.at_once < 1:
        parser.error(f"--at-once is {chosen.at_once}; it must be 1 or more")
    read_config(chosen.config, chosen.set)  # refuses what is no entry of it
    set_threads()
    clock = Clock(chosen.minutes)
    plan = Plan(chosen.out, chosen.small, chosen.config, tuple(chosen.set))
    if chosen.unpack:
        unpack(chosen.unpack, chosen.out)
    if chosen.small:
        write_small_data(chosen.out / "data")
    elif {*TRAINED, "smoke"} & {*chosen.part}:
        check_splits(config(plan.config))  # download once, not in each run
    packer = Packer(chosen.out, chosen.pack)
    with last_words(lambda: "stopped; the same command resumes"):
        try:
            complete = [
                run_part(part, plan, chosen.at_once, clock, packer)
                for part in PARTS
                if part in chosen.part
            ]
        finally:
            packer(now=True)
    if not all(complete):
        parser.exit(1, "not complete yet; the same command resumes\n")


if __name__ == "__main__":
    main()
