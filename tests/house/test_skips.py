"""tests/conftest.py: with CI set a skip is a failure, but for data that is not here."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

CONFTEST = Path(__file__).resolve().parents[1] / "conftest.py"
IN_A_TEST = """\
import pytest

def test_browser():
    pytest.skip("no browser: run this and that")

@pytest.mark.xfail
def test_expected():
    assert False
"""
WITHOUT_DATA = """\
import pytest

def test_text():
    pytest.skip("Multi30k is not on this machine: set ATTNBOOK_DATA")
"""
IN_A_MODULE = """\
import pytest

pytest.skip("no browser: run this and that", allow_module_level=True)
"""


def last_lines(folder: Path, **environment: str) -> str:
    """Run pytest in a folder of its own and return the end of what it prints."""
    inherited = {name: value for name, value in os.environ.items() if name != "CI"}
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-rfEs", "-p", "no:cacheprovider", folder],
        cwd=folder,
        env=inherited | environment | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
    ).stdout


@pytest.mark.parametrize("source", [IN_A_TEST, IN_A_MODULE], ids=["test", "module"])
def test_a_skip_fails_on_ci(tmp_path, source):
    shutil.copy(CONFTEST, tmp_path)
    (tmp_path / "test_it.py").write_text(source)
    at_home = last_lines(tmp_path)
    assert "1 skipped" in at_home
    assert "no browser: run this and that" in at_home
    on_ci = last_lines(tmp_path, CI="true")
    assert "1 failed" in on_ci or "1 error" in on_ci
    assert "no browser: run this and that (with CI set" in on_ci
    assert "skipped" not in on_ci.splitlines()[-1]


def test_data_that_may_not_be_shipped_may_be_missing_on_ci(tmp_path):
    shutil.copy(CONFTEST, tmp_path)
    (tmp_path / "test_it.py").write_text(WITHOUT_DATA)
    for environment in ({}, {"CI": "true"}):
        shown = last_lines(tmp_path, **environment)
        assert "1 skipped" in shown
        assert "failed" not in shown
        assert "Multi30k is not on this machine: set ATTNBOOK_DATA" in shown
