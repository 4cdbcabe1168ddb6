"""The book's markup as plain Markdown: what a reader sees who has no Sphinx."""

import pytest

from plain_markdown import Page

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


def test_what_has_no_markup_stays_as_it_is():
    text = "# Attention\n\nA `code {eq}` and $a_{b}$.\n\n```python\nx = '{eq}`a`'\n```"
    assert plain(text) == text.replace("# Att", "# 2. Att")


def test_headings_have_the_numbers_of_the_page():
    text = "# Attention\n\nText.\n\n## Why $\\sqrt{d_k}$?\n\n## References"
    assert plain(text) == (
        "# 2. Attention\n\nText.\n\n## 2.1. Why $\\sqrt{d_k}$?\n\n## References"
    )


def test_a_heading_that_the_page_does_not_have_is_an_error():
    with pytest.raises(ValueError, match="'Other' is not the page's next one"):
        plain("# Other")


def test_a_numbered_equation_has_its_number_and_a_place_for_links():
    assert plain("$$\na = b\n$$ (eq-sum)\n\nSee {eq}`eq-sum`.") == (
        '<a id="eq-sum"></a>\n\n$$\na = b \\tag{2.1}\n$$\n\nSee [(2.1)](#eq-sum).'
    )


def test_an_equation_without_a_number_stays():
    assert plain("$$\na = b\n$$\n\n(or so)") == "$$\na = b\n$$\n\n(or so)"


def test_an_unknown_label_is_an_error():
    with pytest.raises(ValueError, match="'eq-other' has no number in the page"):
        plain("$$ a $$ (eq-other)")


def test_a_citation_leads_to_the_paper():
    assert plain("As {cite:t}`luong2015` say") == (
        "As Luong *et al.* ([2015](https://example.org/luong)) say"
    )


def test_other_pages_are_notebooks_beside_this_one():
    text = plain("{term}`teacher forcing`, {doc}`ch03_two`, {ref}`there`")
    assert text == (
        "[teacher forcing](glossary.ipynb#term-x), [Luong](ch03_two.ipynb), "
        "[A place](ch03_two.ipynb#3.1.-A-place)"
    )


def test_other_pages_are_those_of_the_site_where_it_is_known():
    text = plain("{term}`teacher forcing`, {py:mod}`attnbook.nn`", SITE)
    assert text == (
        f"[teacher forcing]({SITE}book/glossary.html#term-x), "
        f"[`nn`]({SITE}book/api/nn.html#module-attnbook.nn)"
    )


def test_a_page_that_no_notebook_reaches_is_named_without_a_link():
    assert plain("see {py:mod}`attnbook.nn`") == "see `nn`"


def test_a_role_over_two_lines_is_read():
    assert plain("the {term}`teacher\nforcing`") == (
        "the [teacher forcing](glossary.ipynb#term-x)"
    )


@pytest.mark.parametrize("role", ["{term}`unheard of`", "{kbd}`Ctrl`", "{eq}`eq-no`"])
def test_an_unknown_role_is_an_error(role):
    with pytest.raises(ValueError, match="is not known to the page"):
        plain(f"A {role}.")


def test_links_to_files_of_the_book_are_resolved():
    assert plain("[there](ch03_two.ipynb#a-place)") == (
        "[there](ch03_two.ipynb#3.1.-A-place)"
    )
    assert plain("[a](https://b.org/c_(d))") == "[a](https://b.org/c_(d))"
    with pytest.raises(ValueError, match=r"'gone.ipynb' leads to no page"):
        plain("[there](gone.ipynb)")


def test_targets_and_comments_are_gone():
    assert plain("(there)=\n% a note\n# Attention\n\n+++\n\nText") == (
        "# 2. Attention\n\nText"
    )


def test_a_box_is_a_quotation():
    text = ":::{margin} Whose *z*?\nOurs.\n\n$$\na\n= b\n$$\n:::"
    assert plain(text) == "> **Whose *z*?**\n>\n> Ours.\n>\n> $$ a = b $$"


def test_a_box_within_a_box_is_read():
    text = "````{admonition} Note\nAn\n\n```{margin} Inner\n{doc}`ch03_two`\n```\n````"
    assert plain(text) == (
        "> **Note**\n>\n> An\n>\n> > **Inner**\n> >\n> > [Luong](ch03_two.ipynb)"
    )


def test_a_fold_is_a_fold():
    text = "```{admonition} Going further\n:class: dropdown\n\nMore.\n```"
    assert plain(text) == (
        "<details>\n<summary><b>Going further</b></summary>\n\nMore.\n\n</details>"
    )


def test_an_exercise_has_its_number():
    text = "```{exercise-start}\n:label: ex2-sum\n```\n**Add.** easy\n"
    assert plain(text) == "### Exercise 2.4\n\n**Add.** easy"


def test_the_bibliography_is_a_list():
    text = "```{bibliography}\n:filter: docname in docnames\n```"
    assert plain(text) == (
        "- Luong. [Effective](https://example.org/luong).\n- Second."
    )


def test_a_link_to_a_heading_has_the_quotes_of_its_notebook():
    assert plain("{ref}`that`") == '[That](ch03_two.ipynb#3.2.-What\'s-"that"?)'


def test_the_glossary_has_places_for_links():
    text = "```{glossary}\nteacher forcing\n  Reading what is right.\n```"
    assert (
        plain(text) == '<a id="term-x"></a>**teacher forcing**: Reading what is right.'
    )


def test_a_predict_box_is_a_question_with_a_fold():
    text = """:::{predict} How large?
:label: predict-how-large
- small
- [x] large
---
Look at {eq}`eq-sum`.
:::"""
    shown = plain(text)
    assert shown.index("How large?") < shown.index("(b) large")
    folded = shown.partition("<details>")[2]
    assert "Look at [(2.1)](#eq-sum)." in folded


def test_a_live_model_leads_to_the_page():
    text = "```{live-model} bahdanau\n:sentence: a dog\n\nChoose a word.\n```"
    assert f"[Try it in the browser.]({SITE}book/ch02_one.html)" in plain(text, SITE)
    assert "> Choose a word." in plain(text)


def test_an_unknown_directive_is_an_error():
    with pytest.raises(ValueError, match=r"\{tableau\} has no plain form"):
        plain("Text.\n\n```{tableau} x\n```")


def test_a_directive_in_a_list_is_an_error():
    with pytest.raises(ValueError, match="stands inside a list"):
        plain("- one\n\n  ```{margin} Title\n  Text.\n  ```")
