"""The directive ``predict``: a fault stops the build, and is told with its line."""

import io
import re

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import docutils_namespace

BOX = """
:::{predict} Which is larger?
:label: predict-one
- a
- [x] *b*
---
Because of **this**.
:::
"""
CONFIGURATION = """
extensions = ["myst_parser", "predict_box"]
myst_enable_extensions = ["colon_fence"]
"""
OTHER = BOX.replace("predict-one", "predict-two")
PAGES = {
    "ch01_one": BOX,
    "z1_unmarked": OTHER.replace("[x] ", ""),
    "z2_again": BOX,
    "z3_twice": OTHER + OTHER,
    "z4_role": OTHER.replace("two", "four").replace("Because", "{nothing}`x` because"),
    "z5_reveal": ":::{container} tag_reveal\n4\n:::\n",
}


def as_a_cell(app, doctree):
    """Tag a container as MyST-NB tags a cell; the directive would write a hyphen."""
    for node in doctree.findall(nodes.container):
        if "tag-reveal" in node["classes"]:
            node["classes"] = ["tag_reveal"]


def test_a_fault_stops_the_build_with_its_line(tmp_path):
    (tmp_path / "book").mkdir()
    (tmp_path / "conf.py").write_text(CONFIGURATION)
    (tmp_path / "index.md").write_text("# Index\n\n```{toctree}\n:glob:\nbook/*\n```")
    for name, text in PAGES.items():
        (tmp_path / "book" / f"{name}.md").write_text(f"# Page\n{text}")
    told, out = io.StringIO(), tmp_path / "out"
    with docutils_namespace():
        app = Sphinx(tmp_path, tmp_path, out, out, "html", status=None, warning=told)
        app.connect("doctree-read", as_a_cell, priority=1)
        app.build()
    found = re.findall(r"book/(\w+\.md:\d+): (.*)", told.getvalue())
    assert [place for place, _ in found] == [
        *("z1_unmarked.md:3", "z2_again.md:3", "z3_twice.md:11", "z4_role.md:8"),
        "z5_reveal.md:2",
    ]
    assert "0 answers are marked" in found[0][1]
    assert "the label 'predict-one' is that of a box in book/ch01_one" in found[1][1]
    assert "the label 'predict-two' is that of a box in book/z3_twice" in found[2][1]
    assert all(text.startswith("ERROR") for _, text in found[:3])
    assert "tagged 'reveal', but no predict box comes before it" in found[4][1]
