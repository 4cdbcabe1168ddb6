"""Compare the chapters' outputs under several instruction sets and thread counts.

Slow, each chapter runs up to six times, and so no part of `make test`.
"""

import os
import subprocess
import sys
from pathlib import Path

import progress

ROOT = Path(__file__).resolve().parents[1]
# For ATEN_CPU_CAPABILITY; "" leaves the choice to the machine: the best it has.
WANTED = ("default", "avx2", "")
THREADS = (1, 2)
ASK = "import torch; print(torch.backends.cpu.get_cpu_capability())"
NBVAL = [sys.executable, "-m", "pytest", "-n", "2", "--quiet", "book"]


def instruction_sets() -> dict[str, dict[str, str]]:
    """Return the environment for each instruction set that this machine can use."""
    found = {}
    for wanted in WANTED:
        environment = {**os.environ, "ATEN_CPU_CAPABILITY": wanted}
        if not wanted:
            del environment["ATEN_CPU_CAPABILITY"]
        answer = subprocess.run(
            [sys.executable, "-c", ASK],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        found.setdefault(answer.stdout.strip(), environment)
    return found


def main() -> int:
    """Run all combinations and return the exit code: 0 if every output was equal."""
    os.chdir(ROOT)
    rows, failed = [], False
    for instructions, environment in instruction_sets().items():
        for threads in THREADS:
            name = f"{instructions}, threads: {threads}"
            environment["ATTNBOOK_THREADS"] = str(threads)
            code, output = progress.run(NBVAL, name, environment=environment)
            if code:
                print(output)
                failed = True
            rows.append(f"{name:24}{output.strip().splitlines()[-1]}")
    print("", *rows, sep="\n")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
