"""The directive ``predict``, and what the pages' scripts are told."""

import io
import json
from types import SimpleNamespace

import pytest
from sphinx.application import Sphinx
from sphinx.util.docutils import docutils_namespace

import course_parts
import predict

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


@pytest.fixture
def build(tmp_path):
    """A function that reads pages of Markdown and returns Sphinx and its warnings."""
    configuration = """
extensions = ["myst_parser", "sphinx_exercise", "predict", "course_parts"]
myst_enable_extensions = ["colon_fence"]
"""

    def read(**pages: str) -> tuple[Sphinx, str]:
        (tmp_path / "book").mkdir()
        (tmp_path / "conf.py").write_text(configuration)
        (tmp_path / "index.md").write_text(
            "# Index\n\n```{toctree}\n:glob:\nbook/*\n```"
        )
        for name, text in pages.items():
            (tmp_path / "book" / f"{name}.md").write_text(f"# Page\n{text}")
        warnings = io.StringIO()
        output = tmp_path / "out"
        with docutils_namespace():
            app = Sphinx(
                tmp_path,
                tmp_path,
                output,
                output,
                "html",
                status=None,
                warning=warnings,
            )
            app.build()
        return app, warnings.getvalue()

    return read


def html(app: Sphinx, name: str) -> str:
    return (app.outdir / "book" / f"{name}.html").read_text(encoding="utf-8")


def test_a_box_becomes_a_list_and_a_fold(build):
    app, warnings = build(ch01_one=BOX)
    assert warnings == ""
    page = html(app, "ch01_one")
    assert 'class="predict docutils container" id="predict-one"' in page
    assert '<p class="predict-question" id="predict-one-question">Which' in page
    assert '<li class="predict-right"><p><em>b</em></p>' in page
    fold = page[page.index("<details") : page.index("</details>")]
    assert "<summary>Answer</summary>" in fold
    assert "(b) <em>b</em>" in fold
    assert "Because of <strong>this</strong>." in fold


def test_only_pages_with_a_box_load_its_script(build):
    app, _ = build(ch01_one=BOX, ch02_two="Nothing.")
    assert "predict.js" in html(app, "ch01_one")
    assert "predict.js" not in html(app, "ch02_two")
    assert "ticks.js" in html(app, "ch02_two")


FAULTS = [
    (BOX.replace("[x] ", ""), "0 answers are marked"),
    (BOX.replace(" Which is larger?", ""), "the box asks nothing"),
    (BOX.replace(":label: predict-one\n", ""), "the label is ''"),
    (BOX.replace("---\n", ""), "no line '---'"),
    (BOX + BOX, "the label 'predict-one' is that of a box in book/ch01_one"),
]


@pytest.mark.parametrize(
    ("text", "problem"), FAULTS, ids=[problem for _, problem in FAULTS]
)
def test_a_fault_stops_the_build(build, text, problem):
    _, warnings = build(ch01_one=text)
    assert problem in warnings
    line = 3 if text.count("{predict}") == 1 else 11
    assert f"ch01_one.md:{line}: ERROR: " in warnings


def test_a_label_is_the_only_one_in_the_book(build):
    _, warnings = build(ch01_one=BOX, ch02_two=BOX)
    assert "the label 'predict-one' is that of a box in book/ch01_one" in warnings


def test_a_fault_in_the_explanation_is_told_with_its_line(build):
    _, warnings = build(ch01_one=BOX.replace("Because", "{nothing}`x` because"))
    assert "ch01_one.md:8" in warnings


def test_a_page_is_forgotten_when_it_is_read_again(build):
    app, _ = build(ch01_one=BOX)
    assert predict.predict_labels(app.env) == {"predict-one": "book/ch01_one"}
    other = SimpleNamespace(predict_labels={"predict-two": "book/ch02_two"})
    predict.merge_labels(app, app.env, [], other)
    predict.forget_page(app, app.env, "book/ch01_one")
    assert predict.predict_labels(app.env) == {"predict-two": "book/ch02_two"}


def test_the_scripts_are_told_what_each_page_has(build):
    app, warnings = build(
        ch01_one=BOX + EXERCISE, lab01_one="Lab.", notation="Letters."
    )
    assert warnings == ""
    assert course_parts.course_parts(app.env) == {
        "book/ch01_one": ["predict-one", "ex1-one"],
        "book/lab01_one": [],
    }
    page = html(app, "notation")
    start = page.index(">", page.index('id="course-parts"')) + 1
    told = json.loads(page[start : page.index("</script>", start)])
    assert told == course_parts.course_parts(app.env)
    order = [page.index(name) for name in ("course-parts", "progress.js", "ticks.js")]
    assert order == sorted(order)
