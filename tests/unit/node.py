"""Scripts of the pages, run by the Node.js that Playwright brings along."""

import json
import subprocess
from pathlib import Path
from typing import Any

from playwright._impl._driver import compute_driver_executable

NODE = compute_driver_executable()[0]


def told_by_node(*arguments: str | Path, given: str = "") -> Any:
    """Run Node.js, and read what it prints as JSON.

    Args:
        *arguments: A script to run, with its arguments; "-" is the input itself.
        given: Its input.
    """
    run = subprocess.run(
        [NODE, *arguments], input=given, capture_output=True, encoding="utf-8"
    )
    assert not run.returncode, run.stderr
    return json.loads(run.stdout)
