"""Numbers of what has no chapter: Fig. L4.1 in Lab 4, Fig. A1.1 in appendix A1.

The sections of a laboratory page have their numbers in their headings; those of the
appendix and of the mask card, where a figure is Fig. 1, have none. Sphinx would count
the figures, tables and equations on from page to page.
"""

from __future__ import annotations

import re
from copy import deepcopy

from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

PAGE = re.compile(r"(?:^|/)(?:lab(?P<lab>\d\d)_|(?P<appendix>a\d)_|mask_card$)")


def restore(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """Give Sphinx its own numbers, or it would write the pages anew each time."""
    env.toc_fignumbers = getattr(env, "counted_on", env.toc_fignumbers)
    return []


def number_labs(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """Count what has a number on each such page from 1, after the name of the page."""
    env.counted_on = deepcopy(env.toc_fignumbers)
    for page, kinds in env.toc_fignumbers.items():
        if found := PAGE.search(page):
            name = page_name(found)
            for numbers in kinds.values():
                for place, node in enumerate(sorted(numbers, key=numbers.get), 1):
                    numbers[node] = (*name, place)
    return []


def page_name(found: re.Match[str]) -> tuple[str, ...]:
    """What comes before the point: L4, A1, or nothing on the mask card."""
    if found["lab"]:
        return (f"L{int(found['lab'])}",)
    return (found["appendix"].upper(),) if found["appendix"] else ()


def setup(app: Sphinx) -> dict[str, bool]:
    """Count after Sphinx has counted."""
    app.connect("env-get-updated", restore, priority=100)
    app.connect("env-get-updated", number_labs, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
