"""Explorers in JupyterLab: a still until the cell is run, and then live."""

import re
from pathlib import Path

import nbformat
import pytest
from lab_server import address_of, running_lab
from nbformat.v4 import new_code_cell, new_notebook
from playwright.sync_api import Page, expect

from page_checks import check_accessible

ROOT = Path(__file__).resolve().parents[2]
CHAPTER = ROOT / "book" / "ch04_scaled_dot_product.ipynb"
SCREENSHOTS = ROOT / "_build" / "screenshots"
TOY_HEADS = """\
from attnbook.course.ch09.explorer_toy_heads import explore_toy_heads

explore_toy_heads()"""
TRUST = {"trusted.ipynb": True, "untrusted.ipynb": False}


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """JupyterLab with the explorer of chapter 4 as stored, and another."""
    folder = tmp_path_factory.mktemp("explorers")
    (folder / "work").mkdir()
    chapter = nbformat.read(CHAPTER, as_version=4)
    [explorer] = [cell for cell in chapter.cells if cell.id == "explorer"]
    notebook = new_notebook(
        cells=[explorer, new_code_cell(TOY_HEADS)], metadata=chapter.metadata
    )
    for name in TRUST:  # trust goes with the content, so each has a title of its own
        notebook.metadata["title"] = name
        nbformat.write(notebook, folder / "work" / name)
    trusted = [name for name, trust in TRUST.items() if trust]
    with running_lab(folder, trusted=trusted) as site:
        yield site


@pytest.fixture(scope="module", params=TRUST)
def page(browser, lab, request):
    """One of the notebooks, open and not yet run."""
    page = browser.new_page(viewport={"width": 1366, "height": 1500})
    page.goto(address_of(lab, request.param))
    page.locator(".jp-CodeCell").nth(1).wait_for()
    page.get_by_text("| Idle").wait_for()  # a cell that is run earlier may get lost
    yield page
    page.close()


def run_cell(page: Page, number: int) -> None:
    """Run a cell, by the keyboard, and wait for its explorer."""
    cell = page.locator(".jp-CodeCell").nth(number)
    cell.locator(".jp-InputArea-editor").click()
    page.keyboard.press("Shift+Enter")
    cell.locator(".book-explorer [role=status]").wait_for()


def test_unrun_it_is_a_picture_with_text(page):
    cell = page.locator(".jp-CodeCell").first
    image = cell.locator(".book-stepper img")
    expect(image).to_have_count(1)
    assert image.evaluate("e => e.complete && e.naturalWidth > 0")
    assert "k₁: score 2.00" in image.get_attribute("alt")
    expect(cell).to_contain_text("Settings: direction, degrees: 0; length: 2.")
    assert "model not found" not in page.content()
    expect(cell.locator(".jupyter-widgets")).to_have_count(0)


def test_arrow_keys_move_a_slider_and_the_result_follows(page):
    run_cell(page, 0)
    box = page.locator(".book-explorer").first
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
    page.screenshot(path=SCREENSHOTS / "explorer-in-lab.png")


def test_it_is_accessible(page):
    assert check_accessible(page, "light", ".book-explorer") == []


def test_an_unknown_word_is_told_and_the_old_map_disappears(page):
    run_cell(page, 1)
    box = page.locator(".book-explorer").nth(1)
    status = box.get_by_role("status")
    sentence = box.get_by_role("textbox", name="sentence")
    sentence.fill("a dog runs")
    sentence.press("Enter")
    expect(status).to_contain_text("Not possible: 'runs' is not a word")
    expect(box.locator("img")).to_have_count(0)
    sentence.fill("a dog sees a cat")
    sentence.press("Enter")
    expect(status).to_contain_text("An exact match.")
    expect(box.locator("img")).to_have_count(1)
    box.get_by_role("combobox", name="head").select_option("4")
    alt = re.compile(r"cross-attention\. bodus: dog, 0\.9")
    expect(box.locator("img")).to_have_attribute("alt", alt)
