"""`make env`: what it does when, and what it says when pip fails."""

import errno

import pytest

import ensure_env
import progress

PIP = ensure_env.pip  # which the tests below replace

OFFLINE = """\
WARNING: Retrying (Retry(total=0, connect=None, read=None, redirect=None)) after \
connection broken by 'NewConnectionError('<pip._vendor.urllib3.connection.HTTPS\
Connection object at 0x7f>: Failed to establish a new connection: [Errno -3] Temporary \
failure in name resolution')': /simple/alabaster/
ERROR: Could not find a version that satisfies the requirement alabaster==0.7.16 (from \
versions: none)
ERROR: No matching distribution found for alabaster==0.7.16
"""
NO_INDEX = """\
ERROR: Could not find a version that satisfies the requirement alabaster==0.7.16 (from \
versions: none)
ERROR: No matching distribution found for alabaster==0.7.16
"""
NO_WHEEL = """\
Collecting alabaster==0.7.16 (from -r requirements.txt (line 5))
  Downloading alabaster-0.7.16-py3-none-any.whl (13 kB)
ERROR: Could not find a version that satisfies the requirement torch==2.13.0 (from \
versions: 2.0.0, 2.2.2)
ERROR: No matching distribution found for torch==2.13.0
"""
NO_SPACE = """\
  Downloading torch-2.13.0-cp311-cp311-manylinux_2_28_x86_64.whl (527.0 MB)
ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device
"""
NO_SPACE_UNPACKING = "Installing collected packages: torch\n" + NO_SPACE
NO_BUILD = """\
  Downloading debugpy-1.8.22.tar.gz (1.6 MB)
  error: subprocess-exited-with-error
ERROR: Failed building wheel for debugpy
"""


@pytest.mark.parametrize(
    ("output", "reason"),
    [
        (OFFLINE, "The package index cannot be reached"),
        (NO_INDEX, "The package index cannot be reached"),
        (NO_WHEEL, "torch==2.13.0 is not offered for Python 3."),
        (NO_SPACE, "The disk is full: the installation needs 2 GB"),
        (NO_BUILD, "The installation failed with Python 3."),
        ("", "The installation failed with Python 3."),
    ],
    ids=["offline", "no index", "no wheel", "no space", "no build", "silent"],
)
def test_says_in_one_line_why_pip_failed(output, reason):
    line = ensure_env.explain(output)
    assert line.startswith(reason)
    assert "\n" not in line


def test_passes_on_the_reason_it_does_not_know():
    assert "Failed building wheel for debugpy" in ensure_env.explain(NO_BUILD)
    assert str(ensure_env.LOG) in ensure_env.explain(NO_BUILD)


def answer(venv, python: str) -> None:
    """Put a stand-in for pip into .venv, that answers for a place and a Python."""
    pip = ensure_env.VENV / "bin" / "pip"
    pip.parent.mkdir(parents=True, exist_ok=True)
    pip.write_text(f"#!/bin/sh\necho 'pip 23.2 from {venv}/lib (python {python})'\n")
    pip.chmod(0o755)
    pip.with_name("python").touch()


@pytest.fixture
def environment(tmp_path, monkeypatch):
    """A .venv in a folder of its own; what is done to it is noted, not done."""
    (tmp_path / "requirements.txt").write_text("# pins\ntorch==2.13.0\npip==23.0\n")
    (tmp_path / "pyproject.toml").write_text("")
    venv = tmp_path / ".venv"
    monkeypatch.setattr(ensure_env, "ROOT", tmp_path)
    monkeypatch.setattr(ensure_env, "VENV", venv)
    monkeypatch.setattr(ensure_env, "PYTHON", venv / "bin" / "python")
    monkeypatch.setattr(ensure_env, "STAMP", venv / "made-from")
    monkeypatch.delenv("TORCH", raising=False)
    done = []

    def create():
        done.append("create")
        answer(venv, ensure_env.VERSION)

    monkeypatch.setattr(ensure_env, "create", create)
    monkeypatch.setattr(ensure_env, "pip", lambda title, *a: done.append((title, a)))
    return done


