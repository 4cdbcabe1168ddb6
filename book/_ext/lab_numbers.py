"""The numbers of laboratory pages: Fig. L4.1 on the page that belongs to chapter 4.

The sections of such a page have their numbers in their headings. Sphinx counts only
figures, tables and equations there, and would count on from page to page.
"""

from __future__ import annotations

import re

from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

LAB = re.compile(r"(?:^|/)lab(\d\d)_")


def number_labs(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """Count what has a number on each laboratory page from 1, with the page's own."""
    for page, kinds in env.toc_fignumbers.items():
        if found := LAB.search(page):
            for numbers in kinds.values():
                for place, name in enumerate(sorted(numbers, key=numbers.get), 1):
                    numbers[name] = (f"L{int(found[1])}", place)
    return []


def setup(app: Sphinx) -> dict[str, bool]:
    """Count after Sphinx has counted."""
    app.connect("env-get-updated", number_labs, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
