"""The page checks themselves: each finds what it is there to find, in a tiny site."""

import page_checks
import pytest
from page_checks import (
    check_controls,
    dead_links,
    findings,
    opened,
)

PIXEL = (  # a GIF of one black dot
    "data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///ywAAAAAAQABAAACAUwAOw=="
)

PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width"><title>Tiny</title>
<link rel="icon" href="data:,">
<style>
body {{ margin: 0 }}
@media (prefers-color-scheme: dark) {{ body {{ background: #111; color: #eee }} }}
</style></head>
<body><main><h1>Tiny</h1>{body}</main></body></html>
"""
STEPPER = """
<div class="cell_output"><label>Step <input type="range" min="0" max="3" value="0"
  oninput="{action}"></label><img id="picture" src="{pixel}" alt="Step"></div>
"""
PREDICT = """
<div class="predict" id="predict-one"><p>Which?</p>
<button class="predict-answer">a <span class="predict-mark"></span></button>
<button class="predict-answer">b <span class="predict-mark"></span></button>
<p role="status"></p><details><summary>Answer</summary><p>Since.</p></details></div>
<div class="cell tag_reveal"><div class="cell_output" hidden>8 9</div></div>
<script>document.querySelector(".predict-answer").onclick = () => {
  const [chosen, right] = document.querySelectorAll(".predict-mark");
  chosen.textContent = "your prediction";
  right.textContent = "correct";
  document.querySelector("[role=status]").textContent = "Not quite.";
  document.querySelector("details").open = true;
  document.querySelector(".tag_reveal .cell_output").hidden = false;
};</script>
"""
MOVES = "document.getElementById('picture').src = '{}#' + this.value"


@pytest.fixture
def tiny(tmp_path, serve):
    """A function that serves a page with the given body."""

    def make(body: str) -> str:
        page = PAGE.format(body=body)
        (tmp_path / "index.html").write_text(page, encoding="utf-8")
        return serve(tmp_path)

    return make


@pytest.fixture
def impatient(monkeypatch):
    """Wait half a second for what will never come."""
    monkeypatch.setattr(page_checks, "PATIENCE", 500)


@pytest.fixture
def found_in(browser, tiny):
    """A function that returns what the checks find in a page with the given body."""
    return lambda body: findings(browser, tiny(body), "index.html")


PREDICT_FAULTS = [
    ("hidden>", ">", "the result is shown before an answer is chosen"),
    (' role="status"', "", "nothing tells a screen reader how it went"),
    ("Not quite.", "", "it does not say whether the choice was right"),
    ('"your prediction"', '"✗"', "no words mark the chosen and the right answer"),
    ("open = true", "open = false", "the explanation stays closed"),
    ("hidden = false", "hidden = true", "the result stays covered"),
]


def stepper(action: str) -> str:
    return STEPPER.format(action=action.format(PIXEL), pixel=PIXEL)


def test_a_good_page_has_no_findings(found_in):
    body = f'<p>Well.</p><img src="{PIXEL}" alt="A black dot">' + stepper(MOVES)
    assert found_in(body + PREDICT) == []


ALIKE = 3 * "<p>well, <b>well</b></p>"  # of texts alike, few are measured
FAULTS = [
    ('<img src="https://example.org/a.png" alt="A dot">', "outside request: https"),
    ("<script>console.error('oh')</script>", "console error: oh"),
    ("<script>nothing.there</script>", "script error: nothing is not defined"),
    ('<script src="gone.js"></script>', "missing file: "),
    ('<img src="gone.png" alt="A dot">', "picture not shown: …gone.png"),
    (f'<img src="{PIXEL}">', "picture without alt text: "),
    ('<span class="math">x^2</span>', "formula not typeset: x^2"),
    ("<math><msub><mi>x</mi></msub></math>", "formula with too many or too few parts"),
    ('<div style="width: 391px">wide</div>', "391 pixels wide on a screen of 390"),
    (f'{ALIKE}<p style="color: #333">dim</p>', "accessibility, dark: color-contrast"),
    (
        f'{ALIKE}<p style="background: #666"><b>grey</b></p>',
        "accessibility, light: color-contrast at p",
    ),
    (
        '<details><summary>More</summary><p style="color: #ccc">pale</p></details>',
        "accessibility, light: color-contrast",
    ),
    (stepper(""), "slider 1: an arrow key does not change the picture"),
    (stepper(""), "slider 1: the mouse does not change the picture"),
    (f"<div hidden>{stepper(MOVES)}</div>", "slider 1 is not to be seen"),
    *(
        (PREDICT.replace(good, bad), f"predict box 1: {problem}")
        for good, bad, problem in PREDICT_FAULTS
    ),
]


@pytest.mark.parametrize(("body", "expected"), FAULTS, ids=[name for _, name in FAULTS])
@pytest.mark.usefixtures("impatient")
def test_finds(found_in, body, expected):
    found = found_in(body)
    assert any(line.startswith(expected) for line in found), found


@pytest.mark.parametrize(
    ("handler", "problems"),
    [
        ("document.body.append('here')", []),
        ("", ["button does nothing: 'Go'"]),
    ],
)
def test_a_button_must_do_something(browser, tiny, monkeypatch, handler, problems):
    if problems:
        monkeypatch.setattr(page_checks, "PATIENCE", 500)
    site = tiny(f'<button title="Go" onclick="{handler}">Go</button>')
    with opened(browser, site, "index.html") as (page, _):
        assert check_controls(page) == problems


@pytest.mark.parametrize(
    ("body", "reasons"),
    [
        ('<a href="index.html#top">a</a><p id="top">b</p>', []),
        ('<a href="https://example.org/gone">another site</a>', []),
        ('<a href="gone.html">a</a>', ["leads to no file"]),
        ('<img src="gone.png" alt="A dot">', ["leads to no file"]),
        ('<a href="#gone">a</a>', ["leads to no place in the page"]),
        ('<a href="#">a</a>', ["leads nowhere"]),
        ('<a class="current reference" href="#">this page, in the contents</a>', []),
    ],
)
def test_dead_links(tmp_path, body, reasons):
    (tmp_path / "index.html").write_text(body, encoding="utf-8")
    found = dead_links(tmp_path)
    assert [line.partition("' ")[2] for line in found] == reasons
