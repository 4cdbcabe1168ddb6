"""The search of the built book: what comes first, and how it is used."""

import gzip
import re

import pytest
from page_checks import check_accessible, opened
from playwright.sync_api import expect

# Query, and the section that teaches it.
FIRST = {
    "mask": "ch06_masks",
    "束搜索": "ch10_decoding#beam-search",
    "beam search": "ch10_decoding#beam-search",
    "BLEU": "ch12_training#bleu",
    "KV cache": "ch10_decoding#the-keyvalue-cache",
    "exposure bias": "ch01_rnn_seq2seq#encoder-and-decoder",
    "sqrt": "ch04_scaled_dot_product#why-divide-by-sqrt-d-k",
    "LayerNorm": "ch08_layers#layer-normalisation",
    "learning rate schedule": "ch12_training#the-learning-rate-warm-up-and-decay",
    "NaN": "ch06_masks#fully-masked-rows",
    "multiplicative attention": "ch03_luong#four-scores",
    "feedforward": "ch08_layers#the-feed-forward-network",
    "tokenizer": "ch12_training#subwords-byte-pair-encoding",
    "QKᵀ": "ch04_scaled_dot_product",
    "interpretability": "ch02_bahdanau#do-attention-weights-explain-the-output",
}
# Not in the glossary.
WITHOUT_ENTRY = {
    *("exposure bias", "learning rate schedule", "interpretability"),
}
LIMIT = 300_000  # bytes of the index, compressed


@pytest.fixture(scope="module")
def page(browser, html):
    """The page of the search, opened from a file."""
    with opened(browser, html.as_uri(), "search.html") as (page, found):
        page.wait_for_function("typeof bookIndex !== 'undefined'")
        yield page
        assert found == []


def ask(page, query: str) -> list[str]:
    """Type a query and return where the results lead."""
    page.locator("#search-results").evaluate("place => place.replaceChildren()")
    page.locator("main input[type=search]").fill(query)
    page.locator("#search-results li").first.wait_for()
    links = page.locator("#search-results li > a")
    return links.evaluate_all(
        """all => all.map(({href}) => href.replace(/\\?highlight=[^#]*/, "")
            .replace(/.*html\\/(book\\/)?/, "").replace(/\\.html/, ""))"""
    )


def group_of(place: str) -> int:
    """Return the number of the group in which a result is to stand."""
    if re.match(r"ch\d|a\d|glossary", place):
        return 0
    return 1 if re.match(r"lab|playground|intro", place) else 2


@pytest.mark.parametrize("query", FIRST)
def test_the_section_that_teaches_comes_first_then_the_definition(page, query):
    first, *others = ask(page, query)
    texts = page.locator("#search-results li p").all_inner_texts()
    assert not [text for text in texts if re.search(r"\\[a-z]|[{}$]|¶", text)]
    assert first == FIRST[query]
    if query not in WITHOUT_ENTRY:
        assert others.pop(0).startswith("glossary#term-")
    sections = [place for place in others if not re.search(r"#id\d+$", place)]  # works
    groups = [group_of(place) for place in sections]
    assert groups == sorted(groups)


def test_what_is_spelt_otherwise_or_not_there(page):
    assert ask(page, "normalization")[0] == "ch08_layers#layer-normalisation"
    for unknown in ("xyzzy", "hallucination"):  # not "evaluation"
        page.locator("main input[type=search]").fill(unknown)
        expect(page.locator(".search-status").last).to_have_text(re.compile("Nothing"))


def test_typing_errors_symbols_and_titles_of_papers(page):
    """What readers type: the word that they mean, a symbol, the name of the paper."""
    status = page.locator(".search-status").last
    for typed, meant in {"softmx": "softmax", "attetnion": "attention"}.items():
        assert ask(page, typed) == ask(page, meant)
        ask(page, typed)
        expect(status).to_contain_text(f"Did you mean “{meant}”?")
    assert ask(page, "d_k")[0].endswith("why-divide-by-sqrt-d-k")
    ask(page, "attention is all you need")
    first = page.locator("#search-results section").first
    expect(first.locator("h2")).to_have_text("Works that are cited")
    expect(first.locator("li").first).to_contain_text("Vaswani")


def test_the_index_is_small_and_waits_for_the_first_search(visit, serve, html):
    page, asked = visit("book/ch06_masks.html", serve(html)), []
    page.on("request", lambda request: asked.append(request.url))
    assert not page.evaluate("typeof bookIndex !== 'undefined'")
    page.keyboard.press("Control+k")
    page.keyboard.type("teacher forcing")
    dialog = page.locator("#pst-search-dialog")
    dialog.locator("li").first.wait_for()
    assert sum("search_index.js" in url for url in asked) == 1
    index = (html / "_static" / "search_index.js").read_bytes()
    assert len(gzip.compress(index)) <= LIMIT
    for theme in ("light", "dark"):
        assert check_accessible(page, theme, "#pst-search-dialog") == []
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_url("**/ch01_rnn_seq2seq.html#encoder-and-decoder")
    marks = page.locator("article span.highlighted")
    expect(marks.first).to_be_attached()
    assert {text.lower() for text in marks.all_inner_texts()} >= {"forcing"}


def test_a_page_marks_the_words_but_in_no_formula(visit):
    page = visit("book/ch08_layers.html?highlight=norm")
    expect(page.locator("article .highlighted").first).to_be_attached()
    assert page.locator("math .highlighted").count() == 0
