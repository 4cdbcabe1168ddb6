"""What the book adds to Sphinx, and its looks."""

from pathlib import Path
from types import SimpleNamespace

import pytest
from docutils import nodes
from sphinx import addnodes
from sphinx_codeautolink.parse import parse_names

import api_pages
import book_setup
import formulas
import light_pages
import quick_build
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


def test_launch_buttons_open_the_readers_notebooks():
    binder = "https://mybinder.org/v2/gh/a/b/{}?urlpath=lab/tree/book/c.ipynb"
    colab = "https://colab.research.google.com/github/a/b/blob/{}/book/c.ipynb"
    source = "https://github.com/a/b/blob/{}/book/c.ipynb"
    buttons = [{"url": url.format("main")} for url in (binder, colab, source)]
    context = {"header_buttons": [{"buttons": buttons}, {"url": source}]}
    book_setup.launch_readers_notebooks(None, "", "", context, None)
    assert buttons == [
        {"url": binder.format("notebooks")},
        {"url": colab.format("notebooks")},
        {"url": source.format("main")},  # the page's source is the book's
    ]


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


def test_names_are_those_pytorch_documents(monkeypatch):
    class Layer:
        __module__ = "torch.nn.modules.layers"

    class Stranger:
        __module__ = "typing"

    torch = SimpleNamespace(
        nn=SimpleNamespace(__name__="torch.nn", Layer=Layer, Stranger=Stranger),
        optim=SimpleNamespace(__name__="torch.optim"),
    )
    monkeypatch.setattr(book_setup, "torch", torch)
    book_setup.use_public_names()
    assert (Layer.__module__, Stranger.__module__) == ("torch.nn", "typing")


CELLS = (
    "import torch\nfrom math import sqrt as root",
    "x = torch.zeros(2)\n\n\ndef f(y):\n    return root(y)",
    "root = torch.sqrt\nroot(x.sum())",
)


def test_cells_read_once_have_the_same_names():
    reader = quick_build.CellReader()
    for last in range(len(CELLS)):
        source = "\n".join(CELLS[: last + 1])
        before = "\n".join([*CELLS[:last], ""]).count("\n")
        expected = [name for name in parse_names(source, None) if name.lineno > before]
        assert reader.parse_names(source, None) == expected != []


def test_the_next_page_knows_no_names_of_the_last():
    reader = quick_build.CellReader()
    assert reader.parse_names("import torch\ntorch.zeros(2)", None)
    assert reader.parse_names("torch.zeros(2)", None) == []


PAGE = """<!DOCTYPE html>
<html><br/><p title='As it is.'>&amp;<br>
<div class="highlight-ipython3 notranslate"><div class="highlight"><pre><span></span>\
<span class="n">x</span> <span class="o">&lt;</span> <span class="n">y</span>
</pre></div>
</div>
<div class="predict">
<div class="highlight-python notranslate"><div class="highlight"><pre><span></span>\
<span class="n">y</span>
</pre></div>
</div></div></html>
"""


def test_links_go_into_the_code_alone():
    page = quick_build.CodeBlocks(PAGE)
    assert str(page) == PAGE
    found = page.find_all("div", attrs={"class": "highlight-python"})
    [block] = [div.select("div > pre")[0] for div in found]
    assert block.get_text() == "y\n"
    block.replace_with(quick_build.parse("<pre><a>y</a></pre>", "html.parser"))
    old = '<pre><span></span><span class="n">y</span>\n</pre>'
    assert str(page) == PAGE.replace(old, "<pre><a>y</a></pre>")
    assert str(page) != PAGE


def test_each_block_of_code_has_lines_of_its_own():
    """sphinx-codeautolink tells blocks from each other by their lines."""
    page = quick_build.CodeBlocks(PAGE.replace("\n", " "))
    first, second = (
        page.find_all("div", attrs={"class": f"highlight-{language}"})[0].sourceline
        for language in ("ipython3", "python")
    )
    assert first < second


def test_a_page_without_code_stays_as_it_is():
    page = "<!DOCTYPE html><p>A &lt; B"
    assert str(quick_build.CodeBlocks(page)) == page


def test_the_side_bar_has_titles_and_subpages():
    def outline(title, *below):
        item = nodes.list_item("", nodes.paragraph(title, title), *below)
        return nodes.bullet_list("", item)

    page = outline("1", outline("1.1"))
    assert str(quick_build.titles_of(page)) == str(outline("1"))
    assert "1.1" in str(page)  # the page itself keeps its sections
    subpages = addnodes.toctree()
    parent = outline("2", outline("2.1", subpages))
    assert str(quick_build.titles_of(parent)) == str(
        outline("2", nodes.bullet_list("", subpages))
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
    assert 'class="tml-display"' in formulas.typeset("x", display=True)
    long = formulas.typeset(r"\operatorname{FFN}(x) = \max(0, xW_1 + b_1) W_2 + b_2")
    assert '<mo form="infix">=</mo></math><wbr><math>' in long
    page = {"body": '<span class="math"><math>x</math></span>), and'}
    formulas.finish(SimpleNamespace(add_css_file=str), "", "", page, None)
    assert '<span class="math-comma"><math>x</math>),</span></span> and' in page["body"]
    with pytest.raises(ValueError, match="expected '}'"):
        formulas.typeset(r"\frac{1}{2")


# Lighter pages


def test_scripts_are_left_out_wherever_they_lie():
    kept = '<script src="a.js"></script>'
    for source in ("b.js", "../_static/b.js?v=1"):
        markup = f'{kept}<script defer="" src="{source}"></script>'
        assert light_pages.without_scripts(markup, "b.js") == kept


def test_a_script_that_the_theme_does_not_load_is_reported():
    with pytest.raises(ValueError, match=r"no b\.js any more.*_templates/layout"):
        light_pages.without_scripts('<script src="bb.js"></script>', "b.js")


def test_an_icon_has_all_its_code_points():
    font = SimpleNamespace(getBestCmap=lambda: {0xF0C9: "bars", 9776: "bars", 65: "a"})
    assert light_pages.code_points(font, ["bars"]) == [9776, 0xF0C9]
    with pytest.raises(ValueError, match=r"no b, c: correct FONTS"):
        light_pages.code_points(font, ["c", "bars", "b"])


def test_a_long_value_of_a_constant_is_left_out():
    values = [addnodes.desc_annotation("", f" = {'x' * n}") for n in (148, 149)]
    kind = addnodes.desc_annotation("", ": " + "y" * 200)
    tree = nodes.section("", *values, kind)
    api_pages.without_long_values(None, tree)
    assert tree.children == [values[0], kind]
