"""Children end with their parent, even with one that is killed."""

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from small_runs import without

import children

LIMIT = 3000
"""Tenths of a second after which a child does not end any more."""

SLEEP = "import sys, time\nprint('begun', flush=True)\ntime.sleep(600)\n"
DEAF = "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n" + SLEEP

PARENT = f"""
import sys, time
from pathlib import Path
sys.path.insert(0, {str(Path(children.__file__).parent)!r})
import children

log = Path(sys.argv[1])
child = children.start(["sleeper"], log)
print(child.pid, flush=True)
while "begun" not in log.read_text():
    time.sleep(0.01)
print("begun", flush=True)
time.sleep(600)
"""


@pytest.fixture
def module(tmp_path, monkeypatch):
    """A function that writes a module which children can run."""
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)

    def write(name, text):
        (tmp_path / f"{name}.py").write_text(text)

    return write


def test_at_the_end_all_are_asked_and_the_deaf_are_killed(tmp_path, module):
    module("sleeper", SLEEP)
    module("deaf", DEAF)
    logs = [tmp_path / name for name in ("sleeper", "deaf")]
    both = [children.start([log.name], log) for log in logs]
    for log in logs:
        wait_for_begin(log)
    children.end(both, seconds=0.5)
    assert [child.poll() for child in both] == [-signal.SIGTERM, -signal.SIGKILL]


def test_a_second_signal_kills_them_at_once(tmp_path, module):
    module("deaf", DEAF)
    child = children.start(["deaf"], tmp_path / "log")
    wait_for_begin(tmp_path / "log")
    terminate = child.terminate

    def impatient():
        terminate()
        signal.raise_signal(signal.SIGINT)

    child.terminate = impatient
    children.end([child], seconds=600)
    assert child.poll() == -signal.SIGKILL


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_child_notices_that_its_parent_is_gone(tmp_path, module, number):
    module("sleeper", SLEEP)
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, str(tmp_path / "log")],
        stdout=subprocess.PIPE,
        text=True,
        env=without(),
    )
    pid = int(parent.stdout.readline())
    assert parent.stdout.readline() == "begun\n"
    parent.send_signal(number)
    assert parent.wait() == -number
    wait_for_end(pid)
    parent.stdout.close()


def wait_for_begin(log):
    while "begun" not in log.read_text():
        time.sleep(0.01)


def wait_for_end(pid):
    """Wait until there is no such process; one that stays is killed, and a failure."""
    for _ in range(LIMIT):
        with suppress(psutil.NoSuchProcess):  # or ended, and not yet noticed
            if psutil.Process(pid).status() != psutil.STATUS_ZOMBIE:
                time.sleep(0.1)
                continue
        return
    os.kill(pid, signal.SIGKILL)
    pytest.fail(f"the child {pid} is still there")
