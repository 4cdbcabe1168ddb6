"""Experiments by name: each is registered where it is written, in its chapter's folder.

``@experiment`` before a function that returns what is to be stored is all that a new
one needs. ``python -m attnbook.course`` lists them; with names, it runs them and writes
their results into the package, where the pages find them.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import partial
from importlib import import_module
from importlib.resources import files
from pathlib import Path

from attnbook.core import results
from attnbook.core.signals import last_words
from attnbook.core.threads import set_threads

Run = Callable[[], dict]

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


def find_experiments() -> dict[str, Run]:
    """All experiments by name, chapter by chapter, the appendix last."""
    folders = [f for f in files("attnbook.course").iterdir() if f.is_dir()]
    for folder in sorted(folders, key=lambda f: (f.name[0] == "a", f.name)):
        for file in sorted(f.name for f in folder.iterdir()):
            if file.startswith("experiment") and folder.name != "kit":
                module = file.removesuffix(".py")
                import_module(f"attnbook.course.{folder.name}.{module}")
    import_module("attnbook.course.kit.playground.presets")
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
    arguments = parser.parse_args()
    known = find_experiments()
    unknown = [name for name in arguments.names if name not in known]
    if unknown or not arguments.names:
        text = f"There is no experiment {unknown[0]!r}. " if unknown else ""
        parser.exit(
            2 if unknown else 0,
            f"{text}Choose among:\n  " + "\n  ".join(known) + "\n",
        )
    set_threads()
    for name in arguments.names:
        print(name, flush=True)
        with last_words(lambda name=name: f"stopped; {name} begins anew next time"):
            start = time.process_time()
            values = known[name]()
            seconds = time.process_time() - start
            path = results.save(name, values, seconds, arguments.out)
        print(f"  wrote {path}", flush=True)
