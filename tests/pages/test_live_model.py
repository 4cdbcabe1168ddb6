"""The models that run in the page: as PyTorch computes them, and usable by everyone."""

import copy
import json
import random
import re
from functools import cache
from html import unescape
from itertools import product
from pathlib import Path

import pytest
import torch
from page_checks import DESKTOP, PHONE, check_accessible, check_width, opened
from playwright.sync_api import expect

import live
from attnbook.analysis.maps import attention_maps
from attnbook.core.vocabulary import BOS, EOS
from attnbook.decoding.greedy_search import greedy
from attnbook.toy import language, models
from attnbook.toy.data import SOURCE, TARGET, held_out_pairs, make_batch
from attnbook.toy.metrics import alignment_accuracy

ROOT = Path(__file__).resolve().parents[2]
LIVE = ROOT / "book" / "_static" / "live"
SENTENCES = [pair for n in (1, 2, 3, 4) for pair in held_out_pairs(n, 25)]
EXAMPLE = "the old farmer sees a bird and this young queen hears the big dog"
FIGURES = {"bahdanau": ["bahdanau", "static_context"], "transformer": ["transformer"]}


# --- The engine alone ---


@pytest.fixture(scope="module")
def engine(browser):
    """A page with the engine and the models alone."""
    page = browser.new_page()
    page.add_script_tag(path=LIVE / "numbers.js")
    data = [f"data/{name}" for name in ("toy_language", *models.TOY_MODELS)]
    for name in ("recurrent", "transformer", "language", *data):
        page.add_script_tag(path=LIVE / f"{name}.js")
    yield page
    page.close()


@cache
def rounded(name):
    """A shipped model with the weights that the page has."""
    return models.load_toy_model(name).half().float()


def ask(page, name, sources, longest):
    """What the engine answers: for each source its ids and logits."""
    text = page.evaluate(
        """([name, sources, longest]) => JSON.stringify(sources.map((source) => {
            const {ids, logits} = live.translate(live.models[name], source, longest);
            return {ids, logits};
        }))""",
        [name, sources, longest],
    )
    return json.loads(text)


def ids_of(pair):
    return [*SOURCE.encode(pair.source), EOS]


def expected_ids(model, pairs, longest):
    """What PyTorch says greedily: ids up to EOS."""
    rows = greedy(model, make_batch(pairs).src, longest).tolist()
    return [row[: row.index(EOS) + 1] if EOS in row else row for row in rows]


@pytest.mark.parametrize("name", models.TOY_MODELS)
def test_words_and_logits_are_those_of_pytorch(engine, name):
    longest = 50
    answers = ask(engine, name, [ids_of(pair) for pair in SENTENCES], longest)
    wanted = expected_ids(rounded(name), SENTENCES, longest)
    assert [answer["ids"] for answer in answers] == wanted
    exact = copy.deepcopy(rounded(name)).double()
    for pair, answer in zip(SENTENCES[::4], answers[::4], strict=True):
        inputs = (
            torch.tensor([ids_of(pair)]),
            torch.tensor([[BOS, *answer["ids"][:-1]]]),
        )
        logits = torch.tensor(answer["logits"], dtype=torch.float64)
        with torch.no_grad():
            # The page computes with 64 bits: then a wrong ε is seen as well.
            assert (exact(*inputs)[0] - logits).abs().max() <= 1e-9


# --- The language ---


def grammar(page, sentences):
    """What language.js makes of sentences: the translation, or the word 'problem'."""
    return page.evaluate(
        """sentences => sentences.map(words => {
            try {
                return live.rightTranslation(words).join(" ");
            } catch (problem) {
                return `problem: ${problem.message}`;
            }
        })""",
        [list(words) for words in sentences],
    )


def test_the_right_translation_is_that_of_python(engine):
    pairs = [pair for n in range(1, 9) for pair in held_out_pairs(n, 25)]
    said = grammar(engine, [pair.source for pair in pairs])
    assert said == [" ".join(pair.target) for pair in pairs]
    alignments = engine.evaluate(
        "sentences => sentences.map(words => live.parse(words).alignment)",
        [list(pair.source) for pair in pairs],
    )
    assert alignments == [list(pair.alignment) for pair in pairs]


