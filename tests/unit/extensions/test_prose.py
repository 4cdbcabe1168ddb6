"""What of a page is prose, for the search and the glossary."""

import pytest
from docutils import nodes

from book_search import plain_formula, prose


@pytest.mark.parametrize(
    ("latex", "text"),
    [
        (r"\sqrt{d_k}", "√d_k"),
        (r"\textcolor{#0072B2}{h_j}", "h_j"),
        (r"\frac{1}{n} \sum_i \alpha_i \cdot v", "1/n ∑_i α_i · v"),
        (r"v^\top \tanh(W s)", "vᵀ tanh(W s)"),
        (r"\operatorname{softmax}(-x)", "softmax(−x)"),
    ],
)
def test_a_formula_is_text(latex, text):
    assert plain_formula(latex) == text


def test_code_and_answers_are_left_out():
    passage = nodes.container()
    passage += nodes.paragraph("", "", nodes.Text("The "), nodes.strong("", "mask"))
    passage += nodes.literal_block("", "mask = None")
    passage += nodes.container("", nodes.Text("a guess"), classes=["predict-answers"])
    passage += nodes.paragraph("", "hides keys.")
    assert prose(passage) == "The mask hides keys."
