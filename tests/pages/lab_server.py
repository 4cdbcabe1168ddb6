"""JupyterLab for a test: a server of its own, with its own settings, for one folder."""

import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

SETTINGS = {
    # All cells are drawn, not only those to be seen.
    "notebook-extension/tracker": {"windowingMode": "none"},
    # No question to the reader, no request to the outside.
    "apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False},
}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextmanager
def running_lab(folder: Path) -> Iterator[str]:
    """Run JupyterLab over ``folder/work``, not to be reached from outside.

    Args:
        folder: Gets what the server writes; its notebooks are in ``work``.

    Yields:
        The server's address, for :func:`address_of`.
    """
    for name, settings in SETTINGS.items():
        path = folder / "settings" / "@jupyterlab" / f"{name}.jupyterlab-settings"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(settings))
    environment = os.environ | {
        f"JUPYTER_{kind}_DIR": str(folder / kind.lower())
        for kind in ("CONFIG", "DATA", "RUNTIME")
    }
    environment.pop("ATTNBOOK_STILL", None)  # a reader's kernel has none
    port = free_port()
    options = [
        "--no-browser",
        "--allow-root",
        f"--ServerApp.port={port}",
        f"--ServerApp.root_dir={folder / 'work'}",
        "--IdentityProvider.token=",
        f"--LabApp.user_settings_dir={folder / 'settings'}",
        f"--LabApp.workspaces_dir={folder / 'workspaces'}",
    ]
    with (folder / "log").open("w") as log:
        server = subprocess.Popen(
            [sys.executable, "-m", "jupyter", "lab", *options],
            env=environment,
            stdout=log,
            stderr=log,
        )
    try:
        wait_for(f"http://127.0.0.1:{port}/api", server, folder / "log")
        yield f"http://127.0.0.1:{port}"
    finally:
        server.terminate()
        try:
            server.wait(20)
        except subprocess.TimeoutExpired:
            server.kill()


def address_of(lab: str, notebook: str) -> str:
    """Return the address of a notebook, in a workspace of its own.

    In a shared workspace JupyterLab would open the notebooks of earlier tests again.
    """
    return f"{lab}/lab/workspaces/{Path(notebook).stem}/tree/{notebook}"


def wait_for(address: str, server: subprocess.Popen, log: Path) -> None:
    """Wait until the server answers; ten minutes are for a machine that is busy."""
    for _ in range(3000):
        try:
            urllib.request.urlopen(address).close()
            return
        except urllib.error.URLError:
            assert server.poll() is None, log.read_text()
            time.sleep(0.2)
    pytest.fail(f"JupyterLab did not start:\n{log.read_text()}")
