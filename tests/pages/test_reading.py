"""What a reader meets on any page: code on a phone, the side bar, paper."""

import re

from page_checks import ON_PHONE
from playwright.sync_api import expect

# Lines of code that go on left of where they begin, and comments without their sign.
BROKEN = """() => [...document.querySelectorAll(".code-line")].filter((line) => {
    const words = document.createTreeWalker(line, NodeFilter.SHOW_TEXT);
    const rows = new Map();
    while (words.nextNode()) {
        if (!words.currentNode.data.trim()) continue;
        const range = document.createRange();
        range.selectNodeContents(words.currentNode);
        for (const {left, bottom} of range.getClientRects()) {
            const row = Math.round(bottom);
            rows.set(row, Math.min(left, rows.get(row) ?? left));
        }
    }
    const [first, ...others] = [...rows.values()];
    return others.some((left) => left < first + 1);
}).map((line) => line.textContent)"""


def test_code_on_a_phone_keeps_its_indentation_and_its_signs(visit):
    page = visit("book/ch01_rnn_seq2seq.html", **ON_PHONE)
    page.evaluate(
        "document.querySelectorAll('details').forEach(e => { e.open = true })"
    )
    assert page.evaluate(BROKEN) == []
    comment = page.locator(".code-line > .c1").first
    sign = comment.evaluate("e => getComputedStyle(e, '::before').content")
    assert sign.count("#") > 3
    assert "`" not in "".join(page.locator("summary").all_inner_texts())
    code = page.locator("div.highlight pre", has_text="def gru_step").first
    copied = code.evaluate("e => e.cloneNode(true).innerText")  # as the button does
    assert "\n\n\n\n" not in copied
    assert "def gru_step" in copied


def test_without_scripts_the_page_has_its_colours_and_with_them_the_readers(visit):
    chapter = "book/ch04_scaled_dot_product.html"
    for dark in ({}, {"color_scheme": "dark"}):
        page = visit(chapter, **dark)
        theme = page.locator("html").get_attribute("data-theme")
        assert theme == ("dark" if dark else "light")
    page = visit(chapter, java_script_enabled=False, color_scheme="dark")
    code = page.locator(".cell_input").first
    ground = code.evaluate("e => getComputedStyle(e).backgroundColor")
    assert ground == "rgb(246, 247, 249)"
    assert not page.locator(".bd-header-article button:visible").count()  # all dead


def test_name_and_search_stay_in_sight_and_no_tooltip_is_printed(visit):
    page = visit("book/ch12_training.html", viewport={"width": 1024, "height": 768})
    for part in (".navbar-brand", ".search-button-field"):
        expect(page.locator(f".bd-sidebar-primary {part}")).to_be_in_viewport(ratio=0.9)
    page.locator(".theme-switch-button").hover()
    tooltip = page.locator(".tooltip")
    expect(tooltip).to_be_visible()
    page.emulate_media(media="print")
    expect(tooltip).to_be_hidden()


def test_hidden_contents_stay_hidden_on_the_next_page(visit, serve, html):
    page = visit("book/ch06_masks.html", serve(html))
    page.locator(".primary-toggle").click()
    needed = page.locator(".chapter-box a[title]", has_text="4").first
    expect(needed).to_have_attribute("title", "Scaled dot-product attention")
    needed.click()  # "You need chapters 4 and 5"
    expect(page).to_have_url(re.compile("/ch04_"))
    sidebar = page.locator("#pst-primary-sidebar")
    expect(sidebar).to_be_hidden()
    page.wait_for_load_state()  # with the theme's script
    page.locator(".primary-toggle").click()
    expect(sidebar).to_be_visible()
    page.reload()
    expect(sidebar).to_be_visible()


def test_what_is_said_of_a_copy_can_be_read_in_the_dark(visit):
    page = visit("book/ch04_scaled_dot_product.html", color_scheme="dark")
    button = page.locator(".cell_input button.copybtn").first
    button.evaluate("e => e.classList.add('success')")  # as after a press
    look = "e => getComputedStyle(e, '::after')"
    ground = button.evaluate(f"e => ({look})(e).backgroundColor")
    assert button.evaluate(f"e => ({look})(e).color") == "rgb(18, 18, 18)"
    assert ground == "rgb(220, 223, 228)"


def test_nothing_covers_what_was_printed_where_there_is_no_mouse(visit):
    page = visit("book/ch01_rnn_seq2seq.html", **ON_PHONE)
    expect(page.locator(".cell_input button.copybtn").first).to_be_visible()
    assert not page.locator(".cell_output button.copybtn:visible").count()


def test_no_hole_follows_a_root(visit):
    page = visit("book/ch04_scaled_dot_product.html")
    page.wait_for_function(
        """() => [...document.querySelectorAll("article p msqrt")].every((root) => {
            const next = root.getBoundingClientRect().right
                + parseFloat(getComputedStyle(root).marginRight);
            return next - root.lastElementChild.getBoundingClientRect().right < 2;
        })"""
    )


def test_a_press_on_the_name_in_its_title_opens_a_solution(visit):
    page = visit("book/ch01_rnn_seq2seq.html")
    solution = page.locator(".solution").first
    title = solution.locator(".admonition-title")
    title.scroll_into_view_if_needed()
    expect(solution).to_have_class(re.compile("toggle-hidden"))
    box = title.locator("a").bounding_box()
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    expect(solution).not_to_have_class(re.compile("toggle-hidden"))
