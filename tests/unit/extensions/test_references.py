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


def test_the_address_is_that_of_the_published_book(found):
    assert found["site"] == "https://an-owner.github.io/a-name/"


def test_sections_have_the_numbers_of_the_page(first):
    assert first["sections"] == [
        {"number": "1", "title": "The first chapter", "ids": ["the-first-chapter"]},
        {"number": "1.1", "title": "Why a_b?", "ids": ["why-a-b"]},
    ]


def test_a_section_has_the_label_above_it(found):
    section = found["pages"]["second"]["sections"][1]
    assert section["ids"] == ["a-place", "where-it-stands"]


def test_labels_have_the_numbers_of_the_page(first):
    numbers = first["numbers"]
    assert numbers["eq-sum"] == "1.1"
    assert numbers["fig-line"] == "1.1"
    assert numbers["ex-one"] == "1.1"


def test_roles_are_what_the_page_shows(first, found):
    roles = first["roles"]
    assert roles[":eq:`eq-sum`"] == "[(1.1)](page:first#equation-eq-sum)"
    assert roles[":numref:`fig-line`"] == "[Fig. 1.1](page:first#fig-line)"
    assert roles[":term:`state`"] == "[state](page:second#term-state)"
    assert roles[":doc:`second`"] == "[Another](page:second)"
    there = found["pages"]["second"]["roles"]
    assert there[":eq:`eq-sum`"] == "[(1.1)](page:first#equation-eq-sum)"
    assert there[":ref:`where-it-stands`"] == "[A place](page:second#where-it-stands)"


def test_a_citation_leads_to_the_paper(first):
    luong = "[2015](https://aclanthology.org/D15-1166/)"
    assert first["roles"][":cite:t:`luong2015`"] == f"Luong *et al.* ({luong})"


def test_each_page_has_its_own_list(found):
    """Ids are made anew on each page."""
    roles = found["pages"]["second"]["roles"]
    bahdanau = "Bahdanau ([2015](https://doi.org/10.1000/182))"
    assert roles[":cite:t:`bahdanau2015`"] == bahdanau


def test_a_work_that_is_not_on_the_web_has_no_link(found):
    roles = found["pages"]["second"]["roles"]
    assert roles[":cite:t:`graves2013`"] == "Graves (2013)"


def test_entries_of_the_bibliography_are_markdown(first):
    (entry,) = [e for e in first["bibliography"] if "Luong" in e]
    assert "Effective\\_approaches" in entry
    assert "(https://aclanthology.org/D15-1166/)" in entry


def test_terms_are_found(found):
    assert found["pages"]["second"]["terms"] == {"state": "term-state"}


def test_the_page_itself_stays_as_it_was(found):
    assert "reference_source" not in found["html"]
    assert ":eq:" not in found["html"]
