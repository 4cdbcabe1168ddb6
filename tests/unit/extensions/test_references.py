"""What the build writes down of a page's references: a small book, built by Sphinx."""

import json

import pytest
from sphinx.application import Sphinx
from sphinx.util.docutils import docutils_namespace

CONFIG = {
    "extensions": [
        "myst_parser",
        "sphinx_exercise",
        "sphinxcontrib.bibtex",
        "references",
    ],
    "bibtex_bibfiles": ["works.bib"],
    "bibtex_reference_style": "author_year",
    "html_baseurl": "https://an-owner.github.io/a-name/",
    "math_numfig": True,
    "myst_enable_extensions": ["dollarmath"],
    "numfig": True,
    "suppress_warnings": ["bibtex.duplicate_citation"],
}
PAGES = {
    "index": """# Contents

```{toctree}
:numbered: 2
first
second
```
""",
    "first": """# The *first* chapter

Save {download}`a line <line.png>`.
See {eq}`eq-sum`, {numref}`fig-line`, {term}`state`, {doc}`second` and
{cite:t}`luong2015`; {cite:p}`luong2015,bahdanau2015`.

## Why $a_b$?

$$
a = b
$$ (eq-sum)

```{figure} line.png
:name: fig-line

A line.
```

```{exercise-start}
:label: ex-one
```
Add.
```{exercise-end}
```

```{bibliography}
:filter: docname in docnames
```
""",
    "second": """# Another

{cite:t}`bahdanau2015`, {cite:t}`graves2013`, {eq}`eq-sum` and {ref}`where-it-stands`.

(where-it-stands)=
## A place

```{glossary}
state
  What a network keeps.
```

```{bibliography}
:filter: docname in docnames
```
""",
}
WORKS = """
@article{luong2015, author = {Luong, Minh-Thang and Pham, Hieu and Manning, Chris},
  title = {Effective_Approaches}, journal = {EMNLP}, year = 2015,
  url = {https://aclanthology.org/D15-1166/}}
@article{bahdanau2015, author = {Bahdanau, Dzmitry}, title = {Neural}, year = 2015,
  journal = {ICLR}, doi = {10.1000/182}}
@article{graves2013, author = {Graves, Alex}, title = {Sequences}, year = 2013,
  journal = {None}}
"""


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    folder = tmp_path_factory.mktemp("book")
    for name, text in PAGES.items():
        (folder / f"{name}.md").write_text(text, encoding="utf-8")
    (folder / "works.bib").write_text(WORKS)
    (folder / "line.png").write_bytes(b"")
    build = folder / "_build"
    with docutils_namespace():
        app = Sphinx(
            folder,
            None,
            build / "html",
            build / "doctrees",
            "html",
            confoverrides=CONFIG,
            status=None,
            warning=None,
        )
        app.build()
    found = json.loads((build / "references.json").read_text(encoding="utf-8"))
    page = (build / "html" / "first.html").read_text(encoding="utf-8")
    return found | {"html": page}


@pytest.fixture(scope="module")
def first(found):
    return found["pages"]["first"]


def test_sections_and_labels_have_the_numbers_of_the_page(first, found):
    assert first["sections"] == [
        {"number": "1", "title": "The first chapter", "ids": ["the-first-chapter"]},
        {"number": "1.1", "title": "Why a_b?", "ids": ["why-a-b"]},
    ]
    second = found["pages"]["second"]
    assert second["sections"][1]["ids"] == ["a-place", "where-it-stands"]
    assert second["terms"] == {"state": "term-state"}
    names = ("eq-sum", "fig-line", "ex-one")
    assert [first["numbers"][name] for name in names] == ["1.1"] * 3


def test_roles_are_what_the_page_shows(first, found):
    """A citation leads to the paper; each page has a list and ids of its own."""
    luong = "[2015](https://aclanthology.org/D15-1166/)"
    assert (
        first["roles"]
        | {
            ":eq:`eq-sum`": "[(1.1)](page:first#equation-eq-sum)",
            ":numref:`fig-line`": "[Fig. 1.1](page:first#fig-line)",
            ":term:`state`": "[state](page:second#term-state)",
            ":doc:`second`": "[Another](page:second)",
            ":download:`a line <line.png>`": "`a line`",
            ":cite:t:`luong2015`": f"Luong *et al.* ({luong})",
        }
        == first["roles"]
    )
    there = found["pages"]["second"]["roles"]
    assert (
        there
        | {
            ":eq:`eq-sum`": "[(1.1)](page:first#equation-eq-sum)",
            ":ref:`where-it-stands`": "[A place](page:second#where-it-stands)",
            ":cite:t:`bahdanau2015`": "Bahdanau ([2015](https://doi.org/10.1000/182))",
            ":cite:t:`graves2013`": "Graves (2013)",  # which is not on the web
        }
        == there
    )


def test_entries_of_the_bibliography_are_markdown(first):
    (entry,) = [e for e in first["bibliography"] if "Luong" in e]
    assert "Effective\\_approaches" in entry
    assert "(https://aclanthology.org/D15-1166/)" in entry


def test_the_page_itself_stays_as_it_was(found):
    assert found["site"] == "https://an-owner.github.io/a-name/"
    assert "reference_source" not in found["html"]
    assert ":eq:" not in found["html"]
