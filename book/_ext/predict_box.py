"""What an author writes in a predict box, and its form as plain Markdown.

    :::{predict} How large is the largest weight?
    :label: predict-largest-weight
    - about 3 %
    - [x] about 80 %
    ---
    The explanation.
    :::

The page's form is made from this by ``predict.py``. `predict_text` makes the form for
JupyterLab and Colab. Nothing here needs Sphinx.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

FEWEST, MOST = 2, 5  # answers
LETTERS = "abcde"
LABEL = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
ANSWER = re.compile(r"- +(?:\[(?P<mark>[ xX])\] +)?(?P<text>\S.*)")


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
