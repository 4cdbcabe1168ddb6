"""Compare the chapters' outputs under several instruction sets and thread counts.

Slow, each chapter runs up to six times, and so no part of `make test`.
"""

import os
import subprocess
import sys
from pathlib import Path

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
    failed = 0
    for instructions, environment in instruction_sets().items():
        for threads in THREADS:
            name = f"{instructions}, threads: {threads}"
            environment["ATTNBOOK_THREADS"] = str(threads)
            print(f"{name} …", flush=True)
            failed |= subprocess.call(NBVAL, env=environment)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
