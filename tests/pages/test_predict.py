"""Predict boxes and the reader's progress, in the first chapter."""

import pytest
from page_checks import check_accessible
from playwright.sync_api import Page, expect

ONE, TWO = "book/ch01_rnn_seq2seq.html", "book/lab01_rnn_seq2seq.html"
FIRST, SECOND = "1. Sequence to sequence with RNNs", "Lab 1: Sequence"
STORED = "localStorage.getItem('attention-step-by-step')"
BLOCKED = """Object.defineProperty(window, "localStorage", {
    get() { throw new DOMException("blocked", "SecurityError"); } });"""


@pytest.fixture
def page(visit):
    """The first chapter, as a new reader finds it."""
    return visit(ONE)


def answer(page: Page, number: int, box: int = 0):
    """The answer of a box, both counted from 0."""
    return page.locator(".predict").nth(box).locator(".predict-answer").nth(number)


def result(page: Page, box: int = 0):
    """What the cell behind a box has printed."""
    return page.locator(".predict-cover").nth(box).locator(".cell_output").first


def in_contents(page: Page, title: str):
    """How far the reader is, next to a title in the table of contents."""
    return page.locator(".bd-links a", has_text=title).locator(".how-far")


# --- A box ---


def cover(page: Page, box: int = 0):
    """The line that stands where a result will be shown."""
    return page.locator(".predict-cover > summary").nth(box)


SAYS_SO = "The rows are equal: on average"


def test_without_javascript_a_result_is_covered_and_all_can_be_read(visit):
    page = visit(ONE, java_script_enabled=False)
    expect(page.locator(".tick")).to_have_count(0)
    expect(result(page)).to_be_hidden()
    expect(page.get_by_text(SAYS_SO)).to_be_hidden()
    cover(page).click()
    expect(result(page)).to_be_visible()
    expect(page.get_by_text(SAYS_SO)).to_be_visible()
    expect(page.locator(".predict-answers > li")).to_have_count(6)
    expect(page.get_by_text("about 0.5 both times").first).to_be_visible()
    page.locator(".predict-fold summary").first.click()
    expect(page.get_by_text("In an average batch")).to_be_visible()


def test_until_an_answer_is_chosen_the_result_is_covered(page):
    """With its gloss and what is said of it; the section behind it is not."""
    for text in ("(The old farmer sees a bird, and", "Every word is right, and"):
        expect(page.get_by_text(text).last).to_be_hidden()
    expect(page.get_by_role("heading", name="Decoder or training?")).to_be_visible()
    expect(page.get_by_text("In an average batch")).to_be_hidden()
    expect(page.get_by_role("button", name="Choose again")).to_have_count(0)
    group = page.get_by_role("group", name="How probable is")
    expect(group.get_by_role("status")).to_have_count(1)
    expect(group.get_by_role("button")).to_have_count(3)


def test_all_that_speaks_of_a_result_waits_and_what_leads_on_does_not(visit):
    page = visit("book/ch04_scaled_dot_product.html")
    for text in ("the winner gets 0.74 on average", "Both faults have one cause"):
        expect(page.get_by_text(text)).to_be_hidden()
    expect(page.get_by_text("Training has to begin with these")).to_be_visible()


MARKS = [
    (0, "Not quite: the answer is (b).", ["your prediction", "correct", ""]),
    (1, "Correct.", ["", "your prediction, correct", ""]),
]


@pytest.mark.parametrize(("number", "said", "marks"), MARKS)
def test_an_answer_is_judged_and_the_first_choice_counts(page, number, said, marks):
    answer(page, number).click()
    answer(page, 1 - number).click(force=True)
    box = page.locator(".predict").first
    expect(box.get_by_role("status")).to_contain_text(said)
    expect(box.locator(".predict-mark")).to_have_text(marks)
    expect(box.get_by_text("In an average batch")).to_be_visible()
    expect(result(page)).to_be_visible()
    expect(page.get_by_text(SAYS_SO)).to_be_visible()
    expect(result(page, 1)).to_be_hidden()  # it belongs to the other box


def test_a_box_by_keyboard_alone(page):
    box = page.locator(".predict").first
    page.locator(".predict a, .predict button, .headerlink").first.focus()
    page.keyboard.press("Tab")
    while not answer(page, 2).evaluate("e => e === document.activeElement"):
        page.keyboard.press("Tab")
    page.keyboard.press("Space")
    expect(box.get_by_role("status")).to_contain_text("Not quite")
    expect(answer(page, 2)).to_be_focused()
    page.keyboard.press("Tab")
    expect(box.get_by_role("button", name="Choose again")).to_be_focused()
    page.keyboard.press("Enter")
    expect(result(page)).to_be_hidden()
    expect(answer(page, 0)).to_be_focused()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(box.get_by_role("status")).to_contain_text("Correct.")


def test_show_anyway_by_keyboard(page):
    cover(page).focus()
    page.keyboard.press("Enter")
    expect(result(page)).to_be_visible()
    expect(result(page)).to_be_focused()
    expect(answer(page, 0)).to_have_attribute("aria-disabled", "false")
    assert page.evaluate(STORED) is None


def test_a_link_into_a_covered_result_uncovers_it(page):
    result(page).evaluate("e => { e.firstElementChild.id = 'figure'; }")
    page.evaluate("() => { location.hash = 'figure'; }")
    expect(result(page)).to_be_visible()
    expect(result(page, 1)).to_be_hidden()


