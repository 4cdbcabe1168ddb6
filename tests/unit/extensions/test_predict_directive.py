"""The directive ``predict``, and what the pages' scripts are told."""

import io
import json
import re

import pytest
from sphinx.application import Sphinx
from sphinx.util.docutils import docutils_namespace

import course_parts
import predict_box

BOX = """
:::{predict} Which is larger?
:label: predict-one
- a
- [x] *b*
---
Because of **this**.
:::
"""
EXERCISE = """
```{exercise-start}
:label: ex1-one
```
Do it.
```{exercise-end}
```
```{solution-start} ex1-one
:label: solution-one
```
Done.
```{solution-end}
```
"""


CONFIGURATION = """
extensions = ["myst_parser", "sphinx_exercise", "predict_box", "course_parts"]
myst_enable_extensions = ["colon_fence"]
"""
OTHER = BOX.replace("predict-one", "predict-two")
PAGES = {
    "ch01_one": BOX + EXERCISE,
    "ch02_two": "Nothing.",
    "lab01_one": "Lab.",
    "notation": "Letters.",
    "z1_unmarked": OTHER.replace("[x] ", ""),
    "z2_again": BOX,
    "z3_twice": OTHER + OTHER,
    "z4_role": OTHER.replace("two", "four").replace("Because", "{nothing}`x` because"),
}


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Sphinx, which has read the pages, and its warnings."""
    folder = tmp_path_factory.mktemp("book")
    (folder / "book").mkdir()
    (folder / "conf.py").write_text(CONFIGURATION)
    (folder / "index.md").write_text("# Index\n\n```{toctree}\n:glob:\nbook/*\n```")
    for name, text in PAGES.items():
        (folder / "book" / f"{name}.md").write_text(f"# Page\n{text}")
    warnings, places = io.StringIO(), [folder, folder, folder / "out", folder / "out"]
    with docutils_namespace():
        app = Sphinx(*places, "html", status=None, warning=warnings)
        app.build()
    return app, warnings.getvalue()


@pytest.fixture(scope="module")
def html(built):
    """A function that returns a built page."""
    folder = built[0].outdir / "book"
    return lambda name: (folder / f"{name}.html").read_text(encoding="utf-8")


def test_a_box_becomes_a_list_and_a_fold(html):
    page = html("ch01_one")
    assert 'class="predict docutils container" id="predict-one"' in page
    assert '<p class="predict-question" id="predict-one-question">Which' in page
    assert '<li class="predict-right"><p><em>b</em></p>' in page
    fold = page[page.index("<details") : page.index("</details>")]
    assert "<summary>Answer</summary>" in fold
    assert "(b) <em>b</em>" in fold
    assert "Because of <strong>this</strong>." in fold


def test_only_pages_with_a_box_load_its_script(html):
    assert "predict.js" in html("ch01_one")
    assert "predict.js" not in html("ch02_two")
    assert "ticks.js" in html("ch02_two")


def test_a_fault_stops_the_build_with_its_line(built):
    found = re.findall(r"book/(\w+\.md:\d+): (.*)", built[1])
    assert [place for place, _ in found] == [
        *("z1_unmarked.md:3", "z2_again.md:3", "z3_twice.md:11", "z4_role.md:8")
    ]
    assert "0 answers are marked" in found[0][1]
    assert "the label 'predict-one' is that of a box in book/ch01_one" in found[1][1]
    assert "the label 'predict-two' is that of a box in book/z3_twice" in found[2][1]
    assert all(text.startswith("ERROR") for _, text in found[:3])


def test_the_scripts_are_told_what_each_page_has(built, html):
    parts = course_parts.course_parts(built[0].env)
    assert parts["book/ch01_one"] == ["predict-one", "ex1-one"]
    assert parts["book/lab01_one"] == []
    assert "book/notation" not in parts
    page = html("notation")
    start = page.index(">", page.index('id="course-parts"')) + 1
    assert json.loads(page[start : page.index("</script>", start)]) == parts
    order = [page.index(name) for name in ("course-parts", "progress.js", "ticks.js")]
    assert order == sorted(order)


def test_a_page_is_forgotten_when_it_is_read_again(built):
    app, _ = built
    assert predict_box.predict_labels(app.env)["predict-one"] == "book/ch01_one"
    predict_box.predict_labels(app.env)["predict-six"] = "book/ch02_two"
    predict_box.forget_page(app, app.env, "book/ch01_one")
    found = predict_box.predict_labels(app.env)
    assert found["predict-six"] == "book/ch02_two"
    assert "predict-one" not in found
