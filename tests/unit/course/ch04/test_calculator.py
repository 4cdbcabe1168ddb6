"""The calculator of lab 4: page and package agree, whatever is entered."""

import base64
import re
from xml.etree import ElementTree

import pytest
import torch
from axe_playwright_python.sync_playwright import Axe
from widgets import Elements, alone_on_a_page, check_self_contained

from attnbook.course.ch04.widget_calculator import (
    ASKING,
    MOST,
    OFFERING,
    START,
    CalculatorState,
    attend,
    calculator,
    result,
)

T, S = len(ASKING), len(OFFERING)
HTML = calculator().data
NUMBER = re.compile(r"[-−]?\d+(?:\.\d+)?")
# Enter each of some states; return what the page then shows.
SHOW = """
states => states.map(([q, k, v, mask, scaled]) => {
  const figure = document.querySelector('figure');
  const all = name => [...figure.querySelectorAll('.book-' + name)];
  [['query', q], ['key', k], ['value', v]].forEach(([name, rows]) =>
    rows.flat().forEach((x, i) => { all(name)[i].value = x.toFixed(1); }));
  mask.flat().forEach((may, i) => { all('may')[i].checked = may; });
  all('scaled')[0].checked = scaled;
  all('scaled')[0].dispatchEvent(new Event('input', {bubbles: true}));
  return {
    said: all('result')[0].textContent,
    scores: all('score').map(e => e.textContent),
    struck: all('score').map(e => e.style.textDecoration == 'line-through'),
    weights: all('weight').map(e => e.textContent),
    blue: all('weight').map(e => e.style.backgroundColor),
    outputs: all('output').flatMap(e => e.textContent.split('\\n')),
  };
})
"""


