"""The prose of a page: what a search shows of it, without code, mark-up and formulas.

What a prediction or a solution keeps back is left out: a search must not tell it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from docutils import nodes
from sphinx import addnodes

# What is no prose, or would give an answer away.
LEFT_OUT = (
    *(nodes.comment, nodes.Invisible, nodes.literal_block, nodes.citation),
    *(nodes.image, nodes.raw, nodes.table, nodes.title),
)
LEFT_OUT_NAMES = {"Cover", "Fold", "solution_node", "glossary", "desc"}
LEFT_OUT_CLASSES = {
    *("cell_input", "glossary-notes", "glossary-place"),
    *("predict-answers", "predict-title", "solution"),
}
LONGEST_TERM = 4  # words in bold; more are a sentence

SIGNS = {
    **{"sqrt": "√", "cdot": "·", "times": "×", "to": "→", "infty": "∞", "top": "ᵀ"},
    **{"le": "≤", "ge": "≥", "approx": "≈", "ne": "≠", "sum": "∑", "in": "∈"},
    **{"dots": "…", "ldots": "…", "cdots": "…", "mid": "|", "pm": "±", "odot": "⊙"},
    **{"left": "", "right": "", "quad": " ", "lVert": "‖", "rVert": "‖", "leq": "≤"},
    **{"varepsilon": "ε", "varphi": "φ", "circ": "∘", "partial": "∂", "tilde": ""},
    **{"overleftarrow": "", "overrightarrow": "", "hat": "", "bar": "", "tfrac": ""},
}


def prose(node: nodes.Node) -> str:
    """Return the text of a node and of all in it that is prose."""
    return re.sub(r"\s+", " ", "".join(pieces(node))).strip()


def pieces(node: nodes.Node) -> list[str]:
    """Return the text in pieces, with a space after each block."""
    if isinstance(node, nodes.Text):
        return [node.astext()]
    if isinstance(node, nodes.math):
        return [plain_formula(node.astext())]
    if isinstance(node, nodes.math_block):
        return [" … "]
    if is_left_out(node):
        return [" "]
    found = [piece for child in node.children for piece in pieces(child)]
    return found if isinstance(node, nodes.Inline) else [*found, " "]


def is_left_out(node: nodes.Node) -> bool:
    """Say whether a node is something else than prose."""
    return (
        isinstance(node, LEFT_OUT)
        or type(node).__name__ in LEFT_OUT_NAMES
        or bool(LEFT_OUT_CLASSES & {*node.get("classes", ())})
    )


def explained(part: nodes.Node) -> Iterator[str]:
    """Yield what a passage explains.

    That is what it links to the glossary or sets in bold, and an abbreviation in
    brackets behind it.
    """
    if is_left_out(part) or isinstance(part, nodes.Admonition):
        return
    for link in part.findall(addnodes.pending_xref):
        if link["reftype"] == "term":
            yield link["reftarget"]
    for strong in part.findall(nodes.strong):
        in_caption = isinstance(strong.parent, nodes.caption)
        if not in_caption and len(strong.astext().split()) <= LONGEST_TERM:
            yield strong.astext()
            behind = strong.next_node(nodes.Text, descend=False, siblings=True)
            if behind and (short := re.match(r" \((\w+)", behind.astext())):
                yield short[1]


def plain_formula(latex: str) -> str:
    r"""Write a short formula as text: ``\sqrt{d_k}`` is √d_k."""
    text = re.sub(r"\\textcolor\{[^}]*\}", "", latex)
    text = re.sub(r"\\t?frac\{([^{}]*)\}\{([^{}]*)\}", r"\1/\2", text)
    text = re.sub(r"\\([a-zA-Z]+)", sign, text)
    text = re.sub(r"\\[,;! ]|~", " ", text).replace("^ᵀ", "ᵀ")
    return re.sub(r"[{}\\]", "", text).replace("-", "−")


def sign(command: re.Match[str]) -> str:
    """Return the sign or the words that a command of LaTeX stands for."""
    name = command[1]
    if name in SIGNS:
        return SIGNS[name]
    size = "SMALL" if name.islower() else "CAPITAL"
    try:
        return unicodedata.lookup(f"GREEK {size} LETTER {name.upper()}")
    except KeyError:  # an operator, such as \log and \tanh, or a font
        is_font = name.startswith(("math", "text", "operatorname", "bold"))
        return "" if is_font else name
