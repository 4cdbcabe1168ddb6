"""The directive ``predict``: a question that the reader answers in the page.

    :::{predict} How large is the largest weight?
    :label: predict-largest-weight
    - about 3 %
    - [x] about 80 %
    ---
    The explanation.
    :::

It becomes a list of answers and a fold with the explanation, readable without
JavaScript; ``book/_static/predict.js`` makes buttons of the answers. The output of a
cell tagged ``reveal``, and the paragraphs behind it, which speak of the output, are
folded until the box before them is answered: no script is needed to cover what would
tell. `predict_text` makes the form for JupyterLab and Colab.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

WAITS = "The result is shown when you have made your prediction above."
FEWEST, MOST = 2, 5  # answers
LETTERS = "abcde"
LABEL = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
ANSWER = re.compile(r"- +(?:\[(?P<mark>[ xX])\] +)?(?P<text>\S.*)")

logger = logging.getLogger(__name__)


# --- What an author writes ---


@dataclass(frozen=True)
class Box:
    """A question with its answers, in Markdown."""

    label: str  # under which the reader's browser keeps the answer
    question: str
    answers: tuple[str, ...]
    right: int  # which answer, counted from 0
    explanation: str
    explained_at: int = 0  # line of the content on which it begins, from 0

    def answer(self) -> str:
        """Return the right answer with its letter."""
        return f"({LETTERS[self.right]}) {self.answers[self.right]}"


def read_box(question: str, label: str, content: Sequence[str]) -> Box:
    """Read a box from its question, its label, and the lines of its content.

    Raises:
        ValueError: If a part is missing or is not as it must be.
    """
    if not question.strip():
        raise ValueError("the box asks nothing: write the question behind {predict}")
    if not LABEL.fullmatch(label):
        raise ValueError(
            f"the label is {label!r}: write small letters, digits and single hyphens, "
            "as in ':label: predict-largest-weight'"
        )
    ends = [number for number, line in enumerate(content) if line.strip() == "---"]
    if not ends:
        raise ValueError("no line '---' ends the answers: write one, and then explain")
    answers, right = read_answers(content[: ends[0]])
    explanation = "\n".join(content[ends[0] + 1 :]).strip("\n")
    if not explanation.strip():
        raise ValueError("nothing follows the line '---': write the explanation there")
    return Box(label, question.strip(), answers, right, explanation, ends[0] + 1)


def read_answers(lines: Sequence[str]) -> tuple[tuple[str, ...], int]:
    """Read the list of answers, and which of them is the right one."""
    answers: list[str] = []
    right: list[int] = []
    for line in lines:
        if found := ANSWER.fullmatch(line.rstrip()):
            if (found["mark"] or " ") in "xX":
                right.append(len(answers))
            answers.append(found["text"])
        elif answers and line.startswith("  ") and line.strip():
            answers[-1] += f" {line.strip()}"
        elif line.strip():
            raise ValueError(
                f"{line!r} is no answer: begin each with '- ', and indent what "
                "continues on the next line by two spaces"
            )
    if not FEWEST <= len(answers) <= MOST:
        raise ValueError(
            f"the box has {len(answers)} answers: give between {FEWEST} and {MOST}"
        )
    if len(right) != 1:
        raise ValueError(
            f"{len(right)} answers are marked [x]: mark the one that is right"
        )
    return tuple(answers), right[0]


def predict_text(question: str, label: str, content: Sequence[str]) -> str:
    """Return a predict box as Markdown that JupyterLab and Colab show as it is meant.

    It has the question, the answers with letters, and a fold with the explanation.
    """
    box = read_box(question, label, content)
    letters = zip(LETTERS, box.answers, strict=False)
    answers = "\n".join(f"- ({letter}) {answer}" for letter, answer in letters)
    return f"""**Predict.** {box.question}

{answers}

<details>
<summary>Answer</summary>

{box.answer()}

{box.explanation}

