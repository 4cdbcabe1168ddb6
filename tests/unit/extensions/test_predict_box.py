"""A predict box: what its author writes, and its form as plain Markdown."""

import pytest

from predict_box import Box, predict_text, read_box
from reader_notebooks import Directive, pieces

BOX = r"""
:::{predict} How large is the largest weight? Choose before you look.
:label: predict-largest-weight
- about 3 %
- [ ] about
  20 %
- [x] about $\frac{4}{5}$
---
A score has a standard deviation of $\sqrt{d_k}$.

- Here it is 8.
---
The end.
:::
""".strip()

TEXT = r"""
**Predict.** How large is the largest weight? Choose before you look.

- (a) about 3 %
- (b) about 20 %
- (c) about $\frac{4}{5}$

<details>
<summary>Answer</summary>

(c) about $\frac{4}{5}$

A score has a standard deviation of $\sqrt{d_k}$.

- Here it is 8.
---
The end.

</details>
""".lstrip()


def test_the_parts_are_read():
    content = BOX.splitlines()[2:-1]
    assert read_box(" Which? ", "predict-one", content) == Box(
        label="predict-one",
        question="Which?",
        answers=("about 3 %", "about 20 %", r"about $\frac{4}{5}$"),
        right=2,
        explanation="\n".join(content[5:]),
        explained_at=5,
    )


def as_text(box):
    (found,) = [part for part in pieces(box) if isinstance(part, Directive)]
    label = found.options.get("label", "")
    return predict_text(found.argument, label, found.body.splitlines())


@pytest.mark.parametrize("fence", [":::", "::::", "```", "````"])
def test_as_text(fence):
    assert as_text(BOX.replace(":::", fence)) == TEXT


def test_a_shorter_fence_may_stand_inside():
    inner = "```python\nprint(1)\n```"
    box = BOX.replace(":::", "````").replace("The end.", inner)
    assert as_text(box) == TEXT.replace("The end.", inner)


FAULTS = [
    (" How large is the largest weight? Choose before you look.", "", "asks nothing"),
    ("predict-largest-weight", "a--b", "the label is 'a--b'"),
    ("---", "", "no line '---'"),
    ("- [x] about", "about", r"'about \$.*' is no answer: begin each with '- '"),
    ("- [x]", "-", "0 answers are marked"),
    ("- about 3 %\n- [ ] about\n  20 %\n", "", "1 answers: give between 2 and 5"),
    (BOX[BOX.index("A score") : -3], "", "nothing follows the line '---'"),
]


@pytest.mark.parametrize(
    ("good", "bad", "problem"), FAULTS, ids=[problem for _, _, problem in FAULTS]
)
def test_a_fault_is_named(good, bad, problem):
    assert good in BOX
    with pytest.raises(ValueError, match=problem):
        as_text(BOX.replace(good, bad))
