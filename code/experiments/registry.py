"""Experiments by name: each is registered where it is written.

``@experiment`` before a function that returns what is to be stored is all that a new
one needs, or ``@sweep(…)`` before one that makes a single run of many.
"""

from __future__ import annotations

import argparse
import inspect
import json
import time
from collections.abc import Callable, Iterable
from functools import partial
from importlib import import_module
from itertools import islice, product
from pathlib import Path

import torch

from attnbook.core import results
from attnbook.core.signals import last_words
from attnbook.core.threads import set_threads
from experiments.provenance import (
    ABOUT,
    differences,
    fingerprint,
    in_part,
    mark,
    save,
)

Run = Callable[..., dict]

EXPERIMENTS: dict[str, Run] = {}
"""What has been registered; :func:`find_experiments` loads all chapters first."""


def experiment(run: Run | str, name: str | None = None) -> Run:
    """Register what runs an experiment, under its own name or another one.

    It serves as ``@experiment``, as ``@experiment("name")``, and for what isn't written
    as a function of its own, as ``experiment(partial(run, …), "name")``.
    """
    if isinstance(run, str):
        return partial(experiment, name=run)
    EXPERIMENTS[name or run.__name__] = run
    return run


def sweep(**settings: Iterable) -> Callable[[Run], Run]:
    """Register an experiment by the function that makes one of its runs.

    The function is called with each combination of the settings that it takes, the last
    one changing fastest, after PyTorch's generator was seeded with ``seed`` (0 if that
    isn't a setting). What is stored for each run are its settings and the function's
    results; what the function doesn't take is stored once, beside the "runs".

    Args:
        settings: The values of each setting; what goes into the result unchanged, such
            as the steps after which a run was tested.
    """

    def register(run: Run) -> Run:
        taken = [name for name in inspect.signature(run).parameters if name in settings]

        def all_runs(first: int | None = None) -> dict:
            runs = []
            for values in islice(product(*(settings[name] for name in taken)), first):
                chosen = dict(zip(taken, values, strict=True))
                torch.manual_seed(chosen.get("seed", 0))
                runs.append(chosen | run(**chosen))
                print(f"  {runs[-1]}", flush=True)
            constant = {k: v for k, v in settings.items() if k not in taken}
            return constant | {"runs": runs}

        all_runs.run, all_runs.settings = run, {n: [*settings[n]] for n in taken}
        experiment(all_runs, run.__name__)
        return run

    return register


def find_experiments() -> dict[str, Run]:
    """All experiments by name, chapter by chapter, the appendix last."""
    modules = {p.stem for p in Path(__file__).parent.glob("*.py")}
    chapters = modules - {"__init__", "registry", "provenance"}
    for name in sorted(chapters, key=lambda n: (n[0] == "a", n)):
        import_module(f"experiments.{name}")
    return EXPERIMENTS


def main() -> None:
    """Command line: names of experiments, or none to list them."""
    parser = argparse.ArgumentParser(
        prog="python -m attnbook.course",
        description="Run experiments by name and store their results.",
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="what to run")
    parser.add_argument(
        "--out", type=Path, default=Path(str(results.FOLDER)), help="folder to write to"
    )
    parser.add_argument(
        "--stale",
        action="store_true",
        help="name the results that other code made, with the seconds that each took",
    )
    parser.add_argument(
        "--again",
        type=int,
        metavar="SECONDS",
        help="repeat what took at most so long, or as many runs, and compare",
    )
    parser.add_argument(
        "--mark",
        action="store_true",
        help="with --again: note in a result that it came out within its spread",
    )
    arguments = parser.parse_args()
    known = find_experiments()
    compares = arguments.stale or arguments.again is not None
    unknown = [name for name in arguments.names if name not in known]
    if unknown or not (arguments.names or compares):
        text = f"There is no experiment {unknown[0]!r}. " if unknown else ""
        choice = "\n  ".join(known)
        parser.exit(2 if unknown else 0, f"{text}Choose among:\n  {choice}\n")
    if compares:
        made = {file.name.removesuffix(".json") for file in results.FOLDER.iterdir()}
        names = [name for name in arguments.names or known if name in made]
        if arguments.stale:
            parser.exit(stale(names))
        parser.exit(again(names, arguments.again, arguments.mark))
    set_threads()
    for name in arguments.names:
        print(name, fingerprint(known[name]), flush=True)
        with last_words(lambda name=name: f"stopped; {name} begins anew next time"):
            start = time.process_time()
            values = known[name]()
            seconds = time.process_time() - start
            path = save(name, known[name], values, seconds, arguments.out)
        print(f"  wrote {path}", flush=True)


def stale(names: Iterable[str]) -> int:
    """Say which results weren't made by the code that is here; return their number."""
    found = [
        n for n in names if results.load(n).get("code") != fingerprint(EXPERIMENTS[n])
    ]
    for name in found:
        stored = results.load(name)
        whose = "other" if "code" in stored else "unknown"
        print(f"{name}  {stored['seconds']} s, {whose} code")
    print(f"{len(found)} stale")
    return min(len(found), 1)


def again(names: Iterable[str], limit: int, marks: bool = False) -> int:
    """Repeat results, or as many runs as took so many seconds; say what differs."""
    set_threads()
    worst = 0.0
    for name in names:
        stored, run, runs = results.load(name), EXPERIMENTS[name], None
        if stored["seconds"] > limit:
            runs = int(len(stored.get("runs", ())) * limit / stored["seconds"])
            run = in_part(run, runs) if runs else None
        if run is None:
            continue
        fingerprint(EXPERIMENTS[name])  # now: its files may change while it runs
        own = {key: value for key, value in stored.items() if key not in ABOUT}
        try:
            found = json.loads(json.dumps(run()))
        except ValueError as error:
            if "ATTNBOOK_RUN" not in str(error):  # trainings that are not here
                raise
            print(f"{name}: not repeated, {error}", flush=True)
            continue
        apart = differences(own, found, runs)
        largest = max(apart.values(), default=0.0)
        worst = max(worst, largest)
        said = ", ".join(f"{k} by {v:.2g} of its spread" for k, v in apart.items())
        part = f" ({runs} runs)" if runs else ""
        print(f"{name}{part}: {said or 'the same'}", flush=True)
        if marks and largest <= 1:
            mark(name, EXPERIMENTS[name], largest, runs, Path(str(results.FOLDER)))
    return int(worst > 1)
