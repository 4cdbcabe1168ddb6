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
DIRECTIVE = re.compile(
    r"(?P<fence>:{3,}|`{3,})\{predict\} *(?P<question>.*)\n"
    r"(?P<options>(?::[\w-]+:.*\n)*)"
    r"(?P<content>[\s\S]*?)\n?(?P=fence)\s*",
)


@dataclass(frozen=True)
class Box:
    """A question with its answers.

    Attributes:
        label: Name under which the reader's browser keeps the answer.
        question: One or two sentences of Markdown.
        answers: Two to five of them, each one line of Markdown.
        right: Which answer is right, counted from 0.
        explanation: Markdown, shown after choosing.
        explained_at: Line of the content on which the explanation begins, from 0.
    """

    label: str
    question: str
    answers: tuple[str, ...]
    right: int
    explanation: str
    explained_at: int = 0

    def answer(self) -> str:
        """Return the right answer with its letter."""
        return f"({LETTERS[self.right]}) {self.answers[self.right]}"


def read_box(question: str, label: str, content: Sequence[str]) -> Box:
    """Read a box from the parts of its directive.

    Args:
        question: Argument of the directive.
        label: Its option of that name.
        content: Lines of its content: the answers, ``---``, the explanation.

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


def predict_text(directive: str) -> str:
    """Return a predict box as Markdown that JupyterLab and Colab show as it is meant.

    Args:
        directive: The box as it stands in the source, with both of its fences.

    Returns:
        The question, the answers with letters, and a fold with the explanation.

    Raises:
        ValueError: If this is no predict box, or one with something wrong in it.
    """
    found = DIRECTIVE.fullmatch(directive.strip() + "\n")
    if found is None:
        first = directive.strip().partition("\n")[0]
        raise ValueError(
            f"{first!r} begins no predict box: give the whole directive, from "
            "':::{predict} …' to the ':::' that closes it"
        )
    options = dict(re.findall(r":([\w-]+): *(.*)\n", found["options"]))
    content = found["content"].splitlines()
    box = read_box(found["question"], options.get("label", ""), content)
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
