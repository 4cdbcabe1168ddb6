"""The calculator of lab 4: page and package agree, whatever is entered."""

import re

import pytest
import torch
from page_checks import check_accessible
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
  const all = name => [...document.querySelectorAll('.book-' + name)];
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


def random_state(number):
    """Numbers of one decimal, up to 0.9, 2.9 or 9.9; more and fewer ticks."""
    g, most = torch.Generator().manual_seed(number), (10, 30, 100)[number % 3]
    rows = torch.randint(1 - most, most, (T + 2 * S, 2), generator=g).double() / 10
    mask = torch.rand(T, S, generator=g) < (0.3, 0.7, 1)[number // 3 % 3]
    sides = (x.tolist() for x in rows.split([T, S, S]))
    return CalculatorState(*sides, mask.tolist(), number % 2 == 0)


EMPTY = START._replace(mask=((False,) * S, (True,) * S, (True, False, False, False)))
ALIKE = START._replace(q=((0.0, 0.0), (0.0, 1.0), (0.0, -1.0)), k=((0.0, 0.0),) * S)
PAIR = START._replace(q=((1.0, 0.0),) * T, k=((1.0, 0.0),) * 2 + ((0.0, 0.0),) * 2)
# The largest scores that there can be.
WIDE = START._replace(q=((-MOST, -MOST),) * T, k=((MOST, MOST),) * S, scaled=False)
STATES = [START, EMPTY, ALIKE, PAIR, WIDE, *map(random_state, range(40))]


def agree(texts, wanted):
    """What is shown has two decimals, no minus before a zero, and the right value."""
    assert all(re.fullmatch(r"−?\d+\.\d\d", x) and x != "−0.00" for x in texts), texts
    found = [float(x.replace("−", "-")) for x in texts]
    assert found == pytest.approx(wanted.flatten().tolist(), abs=0.0051)


def test_a_query_changes_its_row_of_weights_a_key_all_rows_and_a_value_none():
    """The answer to the chapter's question below the calculator."""
    _, before, output = attend(START)
    for part, rows in {"q": [False, True, False], "k": [True] * T, "v": None}.items():
        changed = [list(row) for row in getattr(START, part)]
        changed[1] = [2.0, 3.0]
        _, weights, moved = attend(START._replace(**{part: changed}))
        assert (weights != before).any(-1).tolist() == (rows or [False] * T)
        assert (moved != output).any(-1).tolist() == (rows or [True] * T)


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


def test_the_page_computes_and_says_what_the_package_does(page):
    for state, shown in zip(STATES, page.evaluate(SHOW, STATES), strict=True):
        scores, weights, output = attend(state)
        may = [open_ for row in state.mask for open_ in row]
        agree(shown["scores"], scores)
        agree(shown["outputs"], output)
        assert shown["struck"] == [not open_ for open_ in may]
        texts = zip(shown["weights"], may, strict=True)
        agree([text if open_ else f"{text}.00" for text, open_ in texts], weights)
        blue = [[int(c) for c in re.findall(r"\d+", text)] for text in shown["blue"]]
        share = (255 - torch.tensor(blue)) / torch.tensor([178.5, 98.7, 53.9])
        wanted = weights.flatten()[:, None].expand(-1, 3)
        torch.testing.assert_close(share.double(), wanted, atol=0.03, rtol=0)
        words = shown["said"], result(state)
        assert len({NUMBER.sub("#", text) for text in words}) == 1
        one, two = (
            [float(x.replace("−", "-")) for x in NUMBER.findall(text)] for text in words
        )
        assert one == pytest.approx(two, abs=0.0101)


def test_it_follows_keys_typing_and_ticks(fresh):
    first = "first number of the query of “old”"
    fresh.locator(".book-scaled").press("Space")
    field(fresh, first).press("ArrowUp")
    q = ((2.1, 1.0), *START.q[1:])
    assert said(fresh) == result(START._replace(scaled=False, q=q))
    fresh.locator(".book-scaled").click()
    field(fresh, first).fill("-3.5")
    field(fresh, "“a” may attend to “bird”").press("Space")
    q = ((-3.5, 1.0), *START.q[1:])
    mask = (*START.mask[:2], (True, True, True, False))
    assert said(fresh) == result(START._replace(q=q, mask=mask))
    fresh.get_by_role("button", name="Reset").click()
    assert said(fresh) == result(START)
    assert field(fresh, first).input_value() == "2.0"


@pytest.mark.parametrize("bad", ["", "9.95", "-50", "abc"])
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


def test_it_fits_a_phone_and_can_be_read_in_light_and_dark(fresh):
    assert fresh.locator("[hidden], input[readonly]").count() == 0
    for state in (WIDE, START._replace(q=((9.0, 9.0),) * T), EMPTY):
        fresh.evaluate(SHOW, [state])
        assert fresh.evaluate("document.documentElement.scrollWidth") <= 390
        assert fresh.locator(".book-stepper").bounding_box()["width"] <= 350
        for scheme in ("light", "dark"):
            assert check_accessible(fresh, scheme) == []
    for control in fresh.locator("input, button").all():
        box = control.bounding_box()
        assert min(box["width"], box["height"]) >= 24


def test_without_scripts_the_first_state_can_be_read_and_not_changed():
    elements = Elements(HTML)
    names = "score", "weight", "output"
    shown = [" ".join(text for _, text in elements.of(f"book-{n}")) for n in names]
    for texts, wanted in zip(shown, attend(START), strict=True):
        agree(texts.split(), wanted)
    for role, rows in zip(("query", "key", "value"), START[:3], strict=True):
        fields = [
            (float(a["value"]), a["readonly"]) for a, _ in elements.of(f"book-{role}")
        ]
        assert fields == [(x, "readonly") for row in rows for x in row]
    assert elements.of("book-result")[0][1].strip() == result(START)
    hidden = [a["class"] for _, a in elements.found if a.get("hidden") == "hidden"]
    assert sorted(hidden) == ["book-controls"] + ["book-may"] * T * S
    check_self_contained(HTML, controls=2 * (T + S + S) + T * S + 2)
