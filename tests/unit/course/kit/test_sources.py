from attnbook.course.kit import sources
from attnbook.course.kit.sources import without_docstrings


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
