"""A chapter in JupyterLab: its markup is typeset, its steppers move.

The server is one of its own, with its own settings and no access from outside.
"""

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CHAPTER = ROOT / "book" / "ch01_rnn_seq2seq.ipynb"
SCREENSHOT = ROOT / "_build" / "screenshots" / "jupyterlab.png"
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


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """A running JupyterLab with a copy of the chapter, which it trusts."""
    folder = tmp_path_factory.mktemp("lab")
    (folder / "work").mkdir()
    shutil.copy(CHAPTER, folder / "work")
    for name, settings in SETTINGS.items():
        path = folder / "settings" / "@jupyterlab" / f"{name}.jupyterlab-settings"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(settings))
    environment = os.environ | {
        f"JUPYTER_{kind}_DIR": str(folder / kind.lower())
        for kind in ("CONFIG", "DATA", "RUNTIME")
    }
    jupyter = [sys.executable, "-m", "jupyter"]
    trust = [*jupyter, "trust", folder / "work" / CHAPTER.name]
    subprocess.run(trust, env=environment, check=True, capture_output=True)
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
            [*jupyter, "lab", *options], env=environment, stdout=log, stderr=log
        )
    try:
        wait_for(f"http://127.0.0.1:{port}/api", server, folder / "log")
        yield f"http://127.0.0.1:{port}/lab/tree/{CHAPTER.name}"
    finally:
        server.terminate()
        try:
            server.wait(20)
        except subprocess.TimeoutExpired:
            server.kill()


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


@pytest.fixture(scope="module")
def page(browser, lab):
    """The chapter, open in JupyterLab, all its cells drawn."""
    page = browser.new_page(viewport={"width": 1366, "height": 900})
    page.goto(lab)
    cells = json.loads(CHAPTER.read_text(encoding="utf-8"))["cells"]
    texts = sum(cell["cell_type"] == "markdown" for cell in cells)
    page.wait_for_function(
        "n => document.querySelectorAll('.jp-MarkdownCell .myst').length == n",
        arg=texts,
    )
    yield page
    page.close()


def test_markup_is_typeset(page):
    page.locator(".myst .katex").first.wait_for()
    texts = page.locator(".jp-MarkdownCell .myst").all_inner_texts()
    raw = [text for text in texts if re.search(r"```|:::|\$\$|^\(\w+-", text)]
    assert raw == []
    assert page.locator(".katex-error").count() == 0
    assert page.locator(".myst-exercise").count() > 0
    assert page.locator(".myst-admonition").count() > 0


def test_steppers_move(page):
    stepper = page.locator(".book-stepper").first
    slider = stepper.locator("input[type=range]")
    slider.scroll_into_view_if_needed()
    SCREENSHOT.parent.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=SCREENSHOT)

    def shown() -> str:
        return stepper.locator("img:visible").get_attribute("src")

    seen = [shown()]
    slider.press("ArrowRight")
    seen.append(shown())
    box = slider.bounding_box()
    slider.click(position={"x": box["width"] - 3, "y": box["height"] / 2})
    seen.append(shown())
    stepper.locator("button").first.click()
    seen.append(shown())
    assert len(set(seen)) == 4
