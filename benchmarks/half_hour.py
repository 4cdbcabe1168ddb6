"""Half an hour on a rented GPU: three commands, of at most ten minutes each.

    python benchmarks/half_hour.py smoke --pack results.zip
    python benchmarks/half_hour.py seeds --pack results.zip
    python benchmarks/half_hour.py speeds --pack results.zip

``smoke`` trains for seconds in several ways, with CUDA graphs and without, and says
which works and is fastest. ``seeds`` takes that way for three seeds of each direction.
``speeds`` measures speeds, decoding, the costs of attention by length, and what
``torch.compile`` gains. Each ends in time, and again the same command goes on where it
was. ``results.zip`` holds all results so far, but no states; on another machine
``--unpack results.zip`` begins with them.

Nothing but Python, PyTorch and a few common packages is needed, no network if
``ATTNBOOK_DATA`` names a folder with the data, and no git: ``ATTNBOOK_COMMIT`` says
what is measured. ``--small`` rehearses it all on a CPU.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import gpu
from attnbook.core.files import read_object
from packing import unpack
from smoke import WAYS, choose

COMMANDS = {
    "smoke": ("smoke",),
    "seeds": ("en_de", "de_en"),
    "speeds": ("speed", "base", "decoding", "costs", "compiled"),
}
"""The parts of ``benchmarks/gpu.py`` that each command runs."""

SEEDS = ("score_tests=False",)
"""``python -m attnbook.course gpu_scores`` scores the test sets at home."""

SMALL_SEEDS = ("max_epochs=12", "patience=12", *SEEDS)
"""The same for a trial: long enough to be interrupted."""


def way_of(out: Path) -> list[str]:
    """The changes of the config that the smoke test chose.

    Raises:
        ValueError: If there was none, or no way of training works.
    """
    remedy = "run the command smoke first"
    runs = read_object(out / "smoke.json", remedy, runs=dict)["runs"]
    return [f"{key}={value}" for key, value in WAYS[choose(runs)].items()]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one of the three commands.

    Args:
        arguments: By default those of the command line.

    Raises:
        SystemExit: With 1 if something is missing at the end.
    """
    parser = argparse.ArgumentParser(
        prog="python benchmarks/half_hour.py",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("command", choices=COMMANDS)
    parser.add_argument("--out", type=Path, default=Path("runs/gpu"), metavar="FOLDER")
    parser.add_argument("--minutes", type=float, default=9.0, help="time limit")
    parser.add_argument("--set", nargs="+", default=(), metavar="ENTRY=VALUE")
    parser.add_argument("--unpack", type=Path, metavar="FILE", help="one to begin with")
    chosen, others = parser.parse_known_args(arguments)
    options = ["--out", str(chosen.out), "--minutes", str(chosen.minutes), *others]
    options += ["--part", *COMMANDS[chosen.command]]
    entries = [*chosen.set]
    try:
        if chosen.unpack:  # the choice of the smoke test may be in it
            unpack(chosen.unpack, chosen.out)
        if chosen.command == "seeds":
            seeds = SMALL_SEEDS if "--small" in others else SEEDS
            entries = [*seeds, *way_of(chosen.out), *entries]
    except ValueError as error:
        parser.exit(1, f"{error}\n")
    if entries:
        options += ["--set", *entries]
    if chosen.command != "smoke":
        gpu.main(options)
        return
    try:
        gpu.main(options)
    except SystemExit as end:  # a way may fail, if another works
        if end.code != 1:
            raise
    print("the seeds will be trained with", *way_of(chosen.out))


if __name__ == "__main__":
    main()
