"""Formulas are typeset when the book is built, as MathML, which browsers draw.

A page needs no script for them, and nothing moves when one has run. Temml translates
TeX; it is written in JavaScript, and QuickJS, a small engine inside Python, runs it.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import quickjs
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.math import get_node_equation_number

TEMML = Path(__file__).parents[1] / "_static" / "vendor" / "temml"
# The engine joins long texts only when they are read; Python can't read them before.
TRANSLATE = r"""(tex, displayMode) => {
  const joined = (text) => text.replace(/$/, "");
  try {
    return joined(temml.renderToString(tex, { displayMode, throwOnError: true }));
  } catch (error) {
    return joined(`error ${error.message}`);
  }
}"""
# Temml leaves no space before a function: v^⊤ tanh(…).
BEFORE_FUNCTION = re.compile(
    r"(</(?:mi|mn|msub|msup|msubsup|mover|mfrac)>|>\)</mo>)"
    r"(?=(?:<mrow>)?(?:<msu[bp]>)?<mi[^>]*>\w{2,}</mi>(?:<mi>\w</mi></msub>)?<mo>\u2061</mo>)"
)
THIN_SPACE = r'\1<mspace width="0.1667em"></mspace>'
# A long formula within a line may break behind these, as TeX has it.
RELATIONS, LONG = {*"=≈<>≤≥→∈⟺"}, 20
WITH_SCRIPTS = ("msub", "msup", "msubsup", "munder", "mover", "munderover")

logger = logging.getLogger(__name__)


@cache
def translator() -> Any:
    """Return the function of Temml that translates; it takes a moment to load."""
    context = quickjs.Context()
    context.eval((TEMML / "temml.min.js").read_text(encoding="utf-8"))
    return context.eval(TRANSLATE)


@cache
def typeset(tex: str, *, display: bool = False) -> str:
    """Return a formula as MathML.

    Raises:
        ValueError: If Temml does not understand it.
    """
    found = translator()(tex, display)
    if found.startswith("error "):
        raise ValueError(found.removeprefix("error ").strip())
    root = ElementTree.fromstring(BEFORE_FUNCTION.sub(THIN_SPACE, found))
    tighten(root)
    parts = [root] if display else pieces(root)
    return "<wbr>".join(
        ElementTree.tostring(part, encoding="unicode", short_empty_elements=False)
        for part in parts
    )


def tighten(root: Element) -> None:
    """Take away the space round signs in indices and exponents, as TeX does."""
    for element in (found for kind in WITH_SCRIPTS for found in root.iter(kind)):
        for space in element.findall("mspace"):  # THIN_SPACE, before an index max
            element.remove(space)
        for sign in (sign for script in element[1:] for sign in script.iter("mo")):
            sign.attrib |= {"lspace": "0em", "rspace": "0em"}


def pieces(root: Element) -> list[Element]:
    """Cut a long formula behind its relations; a browser breaks lines between them."""
    row = root.find("mrow")
    if row is None or len("".join(root.itertext())) < LONG:
        return [root]
    found = [Element("math")]
    for part in row:
        found[-1].append(part)
        if part.tag == "mo" and part.text in RELATIONS and part is not row[-1]:
            part.set("form", "infix")
            found.append(Element("math"))
    return found


def written(node: nodes.Node, *, display: bool = False) -> str:
    """Return the formula of a node as MathML; warn if it is none."""
    tex = node.astext().strip()
    if r"\\" in tex and not tex.startswith(r"\begin"):  # as Sphinx has it
        tex = rf"\begin{{split}}{tex}\end{{split}}"
    try:
        return typeset(tex, display=display)
    except ValueError as problem:
        logger.warning("formula %s: %s", tex, problem, location=node)
        return ""


def visit_math(self: Any, node: nodes.math) -> None:
    """Write a formula within a line."""
    self.body.append(self.starttag(node, "span", "", CLASS="math notranslate"))
    self.body.append(f"{written(node)}</span>")
    raise nodes.SkipNode


def visit_displaymath(self: Any, node: nodes.math_block) -> None:
    """Write a formula on lines of its own, with its number."""
    self.body.append(self.starttag(node, "div", CLASS="math notranslate"))
    if node["number"]:  # the theme shows it on the right
        number = get_node_equation_number(self, node)
        self.body.append(f'<span class="eqno">({number})')
        self.add_permalink_ref(node, "Link to this equation")
        self.body.append("</span>")
    self.body.append(f"{written(node, display=True)}</div>\n")
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the renderer with Sphinx; ``html_math_renderer`` chooses it."""
    app.add_html_math_renderer("mathml", (visit_math, None), (visit_displaymath, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
