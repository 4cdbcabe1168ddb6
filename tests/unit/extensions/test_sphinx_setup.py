"""What the book adds to Sphinx, and its looks."""

from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree

import pytest

import book_setup
import formulas
from attnbook.course.kit.colours import TEXT_COLOURS

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def address(monkeypatch, tmp_path):
    """A function that sets the three places an address can come from."""
    monkeypatch.setattr(book_setup, "ROOT", tmp_path)

    def at(book="", github="", file=""):
        monkeypatch.setenv("BOOK_REPOSITORY", book)
        monkeypatch.setenv("GITHUB_REPOSITORY", github)
        (tmp_path / "REPOSITORY").write_text(f"{file}\n")
        return book_setup.repository()

    return at


def test_the_address_is_the_first_one_given(address):
    assert address("a/b", "c/d", "e/f") == "a/b"
    assert address("", "c/d", "e/f") == "c/d"
    assert address("", "", "e/f") == "e/f"
    assert address() == ""


@pytest.mark.parametrize("wrong", ["name", "https://github.com/owner/name"])
def test_an_address_is_owner_and_name(address, wrong):
    with pytest.raises(ValueError, match=f"'{wrong}': write it as 'owner/name'"):
        address(wrong)


def test_without_an_address_there_are_no_buttons(address):
    config = SimpleNamespace(html_theme_options={})
    address()
    book_setup.add_repository(None, config)
    assert config.html_theme_options == {}
    address("owner/name")
    book_setup.add_repository(None, config)
    assert config.html_theme_options["repository_url"].endswith("/owner/name")
    assert config.html_baseurl == "https://owner.github.io/name/"


def test_signatures_and_citations_are_mended():
    signature = 'f<span>(</span>\n\n<dl>\n<dd><em class="sig-param">x</em>,</dd>\n</dl>'
    context = {"body": f'{signature}<div role="list" class="citation-list"></div>'}
    book_setup.mend_markup(None, "", "", context, None)
    assert context["body"] == (
        'f<span>(</span>\n<span class="sig-line"><em class="sig-param">x</em>,</span>\n'
        '<div class="citation-list"></div>'
    )


@pytest.mark.parametrize("role", TEXT_COLOURS)
def test_formulas_keep_their_colours_in_the_dark(role):
    """The style sheet gives each a lighter one, by the style that Temml writes."""
    colour = TEXT_COLOURS[role]
    assert f"color:{colour};" in formulas.typeset(rf"\textcolor{{{colour}}}{{x}}")
    style = (ROOT / "book" / "_static" / "book.css").read_text(encoding="utf-8")
    assert f'[style*="{colour}"]' in style


def test_a_formula_is_typeset_and_a_wrong_one_is_reported():
    found = formulas.typeset(r"v^\top \tanh(x)")
    assert found.startswith("<math>")
    assert '</msup><mspace width="0.1667em"></mspace><mrow><mi>tanh</mi>' in found
    index = ElementTree.fromstring(formulas.typeset(r"S_{\max}")).find("msub")
    assert [part.tag for part in index] == ["mi", "mrow"]  # or Firefox draws no index
    assert 'class="tml-display"' in formulas.typeset("x", display=True)
    long = formulas.typeset(r"\operatorname{FFN}(x) = \max(0, xW_1 + b_1) W_2 + b_2")
    assert '<mo form="infix">=</mo></math><wbr><math>' in long
    page = {"body": '<span class="math"><math>x</math></span>), and'}
    book_setup.mend_markup(None, "", "", page, None)
    assert '<span class="math-comma"><math>x</math>),</span></span> and' in page["body"]
    with pytest.raises(ValueError, match="expected '}'"):
        formulas.typeset(r"\frac{1}{2")
