"""A reader's notebook in JupyterLab: all of it shows, and explorers live when run."""

import json
import os
import re
import socket
import subprocess
import sys
import time
from urllib.error import URLError
from urllib.request import urlopen

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook
from page_checks import check_accessible
from playwright.sync_api import Page, expect

from build_book import ROOT
from reader_notebooks import made
from run_notebooks import store

CHAPTER = "ch02_bahdanau.ipynb"
SCREENSHOTS = ROOT / "_build" / "screenshots"
EXPLORERS = "explorers.ipynb"
TOY_HEADS = """\
from attnbook.course.ch09.explorer_toy_heads import explore_toy_heads

explore_toy_heads()"""
STEPPER = """\
import matplotlib.pyplot as plt
from attnbook.course import stepper

figures, texts = [plt.figure() for _ in range(3)], [*"abc"]
stepper(figures, texts, label="Step", caption="Three.", alts=texts)"""
SETTINGS = {
    # All cells are drawn, not only those to be seen.
    "notebook-extension/tracker": {"windowingMode": "none"},
    # No question to the reader, no request to the outside.
    "apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False},
}
RAW = re.compile(r"```|:::|\$\$|\{[\w:]+\}`|^\([\w-]+\)=", re.MULTILINE)


@pytest.fixture(scope="module")
def notebooks(html):
    return dict(made(ROOT, site=False))


@pytest.fixture(scope="module")
def explorers():
    """The explorer of chapter 4 as stored, another, and a stepper."""
    chapter = nbformat.read(ROOT / "book" / "ch04_scaled_dot_product.ipynb", 4)
    [explorer] = [cell for cell in chapter.cells if cell.id == "explorer"]
    others = nbformat.read(ROOT / "book" / "ch07_positions.ipynb", 4).cells
    [stored] = [cell.outputs for cell in others if "stepper(" in cell.source]
    stepper = new_code_cell(STEPPER, outputs=stored)
    cells = [explorer, new_code_cell(TOY_HEADS), stepper]
    return new_notebook(cells=cells, metadata=chapter.metadata)


@pytest.fixture(scope="module")
def lab(tmp_path_factory, notebooks, explorers):
    """A server of its own with all notebooks; as a reader's, it trusts none of them."""
    folder = tmp_path_factory.mktemp("lab")
    (folder / "work").mkdir()
    for name, notebook in (notebooks | {EXPLORERS: explorers}).items():
        store(notebook, folder / "work" / name)
    for name, settings in SETTINGS.items():
        path = folder / "settings" / "@jupyterlab" / f"{name}.jupyterlab-settings"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(settings))
    environment = os.environ | {
        f"JUPYTER_{kind}_DIR": str(folder / kind.lower())
        for kind in ("CONFIG", "DATA", "RUNTIME")
    }
    environment.pop("ATTNBOOK_STILL", None)  # a reader's kernel has none
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    options = [
        *("--no-browser", "--allow-root", "--IdentityProvider.token="),
        *(f"--ServerApp.port={port}", f"--ServerApp.root_dir={folder / 'work'}"),
        f"--LabApp.user_settings_dir={folder / 'settings'}",
        f"--LabApp.workspaces_dir={folder / 'workspaces'}",
    ]
    command = [sys.executable, "-m", "jupyter", "lab", *options]
    with (folder / "log").open("w") as log:
        server = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
    try:
        for _ in range(3000):  # ten minutes are for a machine that is busy
            if answers(f"http://127.0.0.1:{port}/api"):
                break
            assert server.poll() is None, (folder / "log").read_text()
            time.sleep(0.2)
        yield f"http://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait(600)


def answers(address):
    try:
        urlopen(address).close()
        return True
    except URLError:
        return False


def address_of(lab, notebook):
    """Of a workspace of its own: a shared one would open earlier notebooks again."""
    return f"{lab}/lab/workspaces/{notebook.removesuffix('.ipynb')}/tree/{notebook}"


@pytest.fixture(scope="module")
def page(browser, lab, notebooks):
    """The chapter, open in JupyterLab, all its cells drawn."""
    page = browser.new_page(viewport={"width": 1366, "height": 900})
    page.goto(address_of(lab, CHAPTER))
    texts = [c for c in notebooks[CHAPTER].cells if c.cell_type == "markdown"]
    rendered = page.locator(".jp-MarkdownCell.jp-mod-rendered")
    expect(rendered).to_have_count(len(texts))
    page.locator(".katex, mjx-container").first.wait_for()
    yield page
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=SCREENSHOTS / "jupyterlab.png")
    page.close()


def test_markup_is_typeset(page):
    texts = page.locator(".jp-MarkdownCell").all_inner_texts()
    assert [text for text in texts if RAW.search(text)] == []
    assert page.locator(".katex-error, mjx-merror").count() == 0


