"""The book's markup as plain Markdown: what a reader sees who has no Sphinx."""

import pytest

from reader_notebooks import Page

ONE = {
    "sections": [
        {"number": "2", "title": "Attention", "ids": ["attention"]},
        {"number": "2.1", "title": r"Why \sqrt{d_k}?", "ids": ["why"]},
        {"number": "", "title": "References", "ids": ["references"]},
    ],
    "roles": {
        ":eq:`eq-sum`": "[(2.1)](page:book/ch02_one#equation-eq-sum)",
        ":cite:t:`luong2015`": "Luong *et al.* ([2015](https://example.org/luong))",
        ":term:`teacher forcing`": "[teacher forcing](page:book/glossary#term-x)",
        ":doc:`ch03_two`": "[Luong](page:book/ch03_two)",
        ":py:mod:`attnbook.nn`": "[`nn`](page:book/api/nn#module-attnbook.nn)",
        ":ref:`there`": "[A place](page:book/ch03_two#there)",
        ":ref:`that`": "[That](page:book/ch03_two#that)",
    },
    "numbers": {"eq-sum": "2.1", "ex2-sum": "2.4", "fig-line": "2.1"},
    "bibliography": ["Luong. [Effective](https://example.org/luong).", "Second."],
    "terms": {"teacher forcing": "term-x"},
}
TWO = {
    "sections": [
        {"number": "3.1", "title": "A place", "ids": ["a-place", "there"]},
        {"number": "3.2", "title": "What’s “that”?", "ids": ["that"]},
    ]
}
REFERENCES = {"book/ch02_one": ONE, "book/ch03_two": TWO, "book/glossary": TWO}
SITE = "https://an-owner.github.io/a-name/"


def plain(text, site=""):
    notebooks = {"book/ch02_one", "book/ch03_two", "book/glossary"}
    return Page("book/ch02_one", REFERENCES, notebooks, site).plain(text)


SAME = "A `code {eq}` and $a_{b}$.\n\n```python\nx = '{eq}`a`'\n```"
FORMS = {
    "no markup": (SAME, SAME),
    "headings have the numbers of the page": (
        "# Attention\n\nText.\n\n## Why $\\sqrt{d_k}$?\n\n## References",
        "# 2. Attention\n\nText.\n\n## 2.1. Why $\\sqrt{d_k}$?\n\n## References",
    ),
    "an equation has its number and a place for links": (
        "$$\na = b\n$$ (eq-sum)\n\nSee {eq}`eq-sum`.",
        '<a id="eq-sum"></a>\n\n$$\na = b \\tag{2.1}\n$$\n\nSee [(2.1)](#eq-sum).',
    ),
    "a citation leads to the paper": (
        "As {cite:t}`luong2015` say",
        "As Luong *et al.* ([2015](https://example.org/luong)) say",
    ),
    "other pages are notebooks beside this one": (
        "{term}`teacher\nforcing`, {doc}`ch03_two`, {ref}`there`",
        "[teacher forcing](glossary.ipynb#term-x), [Luong](ch03_two.ipynb), "
        "[A place](ch03_two.ipynb#3.1.-A-place)",
    ),
    "a heading has the quotes of its notebook": (
        "{ref}`that`",
        '[That](ch03_two.ipynb#3.2.-What\'s-"that"?)',
    ),
    "a file of the book": (
        "[there](ch03_two.ipynb#a-place)",
        "[there](ch03_two.ipynb#3.1.-A-place)",
    ),
    "targets and comments are gone": (
        "(there)=\n% a note\n# Attention\n\n+++\n\nText",
        "# 2. Attention\n\nText",
    ),
    "a box is a quotation": (
        ":::{margin} Whose *z*?\nOurs.\n\n$$\na\n= b\n$$\n:::",
        "> **Whose *z*?**\n>\n> Ours.\n>\n> $$ a = b $$",
    ),
    "a box within a box": (
        "````{admonition} Note\nAn\n\n```{margin} Inner\n{doc}`ch03_two`\n```\n````",
        "> **Note**\n>\n> An\n>\n> > **Inner**\n> >\n> > [Luong](ch03_two.ipynb)",
    ),
    "a fold": (
        "```{admonition} Going further\n:class: dropdown\n\nMore.\n```",
        "<details>\n<summary><b>Going further</b></summary>\n\nMore.\n\n</details>",
    ),
    "an exercise has its number": (
        "```{exercise-start}\n:label: ex2-sum\n```\n**Add.** easy\n",
        "### Exercise 2.4\n\n**Add.** easy",
    ),
    "the bibliography is a list": (
        "```{bibliography}\n:filter: docname in docnames\n```",
        "- Luong. [Effective](https://example.org/luong).\n- Second.",
    ),
    "the glossary has places for links": (
        "```{glossary}\nteacher forcing\n  Reading what is right.\n```",
        '<a id="term-x"></a>**teacher forcing**: Reading what is right.',
    ),
}


@pytest.mark.parametrize("form", FORMS)
def test_plain_form(form):
    text, shown = FORMS[form]
    assert plain(text) == shown


def test_other_pages_are_those_of_the_site_where_it_is_known():
    text = plain("{term}`teacher forcing`, {py:mod}`attnbook.nn`", SITE)
    assert text == (
        f"[teacher forcing]({SITE}book/glossary.html#term-x), "
        f"[`nn`]({SITE}book/api/nn.html#module-attnbook.nn)"
    )


def test_a_live_model_leads_to_the_page():
    text = "```{live-model} bahdanau\n:sentence: a dog\n\nChoose a word.\n```"
    assert f"[Try it in the browser.]({SITE}book/ch02_one.html)" in plain(text, SITE)
    assert "> Choose a word." in plain(text)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("# Other", "the page has no heading 'Other'"),
        ("$$ a $$ (eq-other)", "'eq-other' is not among the numbers"),
        ("A {term}`unheard of`.", "is not among the roles of the page"),
        ("Text.\n\n```{tableau} x\n```", r"\{tableau\} has no plain form"),
        ("- one\n\n  ```{margin} Title\n  Text.\n  ```", "stands inside a list"),
    ],
)
def test_what_has_no_plain_form_is_an_error(text, problem):
    with pytest.raises(ValueError, match=problem):
        plain(text)
