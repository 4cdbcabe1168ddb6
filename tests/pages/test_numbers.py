"""Numbers of figures and tables, references to them, and what notebooks know."""

import json
import re

import lxml.html
import pytest


@pytest.fixture(scope="module")
def articles(html):
    """The article of each page that has a caption, by the page's name."""
    found = {
        path.stem: lxml.html.parse(path).getroot().find(".//article")
        for path in sorted(html.glob("book/*.html"))
    }
    return {name: found[name] for name in found if captions(found[name])}


def captions(article):
    """What is numbered, by its id: in order, as in "Fig. 2.1"."""
    numbers = article.xpath(".//*[@class='caption-number']")
    return {
        number.xpath("ancestor::*[@id][1]/@id")[0]: number.text.strip()
        for number in numbers
    }


def prefix_of(page):
    """What the numbers of a page begin with."""
    chapter = re.match(r"(ch|lab|a)0?(\d+)_", page)
    letters = {"ch": "", "lab": "L", "a": "A"}
    return f"{letters[chapter[1]]}{chapter[2]}." if chapter else ""


def test_figures_and_tables_are_counted_apart_on_each_page(articles):
    for page, article in articles.items():
        for kind in ("Fig.", "Table", "Exercise"):
            found = [x for x in captions(article).values() if x.startswith(kind)]
            numbers = range(1, len(found) + 1)
            assert found == [f"{kind} {prefix_of(page)}{n}" for n in numbers]
    assert len(articles) > 25


def test_the_caption_of_a_table_is_above_it_and_of_a_figure_below(articles):
    for article in articles.values():
        for figure in article.xpath(".//figure[starts-with(@id, 'tab-')]"):
            assert figure[0].tag == "figcaption"
        for figure in article.xpath(".//figure[starts-with(@id, 'fig-')]"):
            assert figure[-1].tag == "figcaption"


def test_references_say_the_numbers_of_what_they_lead_to(articles):
    said = 0
    for page, article in articles.items():
        for link in article.xpath(".//a[span[contains(@class, 'std-numref')]]"):
            path, _, there = link.get("href").partition("#")
            other = articles[path.removesuffix(".html") or page]
            assert link.text_content() == captions(other)[there]
            said += 1
    assert said > 30


def test_a_percent_sign_stays_with_its_number_but_in_code(articles):
    for article in articles.values():
        code = "".join(article.xpath(".//pre//text() | .//p/code//text()"))
        assert "\u00a0%" not in code
    assert re.search(r"\d\u00a0%", articles["ch02_bahdanau"].text_content())


# --- For the readers' notebooks ---


@pytest.fixture(scope="module")
def known(html):
    """What the build has written down of each page."""
    text = (html.parent / "references.json").read_text(encoding="utf-8")
    return json.loads(text)["pages"]


def test_numbers_and_headings_are_written_down_as_the_page_has_them(articles, known):
    for page, article in articles.items():
        numbers = known[f"book/{page}"]["numbers"]
        for name, shown in captions(article).items():
            assert shown.endswith(f" {prefix_of(page)}{numbers[name].split('.')[-1]}")
        for formula in article.xpath(".//*[span[@class='eqno']]"):
            number = formula.xpath("string(span[@class='eqno'])").strip("()#")
            assert numbers[formula.get("id")].split(".")[-1] == number.split(".")[-1]
        headings = article.xpath(".//span[@class='section-number']/text()")
        sections = known[f"book/{page}"]["sections"]
        numbered = [f"{x['number']}. " for x in sections if x["number"]]
        assert numbered == headings


def test_roles_are_written_down_as_what_they_have_become(articles, known):
    article, page = articles["ch02_bahdanau"], known["book/ch02_bahdanau"]
    links = {
        (link.text_content(), link.get("href").partition("#")[2])
        for link in article.xpath(".//a[@href]")
    }
    found = 0
    for role, text in page["roles"].items():
        if leads := re.fullmatch(r"\[([^`$*]+)\]\(page:.*?(?:#(.*))?\)", text):
            said = leads[1].replace("\\", "")
            assert (said, leads[2] or "") in links, role
            found += 1
    assert found > 15
    paper = "https://arxiv.org/abs/1409.0473"
    cited = page["roles"][":cite:t:`bahdanau2015`"]
    assert cited == f"Bahdanau *et al.* ([2015]({paper}))"
    (entry,) = (x for x in page["bibliography"] if "jointly learning to align" in x)
    assert f"[{paper}]({paper})" in entry
    assert known["book/glossary"]["terms"]["attention"] == "term-attention"
    assert "reference_source" not in article.text_content()