def test_every_picture_is_there(page, notebooks):
    cells = [c for c in notebooks[CHAPTER].cells if c.cell_type == "code"]
    shown = [
        c for c in cells if not c.metadata.get("jupyter", {}).get("outputs_hidden")
    ]
    outputs = [o for c in shown for o in c.outputs]
    drawn = [o for o in outputs if "image/png" in o.get("data", {})]
    written = [o for o in outputs if "<img" in o.get("data", {}).get("text/html", "")]
    pictures = page.locator(".jp-OutputArea-output :is(img, svg)")
    assert len(drawn) > 1
    assert len(written) > 2
    assert pictures.count() >= len(drawn) + len(written)
    broken = pictures.evaluate_all(
        "all => all.filter(e => e.checkVisibility() && e.naturalWidth === 0).length"
    )
    assert broken == 0


def test_a_term_leads_to_the_glossary(page):
    page.locator(".jp-MarkdownCell a", has_text="alignment accuracy").first.click()
    tab = page.locator(".lm-TabBar-tab", has_text="glossary.ipynb")
    expect(tab).to_be_visible()
    # A notebook that is closed while it is being loaded may count as changed.
    page.add_locator_handler(
        page.locator(".jp-Dialog .jp-mod-warn"), lambda discard: discard.click()
    )
    tab.locator(".lm-TabBar-tabCloseIcon").click()
    expect(tab).not_to_be_visible()


@pytest.fixture(scope="module")
def alive(browser, lab):
    """The notebook of explorers, open and not yet run, nor trusted."""
    page = browser.new_page(viewport={"width": 1366, "height": 1500})
    page.goto(address_of(lab, EXPLORERS))
    page.locator(".jp-CodeCell").nth(1).wait_for()
    page.get_by_text("| Idle").wait_for()  # a cell that is run earlier may get lost
    yield page
    page.close()


def run_cell(page: Page, number: int) -> None:
    """Run a cell, by the keyboard, and wait for its explorer."""
    cell = page.locator(".jp-CodeCell").nth(number)
    cell.locator(".jp-InputArea-editor").click()
    page.keyboard.press("Shift+Enter")
    parts = cell.locator(".book-explorer [role=status], input[type=range]")
    expect(parts.first).to_be_visible()


def test_unrun_it_is_a_picture_with_text(alive):
    cell = alive.locator(".jp-CodeCell").first
    image = cell.locator(".book-stepper img")
    expect(image).to_have_count(1)
    assert image.evaluate("e => e.complete && e.naturalWidth > 0")
    assert "k₁: score 2.00" in image.get_attribute("alt")
    expect(cell).to_contain_text("Settings: direction, degrees: 0; length: 2.")
    assert "model not found" not in alive.content()
    expect(cell.locator(".jupyter-widgets")).to_have_count(0)


def test_arrow_keys_move_a_slider_and_the_result_follows(alive):
    run_cell(alive, 0)
    box = alive.locator(".book-explorer").first
    status, image = box.get_by_role("status"), box.locator("img")
    expect(status).to_contain_text("Largest weight: k₂, 0.70.")
    before = image.get_attribute("src")
    slider = box.get_by_role("slider", name="direction, degrees")
    slider.focus()
    slider.press("ArrowLeft")
    slider.press("ArrowLeft")
    expect(status).to_contain_text("Largest weight: k₂, 0.53.")
    assert image.get_attribute("src") != before
    expect(slider).to_have_attribute("aria-valuenow", "-10")
    expect(slider).to_be_focused()
    slider.press("ArrowDown")  # JupyterLab would go to the next cell
    expect(status).to_contain_text("Largest weight: k₁, 0.46.")
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    alive.screenshot(path=SCREENSHOTS / "explorer-in-lab.png")


def test_it_is_accessible(alive):
    run_cell(alive, 1)  # with a text and menus, too
    assert check_accessible(alive, "light", ".book-explorer") == []


def test_a_stepper_moves_once_its_cell_is_run(alive):
    """Before, its script is taken away, and its controls stay hidden."""
    stepper = alive.locator(".jp-CodeCell").nth(2).locator(".book-stepper")
    expect(stepper.locator("img:visible")).to_have_count(1)
    slider = stepper.locator("input[type=range]")
    assert not slider.is_visible()
    run_cell(alive, 2)
    text = stepper.locator("p:visible")
    expect(text).to_have_text("a")
    slider.press("ArrowRight")
    expect(text).to_have_text("b")
    stepper.locator("button").last.click()
    expect(text).to_have_text("c")
    slider.click(position={"x": 2, "y": slider.bounding_box()["height"] / 2})
    expect(text).to_have_text("a")
