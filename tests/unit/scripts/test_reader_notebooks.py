"""What a reader's notebook is made of: pictures, captions, folds."""

import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from reader_notebooks import Page, reader_notebook

KNOWN = {
    "sections": [{"number": "2", "title": "Attention", "ids": ["attention"]}],
    "roles": {":eq:`eq-sum`": "[(2.1)](page:book/ch02_one#equation-eq-sum)"},
    "numbers": {
        "fig-line": "2.3",
        "ex2-sum": "2.4",
        "ex2-next": "2.5",
        "tab-times": "2.1",
    },
    "bibliography": [],
    "terms": {},
}
FIGURE = {
    "figure": {"name": "fig-line", "caption": "**A claim.** See {eq}`eq-sum`."},
    "image": {"alt": "A line that rises from <0> to 1."},
}
SOLUTION = """```{exercise-end}
```

```{solution-start} ex2-sum
:class: dropdown
```

By hand."""
NEXT = """```{solution-end}
```

```{exercise-start}
:label: ex2-next
```
**Next.** easy"""


def readers(*cells):
    notebook = new_notebook(cells=cells)
    page = Page("book/ch02_one", {"book/ch02_one": KNOWN}, {"book/ch02_one"})
    return reader_notebook(notebook, page, "ch02_one.ipynb").cells


def drawn(**data):
    return [new_output("display_data", data=data)]


def printed(text):
    return [new_output("stream", text=text)]


def test_what_tells_of_a_covered_result_is_folded():
    tagged = {"tags": ["reveal"]}
    figure = {"figure": {"name": "tab-times", "caption": "**It is 3.**"}}
    cells = readers(
        new_code_cell("1", metadata=tagged),
        new_code_cell("3", metadata=tagged | {"mystnb": figure}),
        new_code_cell("assert True", metadata={"tags": ["remove-cell"]}),
        new_markdown_cell("So it is 3.\n\nWhat now?"),
        new_markdown_cell("It goes on."),
        new_code_cell("1", metadata=tagged),
        new_markdown_cell("## Attention"),
    )
    texts = [cell.source for cell in cells if cell.cell_type == "markdown"]
    caption, behind, *others = texts
    assert caption.startswith('<a id="tab-times"></a><details>')
    assert "<summary>Table 2.1</summary>" in caption
    assert "**It is 3.**" in caption
    assert behind.startswith("<details>\n<summary>What the result says</summary>")
    assert behind.endswith("So it is 3.\n\n</details>\n\nWhat now?")
    assert others == ["It goes on.", "## 2. Attention"]


@pytest.mark.parametrize(
    ("name", "caption", "shown"),
    [
        ("fig-line", "**It.** {eq}`eq-sum`", "**Fig. 2.3.** **It.** [(2.1)](#eq-sum)"),
        ("tab-times", "**Both.**", "**Table 2.1.** **Both.**"),
    ],
)
def test_a_caption_stands_below_what_it_tells_of(name, caption, shown):
    metadata = {"mystnb": {"figure": {"name": name, "caption": caption}}}
    figure, below = readers(new_code_cell("draw()", id="c7", metadata=metadata))
    assert figure.source == "draw()"
    assert "mystnb" not in figure.metadata
    assert below.source == f'<a id="{name}"></a>{shown}'
    assert below.id == "c7-caption"


def test_a_drawing_is_a_picture_that_untrusted_notebooks_show():
    outputs = drawn(**{"image/svg+xml": "<svg></svg>", "text/plain": "<Diagram>"})
    cell = new_code_cell("draw()", metadata={"mystnb": FIGURE}, outputs=outputs)
    data = readers(cell)[0].outputs[0].data
    assert set(data) == {"text/html", "text/plain"}
    assert data["text/html"] == (
        '<img src="data:image/svg+xml;base64,PHN2Zz48L3N2Zz4=" '
        'alt="A line that rises from &lt;0&gt; to 1.">'
    )


def test_links_of_a_picture_lead_to_notebooks():
    html = '<a href="ch02_one.html#x">2</a> <a href="https://b.org/c.html">b</a>'
    cell = new_code_cell("map()", outputs=drawn(**{"text/html": html}))
    page = Page(
        "book/intro", {"book/intro": KNOWN, "book/ch02_one": KNOWN}, {"book/ch02_one"}
    )
    (shown,) = reader_notebook(new_notebook(cells=[cell]), page, "intro").cells
    assert shown.outputs[0].data["text/html"] == html.replace(
        "ch02_one.html", "ch02_one.ipynb"
    )


@pytest.mark.parametrize(
    ("tags", "hidden"),
    [
        ("hide-input", {"source_hidden": True}),
        ("remove-cell", {"source_hidden": True}),
        ("hide-output", {"outputs_hidden": True}),
        ("reveal", {"outputs_hidden": True}),
        ("explorer remove-input", None),  # it is there to be run
    ],
)
def test_what_the_page_folds_is_folded(tags, hidden):
    (cell,) = readers(new_code_cell("x = 1", metadata={"tags": tags.split()}))
    assert cell.metadata.get("jupyter") == hidden


@pytest.mark.parametrize(
    ("output", "kind"),
    [
        (printed("81 %\n")[0], "text"),
        (drawn(**{"text/html": "<p>81 %</p>", "text/plain": "81 %"})[0], "text/html"),
    ],
)
def test_a_folded_output_begins_with_a_line_that_tells_nothing(output, kind):
    cell = new_code_cell("share()", metadata={"tags": ["reveal"]}, outputs=[output])
    shown = readers(cell)[0].outputs[0]
    lines = (shown if kind == "text" else shown.data)[kind].splitlines()
    assert lines[0] == "Result:"
    assert "81 %" in lines[1]


def test_a_solution_is_one_fold_that_leaks_nothing():
    title, stub, fold, following = readers(
        new_markdown_cell("# Attention\n\n```{exercise-start}\n:label: ex2-sum\n```"),
        new_code_cell("ex2_sum = ..."),
        new_markdown_cell(SOLUTION),
        new_code_cell(
            "ex2_sum = 4.0",
            metadata={"jupyter": {"source_hidden": True}},
            outputs=printed("ex2_sum: right.\nrest: 4\n"),
        ),
        new_markdown_cell(NEXT),
    )
    assert title.source == "# 2. Attention\n\n### Exercise 2.4"
    assert stub.source == "ex2_sum = ..."
    assert fold.cell_type == "markdown"
    assert fold.source == (
        "<details>\n<summary><b>Solution to exercise 2.4</b></summary>\n\nBy hand.\n\n"
        "```python\nex2_sum = 4.0\n```\n\n"
        "```text\nex2_sum: right.\nrest: 4\n```\n\n</details>"
    )
    assert following.source == "### Exercise 2.5\n\n**Next.** easy"


DRAWS = new_code_cell("draw()", outputs=drawn(**{"image/png": "iVBO"}))


@pytest.mark.parametrize(
    ("cells", "problem"),
    [
        ([SOLUTION], r"ch02_one\.ipynb: the solution .* 2\.4 has"),
        ([SOLUTION, DRAWS, NEXT], "its fold cannot hold"),
        (["Text.", "A {kbd}`Ctrl`."], r"ch02_one\.ipynb, cell 2 \('A \{kbd\}"),
    ],
    ids=["no end", "a picture", "an unknown role"],
)
def test_an_error_names_the_cell(cells, problem):
    cells = [new_markdown_cell(c) if isinstance(c, str) else c for c in cells]
    with pytest.raises(ValueError, match=problem):
        readers(*cells)
