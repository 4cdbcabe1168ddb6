"""make: its commands, and the environment that they make."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TOOLS = ("cat", "cksum", "cp", "cut", "grep", "head", "mkdir", "rm", "tail", "uname")
# Stands in for a Python: it says which it is, copies itself and writes down the rest.
FAKE = """#!/bin/sh
case "$1 $2" in
"-V "*) echo "Python {version}" ;;
"-c import ensurepip") exit {bare} ;;
"-c "*) echo {version} | cut -d. -f-2; exit {unsuitable} ;;
"-m venv") mkdir -p .venv/bin; cp "$0" .venv/bin/python; echo "venv {name} $4" >>log ;;
"-m pip") shift 2; echo "pip $*" >>log; exit ${{PIP_FAILS:-0}} ;;
esac
"""
INSTALL = [
    "pip install --no-compile -r requirements.txt",
    "pip install --no-compile --no-deps --no-build-isolation -e .",
]


@pytest.mark.parametrize(
    "path",
    [
        *("README.md", "CONTRIBUTING.md", ".ci/run"),
        *(ROOT / "docs").glob("*.md"),
        *(ROOT / ".github").rglob("*.yml"),
    ],
    ids=lambda path: Path(path).name,
)
def test_commands_that_are_named_exist(path):
    phony = re.search(r"\.PHONY: (.+)", (ROOT / "Makefile").read_text())[1].split()
    named = r"^    make (\w+)|`make (\w+)|(?:run|exec):? make (\w+)"
    for groups in re.findall(named, (ROOT / path).read_text(), re.M):
        assert "".join(groups) in phony


@pytest.fixture
def make_env(tmp_path):
    """Run environment.sh where only the given fake Pythons are; return what it did."""
    (tmp_path / "requirements.txt").write_text("# pins\ntorch==2.13.0\n")
    (tmp_path / "pyproject.toml").touch()

    def make(where=tmp_path, bare=False, pythons=None, gpu=True, **variables):
        programs = where / "programs"
        shutil.rmtree(programs, ignore_errors=True)
        programs.mkdir()
        for name in TOOLS:
            (programs / name).symlink_to(shutil.which(name))
        scripts = (
            {"nvidia-smi": "#!/bin/sh\necho 'GPU 0: NVIDIA H200'\n"} if gpu else {}
        )
        for name, version in (pythons or {"python3": "3.12.1"}).items():
            unsuitable = int(version.split(".")[1] not in ("11", "12", "13"))
            about = {"name": name, "version": version, "bare": int(bare)}
            scripts[name] = FAKE.format(**about, unsuitable=unsuitable)
        for name, text in scripts.items():
            (programs / name).write_text(text)
            (programs / name).chmod(0o755)
        (where / "log").write_text("")
        done = subprocess.run(
            ["/bin/sh", ROOT / "scripts" / "environment.sh"],
            cwd=where,
            env={"PATH": str(programs), **variables},
            capture_output=True,
            text=True,
        )
        return done, (where / "log").read_text().splitlines()

    return make


def test_an_environment_is_made_once_and_follows_the_requirements(make_env, tmp_path):
    done, steps = make_env(PIP_FAILS="1")
    assert (done.returncode, steps) == (1, ["venv python3 .venv", INSTALL[0]])
    assert done.stderr.startswith("pip failed, see above.")
    assert make_env()[1] == INSTALL  # what failed is tried again
    assert make_env()[1] == []
    for name in ("requirements.txt", "pyproject.toml"):
        (tmp_path / name).write_text("# changed\n")
        assert make_env()[1] == INSTALL


def test_without_a_gpu_linux_gets_the_small_torch(make_env, tmp_path):
    index = "--extra-index-url https://download.pytorch.org/whl/cpu"
    small = f"pip install --no-compile --no-deps --retries 1 {index} torch==2.13.0"
    smaller = [small] * (sys.platform == "linux")  # elsewhere there is but one
    assert make_env(gpu=False)[1] == ["venv python3 .venv", *smaller, *INSTALL]
    (tmp_path / "pyproject.toml").write_text("# changed")
    assert make_env(TORCH="cpu")[1] == [*smaller, *INSTALL]
    (tmp_path / "pyproject.toml").write_text("# changed again")
    assert make_env(gpu=False, TORCH="cuda")[1] == INSTALL
    done, steps = make_env(TORCH="gpu")
    assert (done.returncode, steps) == (1, [])
    assert "say TORCH=cpu or TORCH=cuda" in done.stderr


def test_without_ensurepip_any_pip_will_do(make_env):
    first = ["venv python3 --without-pip", "pip --python .venv/bin/python install pip"]
    assert make_env(bare=True)[1] == [*first, *INSTALL]


def test_one_that_was_moved_or_lost_its_python_is_made_anew(make_env, tmp_path):
    made = ["venv python3 .venv", *INSTALL]
    make_env()
    moved = tmp_path / "moved"
    moved.mkdir()
    for name in ("requirements.txt", "pyproject.toml", ".venv"):
        (tmp_path / name).rename(moved / name)
    assert make_env(moved)[1] == made
    (moved / ".venv" / "bin" / "python").unlink()
    assert make_env(moved)[1] == made
    for name in ("requirements.txt", "pyproject.toml"):
        shutil.copy(moved / name, tmp_path)
    (tmp_path / ".venv").symlink_to(moved / ".venv")
    assert make_env()[1] == made
    assert make_env(moved)[1] == []  # nobody else's is touched


@pytest.mark.parametrize(
    ("pythons", "wanted", "chosen"),
    [
        ({"python3": "3.9.2", "python3.11": "3.11.4"}, "", "python3.11"),
        ({"python3": "3.12.1", "python3.13": "3.13.0"}, "python3.13", "python3.13"),
        ({"python3": "3.14.0"}, "", "and python3 is Python 3.14.0."),
        ({"python": "2.7.0"}, "", "and python3 is no Python that runs."),
        ({"python3": "3.12.1", "old": "3.8.0"}, "old", "and old is Python 3.8.0."),
    ],
)
def test_chooses_a_python_or_says_in_one_line_what_is_wrong(
    make_env, pythons, wanted, chosen
):
    done, steps = make_env(pythons=pythons, PYTHON=wanted)
    if chosen in pythons:
        assert (done.returncode, steps) == (0, [f"venv {chosen} .venv", *INSTALL])
        # Another python3 does not replace the one that .venv already has.
        assert make_env(pythons=pythons | {"python3": "3.11.9"})[1] == []
    else:
        assert (done.returncode, steps) == (1, [])
        assert done.stderr.count("\n") == 1
        assert chosen in done.stderr
        assert "make book PYTHON=python3.12" in done.stderr
