"""The calculator of chapter 4: the page computes what PyTorch does."""

import math
import re

import pytest
import torch
from page_checks import check_accessible
from torch.nn import functional as F
from widgets import alone_on_a_page, check_self_contained

from attnbook.course.ch04.widget_calculator import START, calculator

HTML = calculator().data
T, S, MOST = 3, 4, START["most"]
FIRST = (*(START[name] for name in "qkv"), [[True] * S] * T, True)
# Enter each of some states; return what the page then shows.
SHOW = """
states => states.map(([q, k, v, mask, scaled]) => {
  const all = what => [...document.querySelectorAll(what)];
  [['query', q], ['key', k], ['value', v]].forEach(([role, rows]) =>
    rows.flat().forEach((x, i) => {
      all(`[aria-label*="number of the ${role} of"]`)[i].value = x.toFixed(1);
    }));
  const [first, ...ticks] = all('[type=checkbox]');
  first.checked = scaled;
  mask.flat().forEach((may, i) => { ticks[i].checked = may; });
  first.dispatchEvent(new Event('input', {bubbles: true}));
  const cells = all('table').map(e => [...e.rows].slice(2).map(row => [...row.cells]));
  const text = e => e.textContent;
  return {
    said: text(all('.book-result')[0]),
    scores: cells[0].map(row => row.slice(1).map(text)),
    struck: cells[0].map(row => row.slice(1).map(
      e => e.firstChild.style.textDecoration === 'line-through')),
    weights: cells[1].map(row => row.slice(1, -1).map(text)),
    outputs: cells[1].map(row => text(row.at(-1)).split('\\n')),
  };
})
"""


def random_state(number):
    """Numbers of one decimal, up to 0.9, 2.9 or 9.9; more and fewer ticks."""
    g, most = torch.Generator().manual_seed(number), (10, 30, 100)[number % 3]
    rows = torch.randint(1 - most, most, (T + 2 * S, 2), generator=g).double() / 10
    mask = torch.rand(T, S, generator=g) < (0.3, 0.7, 1)[number // 3 % 3]
    sides = (x.tolist() for x in rows.split([T, S, S]))
    return *sides, mask.tolist(), number % 2 == 0


EMPTY = (*FIRST[:3], [[False] * S, [True] * S, [True, False, False, False]], True)
ALIKE = ([[1, 0]] * T, [[1, 0]] * 2 + [[0, 0]] * 2, START["v"], *FIRST[3:])
# The largest scores that there can be.
WIDE = ([[-MOST, -MOST]] * T, [[MOST, MOST]] * S, START["v"], FIRST[3], False)


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


def said(page):
    return page.locator(".book-result").inner_text()


def agree(texts, wanted):
    """What is shown has two decimals, no minus before a zero, and the right value."""
    texts = [text for row in texts for text in row]
    assert all(re.fullmatch(r"−?\d+\.\d\d", x) and x != "−0.00" for x in texts), texts
    found = [float(x.replace("−", "-")) for x in texts]
    assert found == pytest.approx(wanted.flatten().tolist(), abs=0.0051)


def test_the_page_computes_what_pytorch_does(page):
    states = [FIRST, EMPTY, ALIKE, WIDE, *map(random_state, range(40))]
    for state, shown in zip(states, page.evaluate(SHOW, states), strict=True):
        q, k, v = (torch.tensor(rows).double() for rows in state[:3])
        mask, scale = torch.tensor(state[3]), 1 / math.sqrt(2) if state[4] else 1.0
        scores = scale * q @ k.T
        weights = scores.masked_fill(~mask, -torch.inf).softmax(-1).nan_to_num()
        output = F.scaled_dot_product_attention(q, k, v, mask, scale=scale)
        agree(shown["scores"], scores)
        agree(shown["outputs"], output.nan_to_num())
        assert shown["struck"] == (~mask).tolist()
        weights_shown = [
            [text if may else f"{text}.00" for text, may in zip(*row, strict=True)]
            for row in zip(shown["weights"], state[3], strict=True)
        ]
        agree(weights_shown, weights)


def test_it_follows_keys_typing_and_ticks(fresh):
    first = fresh.get_by_label("first number of the query of “old”")
    scaled = fresh.get_by_label("divide the scores by")
    start = said(fresh)
    scaled.press("Space")
    first.press("ArrowUp")
    assert first.input_value() == "2.1"
    once = said(fresh)
    first.fill("-3.5")
    fresh.get_by_label("“a” may attend to “bird”").press("Space")
    assert len({start, once, said(fresh)}) == 3
    assert "“a” gives most to “farmer”" in said(fresh)
    fresh.get_by_role("button", name="Reset").click()
    assert said(fresh) == start
    assert first.input_value() == "2.0"


@pytest.mark.parametrize("bad", ["", "9.95", "-50"])
def test_what_is_no_number_or_too_large_does_not_count(fresh, bad):
    name = "second number of the key of “farmer”"
    field = fresh.get_by_label(name)
    field.fill("0.3")
    before = said(fresh)
    field.fill(bad)
    warning, *rest = said(fresh).splitlines()
    assert warning == (
        f"The {name} must be a number from −{MOST} to {MOST}; until then 0.3 counts."
    )
    assert "\n".join(rest) == before
    assert field.get_attribute("aria-invalid") == "true"
    field.press("Tab")
    assert field.input_value() == "0.3"
    assert field.get_attribute("aria-invalid") == "false"
    healed, *rest = said(fresh).splitlines()
    assert healed.endswith(f"must be a number from −{MOST} to {MOST}: 0.3 again.")
    assert "\n".join(rest) == before


def test_it_fits_a_phone_and_can_be_read_in_light_and_dark(fresh):
    for state in (WIDE, EMPTY):
        fresh.evaluate(SHOW, [state])
        assert fresh.evaluate("document.documentElement.scrollWidth") <= 390
        for scheme in ("light", "dark"):
            assert check_accessible(fresh, scheme) == []
    for control in fresh.locator("input, button").all():
        box = control.bounding_box()
        assert min(box["width"], box["height"]) >= 24
        assert control.get_attribute("data-lm-suppress-shortcuts") == "true"


def test_without_scripts_it_asks_for_nothing():
    """The first weights stand there, as nbval compares."""
    check_self_contained(HTML, controls=0)
