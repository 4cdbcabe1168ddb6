"""The checks of every page see what they are there to see, in a bad page."""

import page_checks
from page_checks import findings

PIXEL = (  # a GIF of one black dot
    "data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///ywAAAAAAQABAAACAUwAOw=="
)
PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width"><title>Bad</title>
<link rel="icon" href="data:,">
<style>
body {{ margin: 0 }}
@media (prefers-color-scheme: dark) {{ body {{ background: #111; color: #eee }} }}
</style></head>
<body><main><h1>Bad</h1>{body}</main></body></html>
"""
SLIDER = '<label>Step <input type="range" max="3" value="0"></label>'
PREDICT = """
<div class="predict"><button class="predict-answer">a</button></div>
<div class="cell tag_reveal"><div class="cell_output">8 9</div></div>
<div class="cell tag_reveal"><div class="cell_output" hidden>10</div></div>
"""
ALIKE = 3 * "<p>well, <b>well</b></p>"  # of texts alike, few are measured
FAULTS = {
    "outside request: https": '<img src="https://example.org/a.png" alt="A dot">',
    "console error: oh": "<script>console.error('oh')</script>",
    "script error: nothing is not defined": "<script>nothing.there</script>",
    "missing file: ": '<script src="gone.js"></script>',
    "picture not shown: …gone.png": '<img src="gone.png" alt="A dot">',
    "picture without alt text: ": f'<img src="{PIXEL}">',
    "formula not typeset: x^2": '<span class="math">x^2</span>',
    "formula with too many or too few parts": "<math><msub><mi>x</mi></msub></math>",
    "391 pixels wide on a screen of 390": '<div style="width: 391px">wide</div>',
    "accessibility, dark: color-contrast": f'{ALIKE}<p style="color: #333">dim</p>',
    "accessibility, light: color-contrast at p": (
        f'{ALIKE}<p style="background: #666"><b>grey</b></p>'
    ),
    "accessibility, light: color-contrast at details": (
        '<details><summary>More</summary><p style="color: #ccc">pale</p></details>'
    ),
    "slider 1: an arrow key does not change the picture": SLIDER,
    "slider 1: the mouse does not change the picture": SLIDER,
    "slider 3 is not to be seen": f"<div hidden>{SLIDER}</div>",
    "1 results are shown before an answer is chosen": PREDICT,
    "1 results stay covered": "",
}


def test_every_fault_is_found(browser, tmp_path, serve, monkeypatch):
    monkeypatch.setattr(page_checks, "PATIENCE", 500)
    page = PAGE.format(body="".join(FAULTS.values()))
    (tmp_path / "index.html").write_text(page, encoding="utf-8")
    found = findings(browser, serve(tmp_path), "index.html")
    for told in FAULTS:
        assert any(line.startswith(told) for line in found), found
