import ast

import pytest
import torch
from torch import nn

from attnbook.core.threads import set_threads
from attnbook.core.vocabulary import Vocabulary
from attnbook.course import show_source
from attnbook.course.kit import sources
from attnbook.course.kit.sources import without_docstrings


def test_it_is_a_python_block_that_names_its_module():
    shown = show_source(set_threads)
    lines = shown._repr_markdown_().splitlines()
    assert lines[:3] == [
        "```python",
        "# attnbook/core/threads.py",
        "def set_threads() -> int:",
    ]
    assert lines[-1] == "```"
    assert repr(shown) == "<Source of attnbook.core.threads.set_threads>"


def test_docstrings_can_be_left_out():
    shown = show_source(Vocabulary, docstring=False)._repr_markdown_()
    assert '"""' not in shown
    assert '"""' in show_source(Vocabulary)._repr_markdown_()
    ast.parse(shown.strip("`").removeprefix("python"))


def test_leaving_docstrings_out_changes_nothing_else():
    code = '''class A:
    """About A."""

    x = """no docstring"""

    def f(self):
        """About f.

        At length.
        """
        return """neither"""

    def g(self):
        """All there is."""
'''
    assert (
        without_docstrings(code)
        == '''class A:
    x = """no docstring"""

    def f(self):
        return """neither"""

    def g(self):
        """All there is."""'''
    )


def test_a_fence_in_the_code_does_not_end_the_block():
    shown = sources.Source("x", 'fence = "```"')._repr_markdown_()
    assert shown.startswith("````python\n")
    assert shown.endswith("\n````")


@pytest.mark.parametrize(
    "obj", [nn.GRU, torch.softmax, 3, "Encoder", None, lambda: 3, sources]
)
def test_what_is_not_ours_is_an_error(obj):
    with pytest.raises(ValueError, match="is not a class or function of attnbook"):
        show_source(obj)