def broken_sentences():
    """Sentences with a word changed, moved or dropped; some are right all the same."""
    rng = random.Random(5)
    for pair in held_out_pairs(2, 100):
        words = list(pair.source)
        kind, place = rng.randrange(3), rng.randrange(len(words))
        if kind == 0:
            words[place] = rng.choice(language.SOURCE_WORDS)
        else:
            word = words.pop(place)
            if kind == 1:
                words.insert(rng.randrange(len(words) + 1), word)
        yield words


def test_what_is_no_sentence_is_known(engine):
    sentences = list(broken_sentences())
    known = [not said.startswith("problem") for said in grammar(engine, sentences)]
    assert known == [language.is_sentence(words) for words in sentences]
    assert 5 < sum(known) < 60


def test_words_are_marked_as_in_the_stored_example(engine):
    model = rounded("static_context")
    said = [TARGET.decode(ids) for ids in expected_ids(model, SENTENCES, 50)]
    cases = [
        [list(words), list(pair.target)]
        for words, pair in zip(said, SENTENCES, strict=True)
    ]
    marks = engine.evaluate(
        "cases => cases.map(([a, b]) => live.mark(a, b).map(mark => mark.right))", cases
    )
    assert marks == [live.mark(*case) for case in cases]
    assert not all(map(all, marks))
    kept = engine.evaluate(
        "cases => cases.map(([a, b]) => live.inCommon(a, b).map(([i]) => i))", cases
    )
    expected = [live.in_common(*case) for case in cases]
    assert kept == [[i for i, good in enumerate(row) if good] for row in expected]


# --- The figure in its page ---


def page_with(html, name):
    """The page whose live model draws the attention of the model named."""
    for path in sorted(html.glob("book/*.html")):
        if f'{{"{name}":' in unescape(path.read_text(encoding="utf-8")):
            return path.relative_to(html).as_posix()
    return pytest.fail(f"no page has the live model {name}")


@pytest.fixture(scope="module", params=FIGURES)
def opened_figure(request, browser, html):
    """The figure of each page that has one; a page is opened once for many tests."""
    site = html.as_uri()
    with opened(browser, site, page_with(html, request.param)) as (page, found):
        yield page.locator("figure.live-model")
        assert found == []


@pytest.fixture
def figure(opened_figure):
    """The figure with what the test before has said, its menus as in the beginning."""
    opened_figure.page.set_viewport_size(DESKTOP)
    opened_figure.locator(".live-field select").evaluate_all(
        "menus => menus.forEach(menu => { menu.selectedIndex = 0; })"
    )
    return opened_figure


@pytest.fixture
def fresh(figure):
    """The figure with its stored example."""
    figure.page.reload()
    return figure


def of_the(name):
    """Tests with the figure of one model alone."""
    return pytest.mark.parametrize("opened_figure", [name], indirect=True)


def say(figure, sentence):
    """Translate a sentence by the keyboard, and wait for the map."""
    figure.locator("input").fill(sentence)
    figure.locator("input").press("Enter")
    expect(figure.locator("table[role=grid]")).to_be_visible()


def choose(figure, **views):
    for name, value in views.items():
        figure.locator(f"[name={name}]").select_option(value)


def cells(figure):
    rows = figure.locator(".live-map tbody tr").all()
    return [row.locator("td").all_inner_texts() for row in rows]


def test_the_stored_example_is_what_the_model_says(fresh):
    said, map_of = fresh.locator(".live-said dl"), fresh.locator(".live-map")
    example = fresh.locator(".live-said em").inner_text()
    before = said.inner_text(), map_of.locator("th").all_inner_texts(), cells(fresh)
    say(fresh, example)
    assert said.inner_text() == before[0]
    assert map_of.locator("th").all_inner_texts() == before[1]
    for now, stored in zip(cells(fresh), before[2], strict=True):
        pairs = zip(map(int, now), map(int, stored), strict=True)
        assert all(abs(a - b) <= 1 for a, b in pairs)  # rounded on another machine


def test_weights_are_fetched_only_when_the_reader_comes_near(visit, serve, html):
    page, asked = visit(page_with(html, "transformer"), serve(html)), []
    page.on("request", lambda request: asked.append(request.url))
    page.wait_for_load_state("networkidle")
    assert not [url for url in asked if "/live/data/" in url]
    page.locator("figure.live-model input").focus()
    page.wait_for_function("() => live.models.transformer")
    assert len([url for url in asked if "/live/data/" in url]) == 2
    say(page.locator("figure.live-model"), "the king sees a dog")  # served, too