def random_states(count):
    """States with numbers of one decimal from -9.9 to 9.9, large and small mixed."""
    g = torch.Generator().manual_seed(0)
    for number in range(count):
        most = (10, 30, 100)[number % 3]
        q, k, v = (
            tuple(
                tuple(x / 10 for x in row)
                for row in torch.randint(1 - most, most, (n, 2), generator=g).tolist()
            )
            for n in (T, S, S)
        )
        mask = torch.rand(T, S, generator=g) < (0.3, 0.7, 1)[number // 3 % 3]
        yield CalculatorState(
            q, k, v, tuple(map(tuple, mask.tolist())), number % 2 == 0
        )


EMPTY = START._replace(mask=((False,) * S, (True,) * S, (True, False, False, False)))
ALIKE = START._replace(q=((0.0, 0.0), (0.0, 1.0), (0.0, -1.0)), k=((0.0, 0.0),) * S)
PAIR = START._replace(q=((1.0, 0.0),) * T, k=((1.0, 0.0),) * 2 + ((0.0, 0.0),) * 2)
STATES = [START, START._replace(scaled=False), EMPTY, ALIKE, PAIR, *random_states(60)]


def attention_by_hand(state):
    """Equation 1 with loops, from the paper; a row of nothing gives zeros."""
    q, k, v = (torch.tensor(rows, dtype=torch.float64) for rows in state[:3])
    scores, weights = torch.zeros(2, T, S, dtype=torch.float64)
    for i in range(T):
        for j in range(S):
            scores[i, j] = (q[i] * k[j]).sum() / (2**0.5 if state.scaled else 1)
        raw = scores[i].exp() * torch.tensor(state.mask[i])
        if raw.sum() > 0:
            weights[i] = raw / raw.sum()
    return scores, weights, weights @ v


def close(found, wanted):
    """Whether a number as shown is this one, to the two decimals that it has."""
    assert re.fullmatch(r"−?\d+\.\d\d", found), found
    assert found != "−0.00"
    return abs(float(found.replace("−", "-")) - float(wanted)) < 0.0051


def alike(found, wanted):
    """Whether two texts are the same but for rounding of the last digit."""
    pairs = zip(NUMBER.findall(found), NUMBER.findall(wanted), strict=True)
    numbers = ([float(x.replace("−", "-")) for x in pair] for pair in pairs)
    same_words = NUMBER.sub("#", found) == NUMBER.sub("#", wanted)
    return same_words and all(abs(a - b) < 0.0101 for a, b in numbers)


@pytest.fixture(scope="module")
def page():
    """The calculator alone on a page that has neither style nor network."""
    with alone_on_a_page(HTML) as page:
        yield page


@pytest.fixture
def fresh(page):
    """The page as it was at first."""
    page.get_by_role("button", name="Reset").click()
    return page


def field(page, name):
    return page.get_by_label(name, exact=True)


def said(page):
    return page.locator(".book-result").inner_text()


def test_the_package_computes_equation_1():
    for state in STATES:
        for found, wanted in zip(attend(state), attention_by_hand(state), strict=True):
            torch.testing.assert_close(found, wanted, atol=1e-12, rtol=1e-9)


def test_the_page_computes_what_the_package_does(page):
    for state, shown in zip(STATES, page.evaluate(SHOW, STATES), strict=True):
        scores, weights, output = attend(state)
        may = [allowed for row in state.mask for allowed in row]
        assert all(map(close, shown["scores"], scores.flatten())), state
        assert all(map(close, shown["outputs"], output.flatten())), state
        assert shown["struck"] == [not allowed for allowed in may]
        for text, weight, allowed in zip(
            shown["weights"], weights.flatten(), may, strict=True
        ):
            assert close(text, weight) if allowed else text == "0", state
        blue = [[int(c) for c in re.findall(r"\d+", text)] for text in shown["blue"]]
        share = (255 - torch.tensor(blue)) / torch.tensor([178.5, 98.7, 53.9])
        wanted = weights.flatten()[:, None].expand(-1, 3)
        torch.testing.assert_close(share.double(), wanted, atol=0.03, rtol=0)


def test_the_page_says_what_the_package_says(page):
    for state, shown in zip(STATES, page.evaluate(SHOW, STATES), strict=True):
        assert alike(shown["said"], result(state)), state


def test_the_text_tells_the_greatest_weight_ties_and_rows_of_nothing():
    assert result(START).splitlines()[0] == (
        "“old” gives most to “farmer”, 0.59; output (0.44,\u00a00.05)."
    )
    nothing, _, one = result(EMPTY).splitlines()
    assert nothing == "“old” may attend to nothing: its weights and its output are 0."
    assert one.startswith("“a” gives all to “old”, 1.00; output (0.00,\u00a01.00)")
    names = "“old”, “farmer”, “sees” and “bird”"
    assert result(ALIKE).startswith(f"“old” gives all to {names}, 0.25 each; output (")
    assert result(PAIR).startswith("“old” gives most to “old” and “farmer”, 0.33 each")


def test_what_the_caption_says_holds():
    for state in STATES:
        weights = attend(state)[1]
        other = state._replace(v=((3.3, -4.4),) * S)
        assert torch.equal(attend(other)[1], weights)
        longer = state._replace(q=tuple((2 * a, 2 * b) for a, b in state.q))
        sharper = attend(longer)[1]
        assert (sharper.max(-1).values >= weights.max(-1).values - 1e-12).all()
        rise = (weights[:, :, None] - weights[:, None]).sign()  # (T, S, S)
        after = (sharper[:, :, None] - sharper[:, None]).sign()
        assert (rise * after >= 0).all()
    # Every single tick of the first state taken away.
    _, weights, _ = attend(START)
    for i in range(T):
        for j in range(S):
            mask = [list(row) for row in START.mask]
            mask[i][j] = False
            _, left, _ = attend(START._replace(mask=mask))
            wanted = weights.clone()
            wanted[i, j] = 0
            torch.testing.assert_close(left, wanted / wanted.sum(-1, keepdim=True))


def test_it_follows_keys_typing_and_ticks(fresh):
    first = "first number of the query of “old”"
    fresh.locator(".book-scaled").press("Space")
    assert said(fresh) == result(START._replace(scaled=False))
    field(fresh, first).press("ArrowUp")
    q = ((2.1, 1.0), *START.q[1:])
    assert said(fresh) == result(START._replace(scaled=False, q=q))
    fresh.locator(".book-scaled").click()
    field(fresh, first).fill("-3.5")
    q = ((-3.5, 1.0), *START.q[1:])
    assert said(fresh) == result(START._replace(q=q))
    field(fresh, "“a” may attend to “bird”").press("Space")
    mask = (*START.mask[:2], (True, True, True, False))
    assert said(fresh) == result(START._replace(q=q, mask=mask))
    fresh.get_by_role("button", name="Reset").click()
    assert said(fresh) == result(START)
    assert field(fresh, first).input_value() == "2.0"
    assert fresh.locator("input[type=checkbox]:checked").count() == 1 + T * S


@pytest.mark.parametrize("bad", ["", "-", "9.95", "-50", "1e9", "abc"])
def test_what_is_no_number_or_too_large_does_not_count(fresh, bad):
    name = "second number of the key of “farmer”"
    field(fresh, name).fill("0.3")
    before = said(fresh)
    if bad[-1:].isdigit():
        field(fresh, name).fill(bad)
    else:  # as a reader would: the browser itself takes no letters
        field(fresh, name).press("ControlOrMeta+a")
        field(fresh, name).press("Delete")
        field(fresh, name).press_sequentially(bad)
    warning, *rest = said(fresh).splitlines()
    assert warning == (
        f"The {name} must be a number from −{MOST} to {MOST}; until then 0.3 counts."
    )
    assert "\n".join(rest) == before
    assert field(fresh, name).get_attribute("aria-invalid") == "true"
    field(fresh, name).press("Tab")
    assert field(fresh, name).input_value() == "0.3"
    assert field(fresh, name).get_attribute("aria-invalid") == "false"
    assert said(fresh) == before


def test_on_a_phone_it_fits_and_can_be_touched(fresh):
    # The largest scores that there can be.
    wide = START._replace(q=((-MOST, -MOST),) * T, k=((MOST, MOST),) * S, scaled=False)
    (shown,) = fresh.evaluate(SHOW, [wide])
    assert shown["scores"] == ["−196.02"] * T * S
    assert fresh.evaluate("document.documentElement.scrollWidth") <= 390
    assert fresh.locator("figure").bounding_box()["width"] <= 350
    for control in fresh.locator("input, button").all():
        box = control.bounding_box()
        assert min(box["width"], box["height"]) >= 24


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_can_be_read_in_light_and_dark(fresh, scheme):
    fresh.emulate_media(color_scheme=scheme)
    fresh.add_style_tag(content=":root { color-scheme: light dark }")
    # Boxes without a tick are dark in the dark, but not on a white card.
    box = fresh.locator(".book-may").first
    assert box.evaluate("e => getComputedStyle(e).colorScheme") == "light"
    states = [START._replace(q=((9.0, 9.0),) * T), EMPTY]  # weights of 1; none
    for state in states:
        fresh.evaluate(SHOW, [state])
        options = {"resultTypes": ["violations"], "preload": False}
        found = Axe().run(fresh, "main", options).response["violations"]
        assert [(v["id"], v["nodes"][0]["target"]) for v in found] == []


def test_two_on_one_page_do_not_disturb_each_other(page):
    page.evaluate("html => document.body.insertAdjacentHTML('beforeend', html)", HTML)
    second = page.locator("figure").nth(1)
    second.locator(".book-controls").wait_for()
    second.locator(".book-query").first.fill("-4")
    q = ((-4.0, 1.0), *START.q[1:])
    texts = page.locator(".book-result").all_inner_texts()
    page.evaluate("document.querySelectorAll('figure')[1].remove()")
    assert texts[1] == result(START._replace(q=q))
    assert texts[0] != texts[1]


def test_without_scripts_the_first_state_can_be_read_and_not_changed():
    elements = Elements(HTML)
    scores, weights, output = attend(START)
    assert all(map(close, [t for _, t in elements.of("book-score")], scores.flatten()))
    assert all(
        map(close, [t for _, t in elements.of("book-weight")], weights.flatten())
    )
    outputs = [x for _, t in elements.of("book-output") for x in t.split()]
    assert len(outputs) == 2 * T
    assert all(map(close, outputs, output.flatten()))
    for role, rows in zip(("query", "key", "value"), START[:3], strict=True):
        fields = [a for a, _ in elements.of(f"book-{role}")]
        assert [float(a["value"]) for a in fields] == [x for row in rows for x in row]
        assert all(a["readonly"] == "readonly" for a in fields)
    assert elements.of("book-result")[0][1].strip() == result(START)
    hidden = [a["class"] for _, a in elements.found if a.get("hidden") == "hidden"]
    assert sorted(hidden) == ["book-controls"] + ["book-may"] * T * S


def test_scripts_let_it_be_changed(fresh):
    assert fresh.locator("[hidden]").count() == 0
    assert fresh.locator("input[readonly]").count() == 0


def test_it_asks_for_nothing_and_keeps_its_keys():
    check_self_contained(HTML, controls=2 * (T + S + S) + T * S + 2)
    elements = Elements(HTML).found
    ((_, image),) = [element for element in elements if element[0] == "img"]
    data = image["src"].removeprefix("data:image/svg+xml;base64,")
    ElementTree.fromstring(base64.b64decode(data))


def test_the_same_bytes_every_time_and_a_caption_of_ones_own():
    assert calculator().data == HTML
    changed = calculator("**Less & less.** Look.").data
    assert "<strong>Less &amp; less.</strong> Look.</figcaption>" in changed