</details>
"""


# --- The page ---


class Fold(nodes.General, nodes.Element):
    """The answer and its explanation, folded on a page and open on paper."""


def open_fold(self: Any, node: Fold) -> None:
    """Write the beginning of a fold as HTML."""
    self.body.append(f"{self.starttag(node, 'details')}<summary>Answer</summary>")


def close_fold(self: Any, node: Fold) -> None:
    """Write the end of a fold as HTML."""
    self.body.append("</details>\n")


class Cover(nodes.General, nodes.Element):
    """Results that wait for a prediction."""


def open_cover(self: Any, node: Cover) -> None:
    """Write the beginning of a cover as HTML."""
    tag = self.starttag(node, "details", **{"data-predict": node["box"]})
    words = f'<span>{WAITS}</span> <span class="predict-show">Show anyway</span>'
    self.body.append(f"{tag}<summary>{words}</summary>")


class Predict(SphinxDirective):
    """Puts the box into the page."""

    optional_arguments = 1
    final_argument_whitespace = True
    has_content = True
    option_spec = {"label": directives.unchanged}  # noqa: RUF012

    def run(self) -> list[nodes.Node]:
        """Check what was written, and make the box of it."""
        question = "".join(self.arguments)
        try:
            box = read_box(question, self.options.get("label", ""), list(self.content))
            self.keep_label(box.label)
        except ValueError as problem:
            raise self.error(str(problem)) from problem
        found = nodes.container(classes=["predict"], ids=[box.label])
        found += self.paragraph("Predict", classes=["predict-title"])
        asked = {"classes": ["predict-question"], "ids": [f"{box.label}-question"]}
        found += self.paragraph(box.question, **asked)
        found += self.answers(box)
        found += self.fold(box)
        return [found]

    def keep_label(self, label: str) -> None:
        """Note the label, under which the reader's browser will keep the answer."""
        labels = predict_labels(self.env)
        if label in labels:
            raise ValueError(
                f"the label {label!r} is that of a box in {labels[label]}: "
                "give each box its own, or one answer would count for both"
            )
        labels[label] = self.env.docname

    def paragraph(self, text: str, **attributes: list[str]) -> nodes.paragraph:
        """Return one paragraph of Markdown."""
        inline, messages = self.parse_inline(text, lineno=self.lineno)
        return nodes.paragraph("", "", *inline, *messages, **attributes)

    def answers(self, box: Box) -> nodes.enumerated_list:
        """Return the list of answers; a class marks the right one."""
        found = nodes.enumerated_list(
            classes=["predict-answers"], enumtype="loweralpha"
        )
        for number, answer in enumerate(box.answers):
            right = ["predict-right"] * (number == box.right)
            found += nodes.list_item("", self.paragraph(answer), classes=right)
        return found

    def fold(self, box: Box) -> Fold:
        """Return the right answer and the explanation."""
        answer = self.paragraph(box.answers[box.right], classes=["predict-solution"])
        answer.insert(0, nodes.Text(f"({LETTERS[box.right]}) "))
        offset = self.content_offset + box.explained_at
        explanation = self.parse_text_to_nodes(box.explanation, offset=offset)
        return Fold("", answer, *explanation, classes=["predict-fold"])


def predict_labels(env: BuildEnvironment) -> dict[str, str]:
    """Return the labels of all boxes read so far, with their pages."""
    return vars(env).setdefault("predict_labels", {})


def forget_page(app: Sphinx, env: BuildEnvironment, page: str) -> None:
    """Forget the labels of a page that is read again or is gone."""
    labels = predict_labels(env)
    for label in [label for label, where in labels.items() if where == page]:
        del labels[label]


def cover_results(app: Sphinx, doctree: nodes.document) -> None:
    """Cover what cells show that wait for a box; warn where no box comes before."""
    box = ""
    for node in [*doctree.findall(nodes.container)]:
        if "predict" in node["classes"]:
            box = node["ids"][0]
        elif waits(node) and not box:
            logger.warning(
                "a cell is tagged 'reveal', but no predict box comes before it: write "
                "the box, or take the tag away",
                location=node,
            )
        elif waits(node) and not isinstance(node.parent, Cover):
            cover(node, box)


def waits(node: nodes.Node) -> bool:
    """Say whether a node is a cell whose output waits for a prediction."""
    return isinstance(node, nodes.container) and "tag_reveal" in node["classes"]


def speaks(behind: Sequence[nodes.Node]) -> bool:
    """Say whether the first of some nodes waits, too, or speaks of what is covered.

    What ends with a colon, or invites to explore, speaks of what follows it.
    """
    if not behind or waits(behind[0]):
        return bool(behind)
    text = behind[0].astext()
    leads_on = text.endswith(":") or text.startswith("Explore.")
    is_text = isinstance(behind[0], nodes.paragraph | nodes.block_quote)
    return is_text and (not leads_on or waits(behind[-1]))


def cover(cell: nodes.container, box: str) -> None:
    """Cover a cell's output, what is said of it, and the cells behind that wait too."""
    found = Cover("", box=box, classes=["predict-cover"])
    found += [part for part in cell if "cell_output" in part["classes"]]
    if not len(found):
        return
    cell.children = [part for part in cell if part not in found.children]
    behind, place = cell.parent, cell.parent.index(cell) + 1
    while speaks(behind[place : place + 2]):
        found += behind.pop(place)
    cell += found


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive with Sphinx."""
    app.add_node(Fold, html=(open_fold, close_fold))
    app.add_node(Cover, html=(open_cover, close_fold))
    app.add_directive("predict", Predict)
    app.connect("env-purge-doc", forget_page)
    app.connect("doctree-read", cover_results)
    return {"parallel_read_safe": False, "parallel_write_safe": True}