@pytest.mark.parametrize("by", ["mouse", "keyboard"])
def test_a_number_of_the_stored_example_is_explained_when_it_is_chosen(fresh, by):
    """And its cell has the focus, so that the arrow keys go on from there."""
    box = fresh.locator(".live-map")
    row = box.locator("tbody tr").nth(2 if by == "mouse" else 0)
    if by == "mouse":
        place = 1
        row.locator("td").nth(place).click()
    else:
        weights = numbers(row.locator("td").all_inner_texts())
        place = int(weights.argmax())
        box.focus()
        box.press("Enter")
    chosen = row.locator("td").nth(place)
    expect(chosen).to_be_focused()
    reader = row.locator("th").inner_text()
    read = box.locator("thead th").nth(place).inner_text()
    expect(chosen).to_have_accessible_name(re.compile(f"{reader} reads {read}:"))
    told = fresh.locator(".live-sum p").first
    expect(told).to_contain_text(f"“{reader}” reads “{read}”")


def test_by_keyboard_alone(figure):
    page = figure.page
    figure.locator("input").focus()
    page.keyboard.press("Control+a")
    page.keyboard.type("this queen finds an old robot")
    page.keyboard.press("Enter")
    grid = figure.locator("table[role=grid]")
    expect(grid).to_be_visible()
    stops = grid.locator("[tabindex='0']")
    assert stops.count() == 1
    for _ in range(20):  # through the controls to the map
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.closest('table[role=grid]') !== null"):
            break
    here = "document.activeElement.ariaLabel"
    assert page.evaluate(here).startswith("selas reads ")
    page.keyboard.press("Control+Home")
    assert page.evaluate(here).startswith("selas reads this:")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    assert page.evaluate(here).startswith("has reads queen:")
    page.keyboard.press("End")
    assert page.evaluate(here).startswith("has reads <eos>:")
    page.keyboard.press("ArrowRight")  # the edge holds
    assert page.evaluate(here).startswith("has reads <eos>:")
    page.keyboard.press("Home")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowUp")
    assert page.evaluate(here).startswith("selas reads this:")
    assert stops.count() == 1
    page.keyboard.press("Enter")
    spoken = figure.locator("p.visually-hidden[role=status]").inner_text()
    assert spoken.startswith("“selas” reads “this”")


def numbers(texts):
    return torch.tensor([float(text.replace("−", "-")) for text in texts])


def sum_row(figure, name):
    header = figure.page.get_by_role("rowheader", name=name, exact=True)
    row = figure.locator(".live-sum tr", has=header)
    return numbers(row.locator("td").all_inner_texts())


def score_of(figure):
    text = figure.locator(".live-sum p").first.inner_text()
    return float(text.split("score ")[1].split(",")[0].replace("−", "-"))


@of_the("transformer")
def test_scores_are_those_of_pytorch(figure):
    """The score of a head, from hooks on PyTorch's projections."""
    model, kept = rounded("transformer"), {}
    layer = model.decoder[1].cross_attention
    for name in ("W_Q", "W_K"):
        linear = getattr(layer, name)
        linear.register_forward_hook(
            lambda _, __, out, name=name: kept.__setitem__(name, out[0])
        )
    pair = language.translate_by_rule(EXAMPLE)
    ids = expected_ids(model, [pair], 50)[0]
    with torch.no_grad():
        model(make_batch([pair]).src, torch.tensor([[BOS, *ids[:-1]]]))
    head = slice(2 * 16, 3 * 16)
    scores = kept["W_Q"][:, head] @ kept["W_K"][:, head].T / 4  # (T, S)
    say(figure, EXAMPLE)
    choose(figure, layer="2", head="3", numbers="scores")
    shown = torch.stack([numbers(row) for row in cells(figure)])
    torch.testing.assert_close(shown, scores, atol=0.0501, rtol=0)
    figure.locator(".live-map tbody tr").nth(2).locator("td").nth(3).click()
    products = sum_row(figure, "q × k")
    assert torch.allclose(
        sum_row(figure, "q") * sum_row(figure, "k"), products, atol=0.05
    )
    assert abs(products.sum() / 4 - scores[2, 3]) < 0.03


@of_the("bahdanau")
def test_a_cell_shows_its_additive_score(figure):
    say(figure, EXAMPLE)
    figure.locator(".live-map tbody td").nth(1).click()
    hidden = (sum_row(figure, "W s") + sum_row(figure, "U h")).tanh()
    terms = sum_row(figure, "v × tanh")
    assert len(terms) == 8
    assert torch.allclose(sum_row(figure, "v") * hidden, terms, atol=0.05)
    text = figure.locator(".live-sum p").nth(1).inner_text()
    rest = float(text.split("and ")[-1].split(" from")[0].replace("−", "-"))
    assert abs(terms.sum() + rest - score_of(figure)) < 0.06