def test_a_print_shows_answers_explanation_and_result(page):
    page.emulate_media(media="print")
    expect(page.get_by_text("near 0 with one clause, near 1")).to_be_visible()
    expect(result(page)).to_be_visible()
    explanation = page.get_by_text("In an average batch")
    assert explanation.evaluate("e => e.checkVisibility()")
    expect(explanation).to_be_visible()
    expect(cover(page)).to_be_hidden()
    expect(page.locator(".read-mark")).to_be_hidden()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_accessible_before_and_after(page, theme):
    found = check_accessible(page, theme, ".predict")
    found += check_accessible(page, theme, ".predict-cover")
    answer(page, 0).click()
    answer(page, 1, box=1).click()
    page.get_by_role("checkbox", name="I have read").check()
    for part in (".predict", ".read-mark", ".progress-note", ".bd-links"):
        found += check_accessible(page, theme, part)
    assert found == []


# --- Progress ---


def test_answers_are_kept_and_counted_in_the_contents(page, html):
    expect(in_contents(page, FIRST)).to_have_text("")
    answer(page, 0).click()
    expect(in_contents(page, FIRST)).to_contain_text("1/6")
    page.reload()
    expect(answer(page, 0)).to_contain_text("your prediction")
    expect(result(page)).to_be_visible()
    page.goto(f"{html.as_uri()}/{TWO}")
    expect(in_contents(page, FIRST)).to_contain_text("1/6")
    expect(in_contents(page, FIRST)).to_contain_text(
        "1 of 6 predictions and exercises done"
    )
    expect(in_contents(page, SECOND)).to_have_text("")


def test_exercises_and_pages_are_ticked(page, html):
    page.get_by_role("checkbox", name="Exercise 1.1 done").focus()
    page.keyboard.press("Space")
    expect(in_contents(page, FIRST)).to_contain_text("1/6")
    page.get_by_role("checkbox", name="I have read this page").check()
    expect(in_contents(page, FIRST)).to_contain_text("✓")
    expect(in_contents(page, FIRST)).to_contain_text("read; 1 of 6")
    page.goto(f"{html.as_uri()}/{TWO}")
    page.get_by_role("checkbox", name="I have read this page").check()
    expect(in_contents(page, SECOND)).to_contain_text("(read)")
    page.goto(f"{html.as_uri()}/{ONE}")
    expect(page.get_by_role("checkbox", name="Exercise 1.1 done")).to_be_checked()
    page.get_by_role("checkbox", name="I have read this page").uncheck()
    expect(in_contents(page, FIRST)).not_to_contain_text("✓")


def test_progress_is_cleared_when_it_is_confirmed(page):
    expect(page.get_by_text("Nothing is sent anywhere.")).to_have_count(2)
    button = page.get_by_role("button", name="Clear my progress")
    expect(button).to_be_hidden()
    answer(page, 0).click()
    page.get_by_role("checkbox", name="Exercise 1.1 done").check()
    page.once("dialog", lambda dialog: dialog.dismiss())
    button.click()
    expect(in_contents(page, FIRST)).to_contain_text("2/6")
    page.once("dialog", lambda dialog: dialog.accept())
    button.press("Enter")
    expect(page.locator(".progress-note [role=status]")).to_have_text("Cleared.")
    expect(page.locator(".progress-note")).to_be_focused()
    expect(button).to_be_hidden()
    expect(in_contents(page, FIRST)).to_have_text("")
    expect(page.get_by_role("checkbox", name="Exercise 1.1 done")).not_to_be_checked()
    expect(result(page)).to_be_hidden()
    assert page.evaluate(STORED) is None


def test_another_window_follows(page, html):
    other = page.context.new_page()
    other.goto(f"{html.as_uri()}/{TWO}")
    answer(page, 0).click()
    expect(in_contents(other, FIRST)).to_contain_text("1/6")
    other.get_by_role("checkbox", name="I have read this page").check()
    expect(in_contents(page, SECOND)).to_contain_text("✓")
    answer(page, 0, box=1).click()  # and nothing of the other window is lost
    other.reload()
    expect(in_contents(other, FIRST)).to_contain_text("2/6")
    expect(in_contents(other, SECOND)).to_contain_text("✓")


def test_where_the_browser_keeps_nothing_the_page_still_works(browser, html):
    page, errors = browser.new_page(), []
    page.add_init_script(BLOCKED)
    page.goto(f"{html.as_uri()}/{ONE}")  # where the theme's scripts complain
    page.on("pageerror", lambda error: errors.append(error))
    expect(page.get_by_text("This browser keeps nothing")).to_have_count(2)
    answer(page, 0).click()
    page.get_by_role("checkbox", name="Exercise 1.1 done").check()
    expect(result(page)).to_be_visible()
    expect(in_contents(page, FIRST)).to_contain_text("2/6")
    page.once("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Clear my progress").click()
    expect(result(page)).to_be_hidden()
    assert errors == []
    page.close()


FOREIGN = ["no JSON", "7", '{"answers": [9]}', '{"answers": {"predict-goes-on": 99}}']


def test_what_others_have_stored_does_no_harm(page):
    for stored in FOREIGN:
        page.evaluate(f"localStorage.setItem('attention-step-by-step', {stored!r})")
        page.reload()
        expect(result(page)).to_be_hidden()
        answer(page, 1).click()
        expect(answer(page, 1)).to_contain_text("your prediction, correct")
        expect(in_contents(page, FIRST)).to_contain_text("/6")
