"""On CI nothing may be skipped: a skip there means that something is missing."""

import os

import pytest


def _refuse_skip(report):
    """Turn a skip into a failure where the variable CI is set."""
    if os.environ.get("CI") and report.skipped and not hasattr(report, "wasxfail"):
        _, _, reason = report.longrepr
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