@of_the("transformer")
def test_layers_heads_and_kinds_of_map(fresh):
    say(fresh, "the king sees a dog")
    target = [*language.translate_by_rule("the king sees a dog").target, "<eos>"]
    mean = cells(fresh)
    heads = []
    for layer in "12":
        for head in "1234":
            choose(fresh, layer=layer, head=head)
            heads.append(torch.stack([numbers(row) for row in cells(fresh)]))
    shown = torch.stack([numbers(row) for row in mean])
    assert torch.allclose(torch.stack(heads).mean(0), shown, atol=1.01)
    assert max((a - b).abs().max() for a in heads for b in heads) > 20
    choose(fresh, kind="encoder")
    headers = fresh.locator(".live-map tbody th").all_inner_texts()
    assert headers == ["the", "king", "sees", "a", "dog", "<eos>"]
    choose(fresh, kind="decoder")
    headers = fresh.locator(".live-map thead th").all_inner_texts()
    assert headers == ["<bos>", *target[:-1]]
    assert fresh.locator(".live-masked").count() == 6 * 5 / 2
    fresh.locator(".live-masked").first.click()
    assert "does not exist yet" in fresh.locator(".live-sum").inner_text()
    assert check_accessible(fresh.page, "light", "figure.live-model") == []


@of_the("transformer")
def test_frames_mark_the_aligned_words_and_their_hits_are_counted(fresh):
    example = fresh.get_attribute("data-sentence")
    pair = language.translate_by_rule(example)
    batch = make_batch([pair])
    maps = attention_maps(rounded("transformer"), batch.src, batch.tgt_in)
    framed = [[i, j] for i, j in enumerate(pair.alignment) if j is not None]
    frames = """figure => [...figure.querySelectorAll(".live-aligned")].map(
        cell => [cell.parentElement.sectionRowIndex, cell.cellIndex - 1])"""
    assert fresh.evaluate(frames) == framed  # in the stored example
    say(fresh, example)
    for layer, head in product("12", "1234"):
        choose(fresh, layer=layer, head=head)
        weights = maps[f"decoder.{int(layer) - 1}.cross_attention"][:, int(head) - 1]
        hits = round(len(framed) * alignment_accuracy(weights, [pair]))
        told = f"in {hits} of {len(framed)} rows, the largest weight is there."
        expect(fresh.locator(".live-caption")).to_contain_text(told)
        assert fresh.evaluate(frames) == framed
    say(fresh, " and ".join(["this kind queen paints the robot"] * 5))
    assert fresh.evaluate(frames) == []  # it is translated wrongly


