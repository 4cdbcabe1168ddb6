"""Run experiments by name and store their results."""

from __future__ import annotations

import argparse
import time
from functools import partial
from pathlib import Path

from attnbook import results
from attnbook.experiments.recall import recall_grid
from attnbook.experiments.thread import reverse_source, thread
from attnbook.seq2seq import InitialState, StaticContext
from attnbook.threads import set_threads

FEW = (0, 1, 2)  # seeds, where a side question is asked
static_mean = partial(StaticContext, summary="mean")
one_way = partial(InitialState, bidirectional=False)

EXPERIMENTS = {
    # the thread: equal steps
    "initial_state": partial(thread, InitialState),
    "static_last": partial(thread, StaticContext),
    "static_mean": partial(thread, static_mean),
    # the same with more training, or a larger state
    "initial_state_longer": partial(thread, InitialState, steps=2100, seeds=FEW),
    "static_last_longer": partial(thread, StaticContext, steps=2100, seeds=FEW),
    "initial_state_wider": partial(
        thread, partial(InitialState, d_hidden=192), seeds=FEW
    ),
    "static_last_wider": partial(
        thread, partial(StaticContext, d_hidden=192), seeds=FEW
    ),
    # an encoder that reads one way, and the same with the source reversed
    "one_way": partial(thread, one_way, seeds=FEW),
    "one_way_reversed": partial(thread, one_way, seeds=FEW, change=reverse_source),
    "recall": recall_grid,
}


def main() -> None:
    """Command line: names of experiments, or none to list them."""
    parser = argparse.ArgumentParser(
        prog="python -m attnbook.experiments", description=__doc__
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="what to run")
    parser.add_argument(
        "--out", type=Path, default=Path(str(results.FOLDER)), help="folder to write to"
    )
    arguments = parser.parse_args()
    unknown = [name for name in arguments.names if name not in EXPERIMENTS]
    if unknown or not arguments.names:
        text = f"There is no experiment {unknown[0]!r}. " if unknown else ""
        parser.exit(
            2 if unknown else 0,
            f"{text}Choose among:\n  " + "\n  ".join(EXPERIMENTS) + "\n",
        )
    set_threads()
    for name in arguments.names:
        print(name, flush=True)
        start = time.process_time()
        values = EXPERIMENTS[name]()
        path = results.save(name, values, time.process_time() - start, arguments.out)
        print(f"  wrote {path}", flush=True)


if __name__ == "__main__":
    main()
