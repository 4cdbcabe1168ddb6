"""The playground in its page: usable by everyone, and as gentle as it promises."""

import pytest
from page_checks import PHONE, check_accessible, check_targets, check_width
from playwright.sync_api import expect

from attnbook.course.kit.playground.data import PRESETS

PAGE = "book/playground.html"


@pytest.fixture
def playground(visit):
    """A function that opens the page and returns the figure of a preset."""

    def playground(name, hash="", **options):
        return visit(PAGE + hash, **options).locator(f"#train-{name}")

    return playground


def press(figure, name):
    figure.get_by_role("button", name=name, exact=True).click()


def started(figure):
    """Open it; what trains at once begins anew."""
    figure.locator(".play-open button").click()
    expect(figure.locator(".play-train")).to_be_focused()
    press(figure, "Start again")


def train_long(figure):
    """Let the pair have so many steps that it is still at work, however slow we are."""
    figure.evaluate(
        "figure => figure.playground.settings.forEach(s => { s.steps = 100000; })"
    )


def numbers(figure):
    return figure.locator(".play-numbers").all_inner_texts()


def test_by_mouse(playground):
    figure = playground("one-head")
    assert not figure.locator(".play-stored p").first.is_visible()
    figure.page.emulate_media(media="print")
    expect(figure.get_by_role("button", name="Train both")).to_be_hidden()
    figure.page.emulate_media(media="screen")
    figure.get_by_role("radio").nth(1).check()  # before anything is loaded
    figure.page.reload()
    expect(figure.get_by_role("radio").nth(1)).to_be_checked()
    expect(figure).to_contain_text("Both models: one layer, dk = 16, D = 32")
    started(figure)
    assert numbers(figure) == ["Not trained yet"] * 2
    press(figure, "One step")
    expect(figure.locator(".play-numbers").nth(1)).to_contain_text("Step 1:")
    assert not figure.locator(".play-stored p").first.is_visible()
    press(figure, "Train on")
    status = figure.locator(".play-status")
    expect(status).to_contain_text("Both have trained for 100 steps")
    expect(status).to_contain_text("You predicted (b)")
    expect(figure.locator(".play-numbers").first).to_contain_text("Step 100:")
    expect(figure.locator(".play-stored p").first).to_be_visible()
    assert figure.locator(".chart-band").count() == 4
    assert figure.locator(".chart-of-Map").count() == 3  # two heads and one
    for theme in ("light", "dark"):
        assert check_accessible(figure.page, theme, "#train-one-head") == []
    press(figure, "Start again")
    expect(figure.locator(".play-numbers").first).to_have_text("Not trained yet")
    figure.get_by_role("link", name="Change anything").click()
    free = figure.page.locator("#train-free")
    expect(free.get_by_label("Task")).to_have_value('"previous_two"')


def test_what_explodes_ends_at_the_edge_of_the_chart(playground):
    """The stored runs without norms begin far above it."""
    figure = playground("no-norm")
    started(figure)
    for _ in range(12):
        press(figure, "One step")
    tops = figure.locator(".chart-band").evaluate_all(
        "all => all.map(e => e.getBBox().y)"
    )
    assert len(tops) == 4
    assert min(tops) >= 0


def test_by_keyboard_with_little_motion(playground):
    figure = playground("no-mask", reduced_motion="reduce")
    page = figure.page
    figure.get_by_role("button", name="Train both").focus()
    page.keyboard.press("Enter")
    expect(figure.locator(".play-train")).to_be_focused()
    expect(figure.locator(".play-status")).to_have_text("Training …")
    page.keyboard.press("Space")  # the same button, which pauses now
    expect(figure.locator(".play-status")).to_have_text("Paused.")
    page.wait_for_function(  # the slower one has caught up
        """() => {
            const {runs, until} = document.querySelector("#train-no-mask").playground;
            return runs.every(run => run.steps === until);
        }"""
    )
    figure.get_by_role("button", name="Generate").focus()
    page.keyboard.press("Enter")
    expect(figure.locator(".play-sentences").nth(1)).to_contain_text("of 32 follow")


