"""The half hour on a GPU, rehearsed on a CPU: ``make rehearse``.

    python benchmarks/rehearse.py --out runs/rehearsal

A copy of the tree without git, an environment with what a rented machine has and
nothing else, the three commands of ``benchmarks/half_hour.py`` with the smallest
settings, killed three times at random moments; then what came back is counted, weighed
and imported. Each step is logged with its time.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import random
import shutil
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib.metadata import distributions
from pathlib import Path

import psutil

from attnbook.core import results
from attnbook.course.ch12 import figures_gpu
from experiments.ch12_gpu import collected

ROOT = Path(__file__).parents[1]

PACKAGES = Path(__file__).with_name("rented_machine.txt")
"""What a machine for deep learning has, as far as it is of use here."""

MISSING = ("pooch", "platformdirs", "sentencex", "IPython", "attnbook")

LARGEST_TREE, LARGEST_FILE = 64 * 2**20, 16 * 2**20
"""What can be sent there, and what comes back in one file."""


KILLS, LINES = 3, 40
"""How often the seeds are killed, before their runs have logged so many lines."""


class Rehearsal:
    """The steps, in one folder.

    Args:
        out: An empty folder, or none.
        seed: Decides when programs are killed.
    """

    def __init__(self, out: Path, seed: int):
        self.out, self.seed = out.resolve(), seed
        self.tree, self.packed = self.out / "tree", self.out / "back" / "results.zip"
        self.runs, self.python = self.tree / "runs" / "gpu", self.out / "env/bin/python"
        self.began = time.monotonic()

    def say(self, text: str) -> None:
        """Log a step."""
        print(f"{time.monotonic() - self.began:6.1f} s  {text}", flush=True)

    def environment(self) -> dict[str, str]:
        """The variables of that machine."""
        hidden = ("PYTHONPATH", "ATTNBOOK_DATA", "VIRTUAL_ENV")
        kept = {key: value for key, value in os.environ.items() if key not in hidden}
        return kept | {
            "PYTHONPATH": str(self.tree / "code"),
            "ATTNBOOK_DATA": str(self.tree / "data"),
            "ATTNBOOK_COMMIT": "rehearsed",
        }

    def program(self, *arguments: object) -> subprocess.Popen:
        """Start Python there; its output is in the log."""
        with (self.out / "programs.log").open("a", encoding="utf-8") as log:
            return subprocess.Popen(
                [str(self.python), *map(str, arguments)],
                **{"cwd": self.tree, "env": self.environment()},
                **{"stdout": log, "stderr": subprocess.STDOUT},
            )

    def command(self, name: str, *more: object) -> subprocess.Popen:
        """Start one of the three commands."""
        where = ("--out", self.runs, "--pack", self.packed, "--at-once", 2)
        return self.program("benchmarks/half_hour.py", name, "--small", *where, *more)

    def finish(self, name: str, *more: object) -> None:
        """Run a command to its end."""
        code = self.command(name, *more).wait()
        self.check(code == 0, f"{name} ends with {code}")

    def check(self, right: bool, text: str) -> None:
        """Log what was found; stop if it is wrong."""
        self.say(f"{'ok' if right else 'WRONG'}: {text}")
        if not right:
            raise SystemExit(f"see {self.out / 'programs.log'}")

    # The steps

    def copy_tree(self) -> None:
        """What git would commit, without git."""
        names = ["git", "-C", str(ROOT), "ls-files", "-co", "--exclude-standard", "-z"]
        found = subprocess.run(names, capture_output=True, check=True).stdout.decode()
        size = 0
        for name in filter(None, found.split("\0")):
            source, copy = ROOT / name, self.tree / name
            if source.is_file():
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(source, copy)
                size += copy.stat().st_size
        self.check(size < LARGEST_TREE, f"the tree has {size / 2**20:.1f} MiB")

    def make_environment(self) -> None:
        """A fresh environment with links to some of the packages that are here."""
        subprocess.run(
            [sys.executable, "-m", "venv", "--without-pip", self.out / "env"]
        )
        (site,) = (self.out / "env" / "lib").glob("python*/site-packages")
        linked, wanted = 0, {*PACKAGES.read_text(encoding="utf-8").split()}
        for package in distributions():
            if package.metadata["Name"].lower().replace("_", "-") not in wanted:
                continue
            linked += 1
            tops = {Path(file).parts[0] for file in package.files or ()}
            for top in tops - {"..", "__pycache__"}:
                source = Path(package.locate_file(top)).resolve()
                if not (site / top).exists() and source.exists():
                    (site / top).symlink_to(source)
        bad = "; ".join(f"assert find_spec({name!r}) is None" for name in MISSING[:-1])
        test = f"from importlib.util import find_spec; {bad}; import torch, attnbook"
        code = self.program("-c", test).wait()
        self.check(code == 0, f"{linked} packages, none of {', '.join(MISSING[:-1])}")

    def log_lines(self) -> int:
        """How many lines all runs have logged: the moment, on any machine."""
        logs = self.runs.glob("*_*/seed_*/metrics.jsonl")
        return sum(log.read_bytes().count(b"\n") for log in logs)

    def kill(self, number: int, parent_alone: bool = False) -> None:
        """Kill the seeds at a random moment, as a machine does that is taken away."""
        moment = sorted(random.Random(self.seed).sample(range(1, LINES), KILLS))[number]
        running = self.command("seeds")
        while self.log_lines() < moment and running.poll() is None:
            time.sleep(0.01)
        self.check(running.poll() is None, f"it runs until {moment} lines are logged")
        others = psutil.Process(running.pid).children(recursive=True)
        running.kill()
        running.wait()
        began = time.monotonic()
        if not parent_alone:
            for process in others:
                with suppress(psutil.NoSuchProcess):
                    process.kill()
        psutil.wait_procs(others)
        who, took = "the parent" if parent_alone else "all", time.monotonic() - began
        self.say(
            f"killed {who} after {self.log_lines()} lines of log; its {len(others)} "
            f"programs were gone after {took:.1f} s"
        )
        if self.packed.exists():
            bad = zipfile.ZipFile(self.packed).testzip()
            self.check(bad is None, "the packed file is whole")

    def compare(self) -> None:
        """A run that was never stopped has the same weights."""
        first = next(self.runs.glob("en_de/seed_0"))
        again = self.out / "whole"
        arguments = ["--config", first / "config.json", "--out", again]
        code = self.program("-m", "attnbook", "train", *arguments).wait()
        one, other = (
            hashlib.sha256((f / "model" / "weights.safetensors").read_bytes()).digest()
            for f in (first, again)
        )
        self.check(code == 0 and one == other, "a run without a stop is the same")

    def weigh(self) -> None:
        """What comes back: how many files, how deep, how large, and no state."""
        files = [path for path in self.packed.parent.rglob("*") if path.is_file()]
        size = self.packed.stat().st_size
        self.check(len(files) == 1, f"{len(files)} file comes back")
        self.check(size < LARGEST_FILE, f"it has {size / 1024:.0f} KiB")
        names = zipfile.ZipFile(self.packed).namelist()
        states = [n for n in names if "last.safetensors" in n or "epochs/" in n]
        self.check(not states, f"no state is among its {len(names)} files")

    def on_another_machine(self) -> None:
        """Begin with the packed file: nothing is left to do."""
        before = self.packed.read_bytes()
        shutil.rmtree(self.runs)
        for name in ("seeds", "speeds"):
            self.finish(name, "--unpack", self.packed)
        names = {
            Path(n).parts[0] for n in map(str, self.runs.glob("en_de/seed_*/epochs"))
        }
        self.check(not names, "nothing was trained again")
        self.packed.write_bytes(before)

    def import_results(self) -> None:
        """Next to, not over, what is stored."""
        cpu = (results.FOLDER / "multi30k_runs.json").read_bytes()
        store, kept = self.out / "stored", results.FOLDER
        results.save("gpu_runs", collected(self.packed, trial=True), 0, store)
        try:
            results.FOLDER = store
            shown = f"{figures_gpu.facts()}\n{figures_gpu.speeds_table()}"
        finally:
            results.FOLDER = kept
        (self.out / "passage.txt").write_text(shown, encoding="utf-8")
        self.check("tokenizers" in shown, "the page would show it")
        same = (results.FOLDER / "multi30k_runs.json").read_bytes() == cpu
        self.check(same, "the runs of a CPU are as they were")

    def run_tests(self) -> None:
        """Tests run there, without the plugins of our own environment."""
        options = ["-m", "pytest", "-q", "-o", "addopts=", "-p", "no:cacheprovider"]
        code = self.program(*options, "tests/unit/translation/test_feeds.py").wait()
        self.check(code == 0, "tests run there")

    def steps(self) -> dict[str, Callable[[], None]]:
        """All steps by name, in their order."""
        return {
            "tree": self.copy_tree,
            "environment": self.make_environment,
            "smoke": lambda: self.finish("smoke"),
            "kill": lambda: self.kill(0),
            "kill the parent": lambda: self.kill(1, parent_alone=True),
            "kill again": lambda: self.kill(2),
            "resume": lambda: self.finish("seeds"),
            "compare": self.compare,
            "speeds": lambda: self.finish("speeds"),
            "weigh": self.weigh,
            "import": self.import_results,
            "another machine": self.on_another_machine,
            "tests": self.run_tests,
        }


def main(arguments: Sequence[str] | None = None) -> None:
    """Rehearse.

    Args:
        arguments: By default those of the command line.

    Raises:
        SystemExit: If something is wrong.
    """
    parser = argparse.ArgumentParser(
        prog="python benchmarks/rehearse.py",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    default = Path("runs/rehearsal")
    parser.add_argument("--out", type=Path, default=default, metavar="FOLDER")
    parser.add_argument("--seed", type=int, default=random.randrange(10_000))
    parser.add_argument("--only", nargs="+", metavar="STEP", help="go on with these")
    chosen = parser.parse_args(arguments)
    if not chosen.only:
        shutil.rmtree(chosen.out, ignore_errors=True)
    chosen.out.mkdir(parents=True, exist_ok=True)
    rehearsal = Rehearsal(chosen.out, chosen.seed)
    steps = rehearsal.steps()
    rehearsal.say(f"seed {chosen.seed}")
    for name in chosen.only or steps:
        rehearsal.say(f"{name}: begins")
        steps[name]()
    rehearsal.say("all went well")


if __name__ == "__main__":
    main()