class TestMain:
    """`main` brings any state of .venv to the one that is wanted."""

    @staticmethod
    def run(done) -> list[str]:
        """What one more run does, less the arguments."""
        done.clear()
        ensure_env.main()
        return [step if isinstance(step, str) else step[0] for step in done]

    INSTALL = ("Installing 2 packages", "Installing attnbook")

    def test_does_nothing_twice(self, environment):
        assert self.run(environment) == ["create", *self.INSTALL]
        assert self.run(environment) == []

    def test_completes_one_that_is_out_of_date(self, environment):
        self.run(environment)
        (ensure_env.ROOT / "requirements.txt").write_text("a==1\nb==2\n")
        assert self.run(environment) == [*self.INSTALL]
        (ensure_env.ROOT / "pyproject.toml").write_text("# changed")
        assert self.run(environment) == [*self.INSTALL]

    def test_completes_one_that_was_made_by_hand(self, environment):
        ensure_env.create()
        assert self.run(environment) == [*self.INSTALL]

    def test_rebuilds_one_of_another_python(self, environment):
        self.run(environment)
        answer(ensure_env.VENV, "3.8")
        ensure_env.STAMP.write_text("made from something else")
        assert self.run(environment)[0] == "create"

    def test_rebuilds_one_that_was_moved(self, environment):
        self.run(environment)
        answer("/elsewhere/.venv", ensure_env.VERSION)
        ensure_env.STAMP.write_text("made from the same in /elsewhere")
        assert self.run(environment)[0] == "create"

    def test_rebuilds_one_that_was_interrupted(self, environment, monkeypatch):
        def interrupt(*arguments):
            raise KeyboardInterrupt

        with monkeypatch.context() as interrupted:
            interrupted.setattr(ensure_env, "pip", interrupt)
            with pytest.raises(SystemExit, match="Interrupted"):
                ensure_env.main()
        assert self.run(environment) == ["create", *self.INSTALL]

    @pytest.mark.parametrize(
        ("output", "first_step"),
        [(OFFLINE, "Installing 2 packages"), (NO_SPACE_UNPACKING, "create")],
        ids=["before unpacking", "while unpacking"],
    )
    def test_keeps_what_a_failure_left_whole(
        self, environment, monkeypatch, output, first_step
    ):
        self.run(environment)
        (ensure_env.ROOT / "requirements.txt").write_text("a==1\nb==2\n")
        with monkeypatch.context() as failing:
            failing.setattr(ensure_env, "pip", PIP)
            failing.setattr(ensure_env, "LOG", ensure_env.ROOT / "install.log")
            failing.setattr(progress, "run", lambda *arguments: (1, output))
            with pytest.raises(SystemExit):
                ensure_env.main()
        assert self.run(environment)[0] == first_step

    def test_takes_the_small_torch_when_asked(self, environment, monkeypatch):
        monkeypatch.setenv("TORCH", "cpu")
        assert self.run(environment)[:2] == ["create", "Installing torch for the CPU"]
        assert environment[1][1][0] == "torch==2.13.0"

    @pytest.mark.parametrize(
        ("number", "reason"),
        [
            (errno.ENOSPC, "The disk is full"),
            (errno.EDQUOT, "The disk is full"),
            (errno.EACCES, "right to write there"),
        ],
    )
    def test_says_why_a_folder_cannot_be_used(
        self, environment, monkeypatch, number, reason
    ):
        def fail():
            raise OSError(number, "It fails", ".venv")

        monkeypatch.setattr(ensure_env, "create", fail)
        with pytest.raises(SystemExit, match=reason):
            ensure_env.main()

    def test_refuses_another_torch(self, environment, monkeypatch):
        monkeypatch.setenv("TORCH", "gpu")
        with pytest.raises(SystemExit, match="TORCH=gpu is unknown: say TORCH=cpu"):
            ensure_env.main()
        assert not environment


def test_shows_how_far_pip_is():
    lines = {
        "Collecting click==8.5.1 (from -r requirements.txt (line 21))": (
            "looking up line 21 of requirements.txt"
        ),
        "  Downloading https://host/a/torch-2.13.0-cp311-none-any.whl (527.0 MB)": (
            "downloading torch, 527.0 MB"
        ),
        "Installing collected packages: wheel, torch": "unpacking (the longest part)",
        "Looking in indexes: https://pypi.org/simple": None,
    }
    assert {line: ensure_env.pip_status(line) for line in lines} == lines
