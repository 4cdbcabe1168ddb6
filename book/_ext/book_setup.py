"""What the book adds to Sphinx: the repository's address, mends of extensions."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import matplotlib.axes
import torch
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.environment import BuildEnvironment
from sphinx_codeautolink.extension.block import CodeBlockAnalyser

ROOT = Path(__file__).resolve().parents[2]
BINDER = "https://mybinder.org"
COLAB = "https://colab.research.google.com"


def repository() -> str:
    """Return ``owner/name``, or an empty string as long as nobody has published."""
    name = (
        os.environ.get("BOOK_REPOSITORY")
        or os.environ.get("GITHUB_REPOSITORY")
        or (ROOT / "REPOSITORY").read_text()
    ).strip()
    if name and name.count("/") != 1:
        raise ValueError(f"The repository is {name!r}: write it as 'owner/name'.")
    return name


def add_repository(app: Sphinx, config: Config) -> None:
    """Add the buttons that need an address; no button is better than a dead one."""
    name = repository()
    if not name:
        return
    owner, _, project = name.partition("/")
    config.html_baseurl = f"https://{owner}.github.io/{project}/"
    config.ogp_site_url = config.html_baseurl
    config.html_theme_options |= {
        "repository_url": f"https://github.com/{name}",
        "repository_branch": "main",
        "use_repository_button": True,
        "use_issues_button": True,
        "launch_buttons": {
            "notebook_interface": "jupyterlab",
            "binderhub_url": BINDER,
            "colab_url": COLAB,
        },
    }


def launch_readers_notebooks(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any
) -> None:
    """Let Colab and Binder open the readers' notebooks, which have their own branch.

    ``.github/workflows/publish.yml`` puts them there. The other buttons lead to the
    source of the page.
    """
    for group in context.get("header_buttons", []):
        for button in group.get("buttons", []):
            address = button.get("url", "")
            if address.startswith((BINDER, COLAB)):
                address = address.replace("/blob/main/", "/blob/notebooks/")
                button["url"] = address.replace("/main?", "/notebooks?")


def use_public_names() -> None:
    """Name classes as their libraries document them, not by the module they lie in."""
    for module in (torch.nn, torch.optim, matplotlib.axes):
        for thing in vars(module).values():
            if isinstance(thing, type) and thing.__module__.startswith(module.__name__):
                thing.__module__ = module.__name__


def mend_codeautolink() -> None:
    """Let sphinx-codeautolink 0.19 live with sphinx-exercise.

    It pops its stack of titles at the end of every section; those of sphinx-exercise
    have no title, and the build stops with "pop from empty list".
    """

    def depart_section(self: CodeBlockAnalyser, node: nodes.section) -> None:
        if any(isinstance(child, nodes.title) for child in node.children):
            self.title_stack.pop()

    CodeBlockAnalyser.depart_section = depart_section


# A signature over several lines, as Sphinx 7 writes it.
SIGNATURE = re.compile(r"(?<=\(</span>)\s*<dl>(.*?)</dl>", re.DOTALL)


def mend_markup(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any
) -> None:
    """Mend what a screen reader would stumble over.

    docutils gives citations ARIA roles that are deprecated or misplaced, and Sphinx
    makes the parameters of a long signature a list of definitions that defines nothing.
    """
    body = context.get("body", "")
    if "citation-list" in body:
        for role in ("doc-biblioentry", "doc-backlink", "list"):
            body = body.replace(f' role="{role}"', "")
    body = body.replace("Solution to<a", "Solution to <a")  # underlined a space
    context["body"] = SIGNATURE.sub(as_lines, body)


def as_lines(signature: re.Match) -> str:
    """Return the parameters of a signature as plain lines."""
    parameters = signature[1].replace("<dd>", '<span class="sig-line">')
    return parameters.replace("</dd>", "</span>")


def forget_modules_without_source(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """Leave them out of the list of source pages, which would link to no file.

    Commands made by click are such: as objects, they belong to the module builtins.
    """
    modules = getattr(env, "_viewcode_modules", {})
    for name in [name for name, source in modules.items() if not source]:
        del modules[name]
    return []


def setup(app: Sphinx) -> dict[str, bool]:
    """Register all of the above with Sphinx."""
    use_public_names()
    mend_codeautolink()
    if repository():
        app.tags.add("published")  # for the directive `only`
    app.connect("config-inited", add_repository)
    app.connect("env-updated", forget_modules_without_source)
    app.connect("html-page-context", launch_readers_notebooks, priority=900)
    app.connect("html-page-context", mend_markup, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
