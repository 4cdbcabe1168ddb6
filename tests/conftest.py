"""What holds for all tests, and for the cells of the notebooks."""

import os
import signal

import hypothesis
import pytest

# PyTorch's threads, set before it is imported: tests run side by side, and threads that
# wait for each other make training on busy cores ten times slower. Two threads would
# change last digits, too.
os.environ["OMP_NUM_THREADS"] = "1"
os.environ.pop("ATTNBOOK_THREADS", None)
# The chapters' outputs are those of the package's parts, whatever a reader has saved.
os.environ["ATTNBOOK_PARTS"] = "package"

# All tests run on the CPU, on a machine with a GPU, too: they compare with batches and
# outputs of a CPU. A test of another device names it.
os.environ["ATTNBOOK_DEVICE"] = "cpu"

# A shell starts a program in the background with Ctrl-C ignored, and the programs that
# tests start would ignore it, too.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Examples are the same in every run, and may take their time on a busy machine.
hypothesis.settings.register_profile(
    "course",
    deadline=None,
    derandomize=True,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.load_profile("course")

MAY_BE_SKIPPED = "Skipped: Multi30k is not on this machine"
"""Its text may not be shipped, so that a machine for tests need not have it."""


def _refuse_skip(report):
    """Turn a skip into a failure where the variable CI is set."""
    if os.environ.get("CI") and report.skipped and not hasattr(report, "wasxfail"):
        _, _, reason = report.longrepr
        if reason.startswith(MAY_BE_SKIPPED):
            return
        report.outcome = "failed"
        report.longrepr = f"{reason} (with CI set, nothing may be skipped)"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    _refuse_skip(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector):
    report = yield
    _refuse_skip(report)
    return report


def pytest_collection_modifyitems(config, items):
    """Leave out the first cell of each notebook: it is for Colab only."""
    for_colab = [item for item in items if getattr(item, "options", {}).get("skip")]
    items[:] = [item for item in items if item not in for_colab]
    config.hook.pytest_deselected(items=for_colab)
