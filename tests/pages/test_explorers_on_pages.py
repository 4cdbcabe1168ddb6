"""The explorers of the book: each control moves, and what follows is Python's."""

import re
from datetime import datetime
from importlib import import_module
from pathlib import Path

import pytest
from page_checks import ON_PHONE, PHONE, check_accessible, check_width
from playwright.sync_api import expect

import explorers
from attnbook.course.ch02 import explorer_film
from attnbook.course.ch04 import explorer_queries_and_keys
from attnbook.course.ch09 import explorer_transformer_pass
from attnbook.course.kit.explorers.controls import Switch
from attnbook.course.kit.explorers.explorer import EXPLORERS

COURSE = Path(import_module("attnbook.course").__file__).parent
ALIVE = [
    f"attnbook.course.{path.parent.name}.{path.stem}"
    for path in sorted(COURSE.glob("*/explorer_*.py"))
    if not re.search("^live_", path.read_text(encoding="utf-8"), re.MULTILINE)
]


def page_of(html, module):
    """The page that has it, as a path in the book, and where it stands there."""
    place = f'[data-explorer="{explorers.short_name(module.__name__)}"]'
    found = [
        path for path in html.glob("book/*.html") if place[1:-1] in path.read_text()
    ]
    assert len(found) == 1
    return f"book/{found[0].name}", place


@pytest.mark.parametrize("name", ALIVE)
def test_every_control_moves_by_the_keyboard(visit, html, name):
    module = import_module(name)
    path, place = page_of(html, module)
    page = visit(path)
    figure = page.locator(place)
    figure.evaluate("it => it.closest('.predict-cover')?.setAttribute('open', '')")
    figure.scroll_into_view_if_needed()
    expect(figure.locator(".explorer-drawn")).to_have_count(1)
    settings = {name: c.start for name, c in module.CONTROLS.items()}
    inputs = figure.locator(".explorer-controls :is(input, select)")
    for (moved, control), given in zip(
        module.CONTROLS.items(), inputs.all(), strict=True
    ):
        at = control.choices.index(settings[moved])
        last = at == len(control.choices) - 1
        key = "ArrowLeft" if last else "ArrowRight"
        given.press("Space" if isinstance(control, Switch) else key)
        settings[moved] = control.choices[at - 1 if last else at + 1]
        view = EXPLORERS[name].on_page(**settings)
        expect(figure.get_by_role("status")).to_have_text(view.said)
        drawing = figure.locator("svg[role=img]")
        expect(drawing).to_have_attribute("aria-label", view.alt)
        marks = view.as_data()["charts"][0].get("names", ())
        for mark in marks:
            expect(figure.locator("svg").first).to_contain_text(mark)
    assert "JupyterLab" not in figure.inner_text()
    figure_number = figure.locator("xpath=ancestor::figure[1]//figcaption").last
    expect(figure_number).to_contain_text(re.compile(r"Fig\. \w+\.\d+"))
    assert check_accessible(page, "dark", place) == []
    page.set_viewport_size(PHONE)
    assert check_width(page) == []


def test_a_film_plays_until_it_is_stopped_or_the_reader_moves_it(visit, html):
    path, place = page_of(html, explorer_film)
    figure = visit(path).locator(place)
    figure.evaluate("it => it.closest('.predict-cover').setAttribute('open', '')")
    figure.scroll_into_view_if_needed()
    expect(figure.locator(".explorer-drawn")).to_have_count(1)
    play, slider = figure.get_by_role("button"), figure.get_by_role("slider")
    status, clock = figure.get_by_role("status"), figure.page.clock
    clock.install()
    clock.pause_at(datetime(2100, 1, 1))
    for stop in (lambda: play.press("Enter"), lambda: slider.press("ArrowRight")):
        slider.press("End")
        play.click()  # from the beginning
        expect(status).to_contain_text("Step 0:")
        clock.run_for(1000)
        expect(status).to_contain_text("Step 45:")  # nine pictures
        expect(status).to_have_attribute("aria-live", "off")
        stop()
        expect(play).to_have_text("▶ Play")
        expect(status).to_have_attribute("aria-live", "polite")
        said = status.inner_text()
        clock.run_for(1000)
        assert status.inner_text() == said


def test_on_a_phone_a_film_its_button_and_what_it_says_share_the_screen(visit, html):
    path, place = page_of(html, explorer_film)
    figure = visit(path, **ON_PHONE).locator(place)
    figure.evaluate("it => it.closest('.predict-cover').setAttribute('open', '')")
    figure.scroll_into_view_if_needed()
    expect(figure.locator(".explorer-drawn")).to_have_count(1)
    play = figure.get_by_role("button")
    idle = play.bounding_box()
    play.click()
    expect(play).to_have_text("❚❚ Pause")
    busy = play.bounding_box()
    assert (idle["width"], idle["height"]) == (busy["width"], busy["height"])
    taken = figure.evaluate(  # at once: the film says something else at each frame
        """it => it.querySelector(".book-said p").getBoundingClientRect().bottom
            - it.querySelector("button").getBoundingClientRect().top"""
    )
    assert taken < PHONE["height"] - 64  # the page's header


def test_a_query_is_dragged_and_a_stage_is_pressed_in_the_drawing(visit, html):
    path, place = page_of(html, explorer_queries_and_keys)
    figure = visit(path).locator(place)
    figure.scroll_into_view_if_needed()
    status, mouse = figure.get_by_role("status"), figure.page.mouse
    arrow = figure.locator(".chart-of-Arrows .chart-fill.role-query").bounding_box()
    plane = figure.locator(".chart-of-Arrows .chart-grid").bounding_box()
    mouse.move(arrow["x"] + 2, arrow["y"] + 2)
    mouse.down()
    middle = plane["x"] + plane["width"] / 2, plane["y"] + plane["height"] / 2
    for up in (20, 60):  # the drawing is a new one after each move
        mouse.move(middle[0], middle[1] - up)
    mouse.up()
    length = round(2 * 120 * 3.75 / plane["width"]) / 2  # to the next half
    view = explorer_queries_and_keys.query_view(angle=90, length=length)
    expect(status).to_have_text(view.said)
    expect(figure.get_by_role("slider").first).to_have_attribute("aria-valuetext", "90")
    path, place = page_of(html, explorer_transformer_pass)
    figure = visit(path).locator(place)
    figure.scroll_into_view_if_needed()
    figure.locator(".chart-of-Stages rect").nth(24).click(force=True)
    view = explorer_transformer_pass.pass_view(stage=25, position=2)
    expect(figure.get_by_role("status")).to_have_text(view.said)


def test_on_a_phone_a_table_shares_the_screen_with_its_controls(visit, html):
    path, place = page_of(html, explorer_transformer_pass)
    figure = visit(path, **ON_PHONE).locator(place)
    figure.scroll_into_view_if_needed()
    expect(figure.locator(".explorer-drawn .chart-of-Stages")).to_be_visible()
    controls = figure.locator(".explorer-controls").bounding_box()
    table = figure.locator(".book-more table").bounding_box()
    assert controls["y"] < table["y"] < controls["y"] + controls["height"] + 40
    assert table["y"] + table["height"] < controls["y"] + PHONE["height"] / 2


def test_without_javascript_the_picture_stays(visit, html):
    path, place = page_of(html, import_module(ALIVE[-1]))
    figure = visit(path, java_script_enabled=False).locator(place)
    expect(figure.locator("img:visible")).to_have_count(1)
    expect(figure.locator("input").first).to_be_hidden()
    expect(figure).to_contain_text("With JavaScript switched on, you can change them")
