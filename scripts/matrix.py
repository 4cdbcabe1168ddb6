"""Run all pages in empty environments, and write into docs/status.md what happened.

    python scripts/matrix.py                 in each environment
    python scripts/matrix.py lowest Colab    in these

It takes the last commit, and needs git and uv, which finds or downloads each Python.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
STATUS = ROOT / "docs" / "status.md"
UV = "uv pip install --quiet"
PIP = "python -m pip install --quiet"
PINNED = [f"{UV} -r requirements.txt", f"{UV} --no-deps ."]
COURSE = [f"{UV} .[course]", f"{UV} nbval ipykernel"]
COLAB = "torch==2.11.* numpy==2.1.* matplotlib==3.10.* ipython==7.34 ipywidgets==7.7.1"
# A Python, and what fills its environment, in the root of the repository.
ENVIRONMENTS = {
    "3.11": ["3.11", *PINNED],
    "3.12": ["3.12", *PINNED],
    "3.13": ["3.13", *PINNED],
    "lowest": ["3.11", f"{COURSE[0]} --resolution lowest-direct", COURSE[1]],
    "newest": ["3.13", *COURSE],
    "Colab": ["3.13", f"{UV} {COLAB} ipykernel==6.17.1 nbval", "python first_cell.py"],
    "Binder": ["3.11", f"{PIP} -r .binder/requirements.txt", "./.binder/postBuild"],
}
VERSIONS = """import json, platform as p; from importlib.metadata import version
found = {"system": p.system() + " " + p.machine(), "Python": p.python_version()}
names = ["torch", "numpy", "matplotlib", "ipython", "ipywidgets"]
print(json.dumps(found | {name: version(name) for name in names}))"""


def prepare(python: str, commands: list[str], place: Path) -> dict[str, str]:
    """Copy the tree, fill an environment; return the variables to run pages with."""
    shutil.rmtree(place, ignore_errors=True)
    subprocess.run(["git", "clone", "--quiet", ROOT, place], check=True)
    kept = {k: v for k, v in os.environ.items() if not re.match("ATTNB|PYTHONP", k)}
    environ = kept | {
        "PATH": f"{place / '.venv' / 'bin'}{os.pathsep}{kept['PATH']}",
        "VIRTUAL_ENV": f"{place / '.venv'}",
        "MPLCONFIGDIR": f"{place / '_build'}",
        "ATTNBOOK_PARTS": "package",  # as for the stored outputs
        "OMP_NUM_THREADS": "1",
        "COLAB_RELEASE_TAG": "pretended",
        "GIT_CONFIG_COUNT": "1",  # git takes the copy for what is published
        "GIT_CONFIG_KEY_0": f"url.{place.as_uri()}.insteadOf",
        "GIT_CONFIG_VALUE_0": "https://github.com/an-owner/a-name",
    }
    cell = json.loads((place / "book" / "intro.ipynb").read_bytes())["cells"][0]
    source = "".join(cell["source"])
    source = re.sub('REPOSITORY = ".*"', 'REPOSITORY = "an-owner/a-name"', source)
    (place / "first_cell.py").write_text(source)
    for command in [f"uv venv --quiet --seed --python {python} .venv", *commands]:
        print(command, flush=True)
        subprocess.run(command.split(), cwd=place, env=environ, check=True)
    return environ


def run(page: Path, environ: dict[str, str], nbval: str) -> tuple[str, float, float]:
    """Run a page; return what failed, if anything, its seconds and its gigabytes."""
    options = f"-q -o addopts= {nbval} --nbval-current-env --nbval-cell-timeout=1800"
    command = ["python", "-m", "pytest", *options.split(), page]
    with page.with_suffix(".log").open("w+") as log:
        both = {"stdout": log, "stderr": subprocess.STDOUT}
        process = subprocess.Popen(command, cwd=page.parents[1], env=environ, **both)
        _, status, usage = os.wait4(process.pid, 0)
        log.seek(0)
        text = log.read()
    print(page.stem, text, sep="\n", flush=True)
    failed = re.findall(r"\d+ (?:failed|error)", text) or ["no result"] * bool(status)
    unit = 1e9 if sys.platform == "darwin" else 1e6
    return "".join(failed[-1:]), usage.ru_utime + usage.ru_stime, usage.ru_maxrss / unit


def try_out(name: str) -> bool:
    """Run all pages in an environment, write its column, say whether any failed."""
    python, *commands = ENVIRONMENTS[name]
    place = ROOT / "_build" / "matrix" / name
    environ = prepare(python, commands, place)
    versions = subprocess.check_output(["python", "-c", VERSIONS], env=environ)
    equal = "requirements.txt" in commands[0]
    nbval = "--nbval" if equal else "--nbval-lax"
    notebooks = sorted((place / "book").glob("*.ipynb"))
    results = {page.stem: run(page, environ, nbval) for page in notebooks}
    shutil.rmtree(place)
    failures, seconds, gigabytes = zip(*results.values(), strict=True)
    column = {
        **json.loads(versions),
        "day": f"{datetime.now(UTC):%Y-%m-%d}",
        "outputs": "equal" if equal else "not compared",
        "without failure": f"{failures.count('')} of {len(failures)}",
        "together": f"{sum(seconds) / 60:.0f} min, {max(gigabytes):.1f} GB",
    }
    for page, (failed, time, memory) in results.items():
        column[page] = failed or f"{time:.0f} s, {memory:.1f} GB"
    add(name, column)
    return any(failures)


def add(name: str, column: dict[str, str]) -> None:
    """Put a column into the table of the page, in the place of the one it has."""
    text, _, old = STATUS.read_text(encoding="utf-8").partition("| ")
    cells = [line[2:-2].split(" | ") for line in f"| {old}".splitlines()]
    heads, *others = zip(cells[0], *cells[2:], strict=True)
    columns = {head: dict(zip(heads[1:], rest, strict=True)) for head, *rest in others}
    columns[name] = column
    rows = dict.fromkeys(row for column in columns.values() for row in column)
    lines = [["environment", *columns], ["---"] * (len(columns) + 1)]
    lines += [[row, *(c.get(row, "–") for c in columns.values())] for row in rows]
    table = "".join(f"| {' | '.join(line)} |\n" for line in lines)
    STATUS.write_text(text + table, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(sum(map(try_out, sys.argv[1:] or ENVIRONMENTS)))
