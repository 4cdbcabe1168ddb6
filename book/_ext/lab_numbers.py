"""The numbers of laboratory pages, such as Fig. L4.1, and of the mask card: Fig. 1.

The sections of such a page have their numbers in their headings. Sphinx counts only
figures, tables and equations there, and would count on from page to page.
"""

from __future__ import annotations

import re

from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

PAGE = re.compile(r"(?:^|/)(?:lab(\d\d)_|mask_card$)")


def number_labs(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """Count what has a number on each such page from 1, after the number of the lab."""
    for page, kinds in env.toc_fignumbers.items():
        if found := PAGE.search(page):
            lab = (f"L{int(found[1])}",) if found[1] else ()
            for numbers in kinds.values():
                for place, name in enumerate(sorted(numbers, key=numbers.get), 1):
                    numbers[name] = (*lab, place)
    return []


def setup(app: Sphinx) -> dict[str, bool]:
    """Count after Sphinx has counted."""
    app.connect("env-get-updated", number_labs, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
