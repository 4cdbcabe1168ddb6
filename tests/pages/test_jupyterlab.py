"""A reader's notebook in JupyterLab: all of it shows, trusted or not."""

import copy
import re

import pytest
from lab_server import address_of, running_lab
from playwright.sync_api import expect

from build_book import ROOT
from reader_notebooks import made
from run_notebooks import store

CHAPTER = "ch02_bahdanau.ipynb"
WITH_STEPPER = "lab10_decoding.ipynb"
SCREENSHOTS = ROOT / "_build" / "screenshots"
RAW = re.compile(r"```|:::|\$\$|\{[\w:]+\}`|^\([\w-]+\)=", re.MULTILINE)


@pytest.fixture(scope="module")
def notebooks(html):
    return dict(made(ROOT, site=False))


@pytest.fixture(scope="module")
def lab(tmp_path_factory, notebooks):
    """JupyterLab with all readers' notebooks, of which it trusts two."""
    folder = tmp_path_factory.mktemp("lab")
    (folder / "work").mkdir()
    for name, notebook in notebooks.items():
        store(notebook, folder / "work" / name)
    for name in (CHAPTER, WITH_STEPPER):  # trust goes with the content: change it
        other = copy.deepcopy(notebooks[name])
        other.metadata["title"] = "other"
        store(other, folder / "work" / untrusted(name))
    with running_lab(folder, trusted=[CHAPTER, WITH_STEPPER]) as site:
        yield site


def untrusted(name):
    """File of the copy that JupyterLab does not trust."""
    return f"untrusted_{name}"


@pytest.fixture(scope="module", params=[CHAPTER, untrusted(CHAPTER)])
def page(browser, lab, notebooks, request):
    """The chapter, open in JupyterLab, all its cells drawn."""
    page = browser.new_page(viewport={"width": 1366, "height": 900})
    page.goto(address_of(lab, request.param))
    texts = [c for c in notebooks[CHAPTER].cells if c.cell_type == "markdown"]
    rendered = page.locator(".jp-MarkdownCell.jp-mod-rendered")
    expect(rendered).to_have_count(len(texts))
    page.locator(".katex, mjx-container").first.wait_for()
    yield page
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=SCREENSHOTS / f"jupyterlab_{request.param}.png")
    page.close()


def test_markup_is_typeset(page):
    texts = page.locator(".jp-MarkdownCell").all_inner_texts()
    assert [text for text in texts if RAW.search(text)] == []
    assert page.locator(".katex-error, mjx-merror").count() == 0


def test_every_picture_is_there(page, notebooks):
    """Also in a notebook that JupyterLab does not trust."""
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


@pytest.fixture(params=[WITH_STEPPER, untrusted(WITH_STEPPER)])
def stepper(browser, lab, request):
    """A figure whose pictures follow a slider, and whether it is trusted."""
    page = browser.new_page(viewport={"width": 1366, "height": 900})
    page.goto(address_of(lab, request.param))
    found = page.locator(".book-stepper", has=page.locator("input[type=range]"))
    found.wait_for(state="attached")
    yield found, request.param == WITH_STEPPER
    page.close()


def test_steppers_move(stepper):
    stepper, trusted = stepper
    slider = stepper.locator("input[type=range]")
    if not trusted:  # its script is taken away, and its controls stay hidden
        assert not slider.is_visible()
        expect(stepper.locator("img:visible")).to_have_count(1)
        return
    slider.scroll_into_view_if_needed()

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