def test_it_stops_when_hidden_and_when_another_pair_trains(playground):
    figure = playground("no-mask")
    other = figure.page.locator("#train-one-head")
    started(figure)
    started(other)
    train_long(figure)
    train_long(other)
    press(figure, "Train both")
    press(other, "Train both")
    status = figure.locator(".play-status")
    expect(status).to_have_text("Paused, since another pair trains.")
    press(figure, "Train on")
    figure.page.evaluate(
        """() => {
            Object.defineProperty(document, "hidden", {value: true});
            document.dispatchEvent(new Event("visibilitychange"));
        }"""
    )
    expect(status).to_have_text("Paused, since the page was hidden.")


def test_an_address_opens_free_play(playground):
    address = "#free&task=previous_two&steps=100&layers=1&heads=1&b.causal=true"
    figure = playground("free", address)
    mask = figure.get_by_label("Causal mask, run B")
    expect(mask).to_have_value("true")
    figure.get_by_label("Layer norm, run A").select_option('"none"')
    assert "a.norm=none" in figure.page.url
    press(figure, "Train both")
    expect(figure.locator(".play-status")).to_contain_text("trained for 100 steps")
    figure.get_by_text("As PyTorch code").click()
    expect(figure.locator("pre").first).to_contain_text('norm="none"')
    assert check_accessible(figure.page, "dark", "#train-free") == []


def test_an_odd_address_opens_two_models_of_one_task(playground):
    odd = "&b.toString=1&a.constructor=2&a.task=sort&b.task=reverse"
    figure = playground("free", f"#free{odd}")
    expect(figure.get_by_role("button", name="Train both")).to_be_focused()
    assert figure.page.url.endswith("playground.html#free")


def test_free_play_begins_with_a_difference_and_judges_dares(playground):
    """On a laptop the curves stand beside the choices, on a phone above them."""
    figure = playground("free", viewport={"width": 1440, "height": 900})
    started(figure)
    expect(figure.locator(".play-differs")).to_contain_text(["Positions"])
    chart, form = figure.locator("div.play-chart"), figure.locator(".play-form")
    beside = chart.bounding_box(), form.bounding_box()
    assert beside[0]["x"] + beside[0]["width"] < beside[1]["x"]
    press(figure, "Make one head do it")
    press(figure, "Train both")
    status = figure.locator(".play-status")
    expect(status).to_contain_text("The dare isn’t won yet")
    figure.get_by_label("Heads, run B").select_option("2")
    press(figure, "Train both")
    expect(status).to_contain_text("leave B’s choice of “Heads”")
    figure.page.set_viewport_size(PHONE)
    assert check_width(figure.page) == []
    assert check_targets(figure) == []
    press(figure, "Start again")
    press(figure, "Train both")
    expect(form.locator("table")).to_be_hidden()
    expect(chart).to_be_in_viewport(ratio=1)


def test_without_javascript_and_on_paper(playground):
    page = playground("one-head", java_script_enabled=False).page
    for name in PRESETS:
        figure = page.locator(f"#train-{name}")
        assert "JavaScript" in figure.locator("noscript").inner_text()
        assert not figure.get_by_role("button").count()
        stored = figure.locator(".play-stored")
        stored.locator("summary").click()
        expect(stored.locator(".play-chart")).to_be_visible()
    stored.locator("summary").click()
    expect(stored.locator(".play-chart")).to_be_hidden()
    page.emulate_media(media="print")  # the folds print open
    expect(stored.locator(".play-chart")).to_be_visible()


def test_without_its_scripts(browser, serve, html):
    page = browser.new_page()
    page.route("**/playground/engine.js*", lambda route: route.abort())
    page.goto(f"{serve(html)}/{PAGE}")
    figure = page.locator("#train-one-head")
    press(figure, "Train both")
    expect(figure.locator(".play-alert")).to_contain_text("engine.js could not be")
    page.unroute("**/playground/engine.js*")  # the next try works, over HTTP too
    started(figure)
    press(figure, "One step")
    expect(figure.locator(".play-numbers").first).to_contain_text("Step 1:")
    page.close()