def test_what_a_click_explains_is_in_view(figure):
    """With its row's word and its column's heading, wherever in a large map."""
    page = figure.page
    say(figure, " and ".join(["the old king sees a young dog"] * 4))
    if "transformer" in figure.get_attribute("data-models"):
        choose(figure, layer="1", head="3")
    grid = figure.locator("table[role=grid]")
    last = grid.locator("tbody tr").count() - 1, grid.locator("thead th").count() - 1
    places = [(0, 0), (last[0] // 2, last[1] // 2), last]
    for size, (i, j) in product([{"width": 1280, "height": 800}, PHONE], places):
        page.set_viewport_size(size)
        row = grid.locator("tbody tr").nth(i)
        cell = row.locator("td").nth(j)
        cell.focus()
        cell.press("ArrowUp")
        cell.click()
        parts = {
            "cell": cell,
            "its row": row.locator("th"),
            "its column": grid.locator("thead th").nth(j),
            "its explanation": figure.locator(".live-sum p").first,
        }
        for name, part in parts.items():
            assert is_on_top(part), f"{name} of {i}, {j} at {size}"
    assert check_width(page) == []  # on a phone


def is_on_top(locator):
    """Whether the middle of something is in the window, and nothing lies over it."""
    return locator.evaluate(
        """element => {
            const {x, y, width, height} = element.getBoundingClientRect();
            const top = document.elementFromPoint(x + width / 2, y + height / 2);
            return top !== null && element.contains(top);
        }"""
    )


REFUSED = [
    ("the king eats a blue dog", "Not a word of the toy language: “eats”, “blue”."),
    ("  ", "Write a sentence first"),
    (" and ".join(["the king sees a dog"] * 11), "at most 63 words; this has 65"),
]


def test_what_cannot_be_translated_is_named_and_the_result_before_stays(figure):
    field, alert = figure.locator("input"), figure.locator("[role=alert]")
    say(figure, "king sees a dog")
    before = figure.locator(".live-said dl").inner_text(), cells(figure)
    for sentence, told in [REFUSED[0], *REFUSED]:  # the first one twice
        field.fill(sentence)
        field.press("Enter")
        expect(alert).to_contain_text(told)
        assert field.get_attribute("aria-invalid") == "true"
        marked = [word.strip("“”") for word in re.findall("“[^”]+”", told)]
        assert alert.locator("mark").all_inner_texts() == marked
        assert (figure.locator(".live-said dl").inner_text(), cells(figure)) == before
        still = figure.locator(".live-stale")
        expect(still).to_have_text("Still shown: king sees a dog")
    assert check_accessible(figure.page, "dark", "figure.live-model") == []
    say(figure, "The king sees a dog.")
    assert field.get_attribute("aria-invalid") is None
    assert not alert.is_visible()
    expect(figure.locator(".live-stale")).to_have_count(0)


UNLIKE = [
    (" and ".join(["the king sees a dog"] * 5), "trained on: 5 clauses"),
    ("king the sees a dog", "trained on: no sentence"),
    ("the old king sees a dog and", "trained on: no sentence"),
]


def test_what_is_unlike_the_training_is_named(figure):
    for sentence, told in UNLIKE:
        say(figure, sentence)
        expect(figure.locator(".live-unlike")).to_contain_text(told)
        is_right = language.is_sentence(sentence)
        expect(figure.locator("dt", has_text="Right")).to_have_count(int(is_right))
    say(figure, "the king sees a dog")
    expect(figure.locator(".live-unlike")).to_have_count(0)


def test_a_sentence_can_be_drawn(figure):
    for clauses in "14":
        figure.locator("form select").select_option(clauses)
        before = figure.locator("input").input_value()
        figure.get_by_role("button", name="Draw").click()
        expect(figure.locator("input")).not_to_have_value(before)
        expect(figure.locator("table[role=grid]")).to_be_visible()
        drawn = language.translate_by_rule(figure.locator("input").input_value())
        assert drawn.clauses == int(clauses)
        expect(figure.locator("dd").last).to_have_text(" ".join(drawn.target))


def test_without_javascript(visit, html):
    for name in FIGURES:
        page = visit(page_with(html, name), java_script_enabled=False)
        box = page.locator("figure.live-model")
        assert box.locator(".live-map table").is_visible()
        assert "JavaScript" in box.locator("noscript").inner_text()
        controls = box.locator("input:visible, button:visible, select:visible")
        assert controls.count() == 0


def test_without_its_weights(browser, serve, html):
    page = browser.new_page()
    page.route("**/live/data/transformer.js*", lambda route: route.abort())
    page.goto(f"{serve(html)}/{page_with(html, 'transformer')}")
    box = page.locator("figure.live-model")
    box.locator("button[type=submit]").click()
    expect(box.locator("[role=alert]")).to_contain_text("could not be loaded")
    assert box.locator(".live-said em").is_visible()
    assert box.locator(".live-map table").is_visible()
    page.unroute("**/live/data/transformer.js*")  # the next try works
    say(box, "the king sees a dog")
    page.close()


def test_chapter_1_shows_on_its_second_screen_what_one_vector_loses(visit):
    figure = visit("book/ch01_rnn_seq2seq.html").locator("figure.live-model")
    assert figure.bounding_box()["y"] < 2 * figure.page.viewport_size["height"]
    answer, lost = figure.locator("dd").nth(1), figure.locator("del")
    stored = answer.inner_text(), lost.all_inner_texts()
    assert stored[1] == ["small", "brave", "bird"]
    figure.locator("input").press("Enter")
    expect(figure.locator("dt").first).to_have_text("Your sentence")
    assert (answer.inner_text(), lost.all_inner_texts()) == stored
    figure.locator("input").fill("the cat finds the child")
    figure.locator("input").press("Enter")
    expect(lost).to_have_count(0)
    expect(answer).to_contain_text("5 of 5 words right")
    assert check_accessible(figure.page, "dark", "figure.live-model") == []
