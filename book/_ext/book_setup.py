"""What the book adds to Sphinx: address and files, mends of the markup, less weight."""

from __future__ import annotations

import atexit
import gc
import os
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib.axes
import torch
from docutils import nodes
from fontTools.subset import Subsetter
from fontTools.ttLib import TTFont
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.environment import BuildEnvironment

from attnbook.core.threads import set_threads
from live import translator_data

ROOT = Path(__file__).resolve().parents[2]
BINDER = "https://mybinder.org"
COLAB = "https://colab.research.google.com"
PDF = "attention-step-by-step.pdf"


# --- The address ---


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
    config.ogp_use_first_image = True  # in a preview, with an address of its own
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


def more_pages(app: Sphinx) -> Iterator[tuple[str, dict, str]]:
    """Add the page of search results, and one for addresses that lead nowhere."""
    yield "search", {"title": "Search"}, "search.html"
    if app.config.html_baseurl:
        yield "404", {"html_baseurl": app.config.html_baseurl}, "404.html"


def write_sitemap(app: Sphinx, exception: Exception | None) -> None:
    """Tell search engines which pages there are."""
    site = app.config.html_baseurl
    if exception or app.builder.name != "html" or not site:
        return
    pages = [page for page in sorted(app.env.found_docs) if page.startswith("book/")]
    addresses = [f"{site}{app.builder.get_target_uri(page)}\n" for page in pages]
    (Path(app.outdir) / "sitemap.txt").write_text("".join(addresses))


def launch_readers_notebooks(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any
) -> None:
    """Let Colab and Binder open the readers' notebooks, which have their own branch.

    ``.github/workflows/publish.yml`` puts them there. The other buttons lead to the
    source of the page. Before the exercises, a line has the same links.
    """
    places = ""
    for group in context.get("header_buttons", []):
        for button in group.get("buttons", []):
            address, name = button.get("url", ""), button.get("text", "")
            if address.startswith((BINDER, COLAB)):
                address = address.replace("/blob/main/", "/blob/notebooks/")
                button["url"] = address = address.replace("/main?", "/notebooks?")
            elif name != ".ipynb":
                continue
            places += f' · <a href="{address}">{name.replace(".ipynb", "download")}</a>'
    line = f"<p>Run the cells in the notebook{places.replace(' ·', ':', 1)}.</p>"
    first = '<div class="exercise admonition"'
    context["body"] = context.get("body", "").replace(first, line + first, 1)


def printed(app: Sphinx) -> Path:
    """Return where ``scripts/book_pdf.py`` puts the PDF; it outlives a new build."""
    return Path(app.outdir).parent / PDF


def offer_pdf(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any
) -> None:
    """Add the whole book as one PDF to the menu of downloads, if it is printed."""
    if not printed(app).exists():
        return
    megabytes = printed(app).stat().st_size / 1e6
    button = {
        "type": "link",
        "url": context["pathto"](PDF, 1),
        "text": f"the whole book, {megabytes:.0f} MB",
        "tooltip": "The whole book as one PDF",
        "icon": "fas fa-file-pdf",
        "label": "download-book-button",
    }
    for group in context.get("header_buttons", []):
        if group.get("label") == "download-buttons":
            group["buttons"].append(button)


def copy_pdf(app: Sphinx, exception: Exception | None) -> None:
    """Put it beside the pages."""
    if not exception and app.builder.format == "html" and printed(app).exists():
        shutil.copyfile(printed(app), Path(app.outdir) / PDF)


def use_public_names() -> None:
    """Name classes as their libraries document them, not by the module they lie in."""
    for module in (torch.nn, torch.optim, matplotlib.axes):
        for thing in vars(module).values():
            if isinstance(thing, type) and thing.__module__.startswith(module.__name__):
                thing.__module__ = module.__name__


# --- Markup ---

# No line begins with what stands behind a formula.
WITH_COMMA = re.compile(
    r"(<math>(?:(?!</math>).)*</math>)</span>([.,;:!?)]+)", re.DOTALL
)
TOGETHER = r'<span class="math-comma">\1\2</span></span>'
CHINESE = re.compile("([\u3400-\u9fff：、。]+)(?![^<>]*>)")  # in no tag
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
    body = CHINESE.sub(r'<span lang="zh">\1</span>', body)
    if doctree is not None:  # the pages of source files have markup that spans lines
        body = CODE.sub(line_by_line, body)
    body = WITH_COMMA.sub(TOGETHER, SUMMARY.sub(as_code, body))
    context["body"] = SIGNATURE.sub(as_lines, body)


def as_lines(signature: re.Match) -> str:
    """Return the parameters of a signature as plain lines."""
    parameters = signature[1].replace("<dd>", '<span class="sig-line">')
    return parameters.replace("</dd>", "</span>")


PHONE = 40  # letters of code that fit its line
CODE = re.compile(r"(?<=<pre><span></span>).*?(?=</pre>)", re.DOTALL)
SUMMARY = re.compile(r"<summary.*?</summary>", re.DOTALL)


def as_code(summary: re.Match) -> str:
    """Return the title of a fold, whose code MyST-NB leaves in backticks."""
    return re.sub("`([^`<]+)`", r"<code>\1</code>", summary[0])


def line_by_line(code: re.Match) -> str:
    """Wrap each line with its indentation: where it goes on, it keeps it (book.css)."""
    return "".join(map(wrapped_line, code[0].splitlines(keepends=True)))


def wrapped_line(line: str) -> str:
    """Return a line of code, its line feed included, in an element of its own."""
    text = re.sub("<[^>]*>", "", line)
    if not text.strip():
        return line
    if len(text) > PHONE:  # names joined by dots have no other place to break
        line = re.sub('(?=<span class="o">\\.)|(?<=\\(</span>)', "<wbr>", line)
    indent = len(text) - len(text.lstrip(" "))
    style = f' style="--in: {indent}"' if indent else ""
    return f'<span class="code-line"{style}>{line}</span>'


VERBATIM = (nodes.literal, nodes.literal_block, nodes.math, nodes.math_block, nodes.raw)


def join_percent_signs(app: Sphinx, doctree: nodes.document) -> None:
    """Let no line break between a number and its percent sign, except in code."""
    for text in list(doctree.findall(nodes.Text)):
        joined = re.sub(r"(?<=\d) %", "\u00a0%", text)
        if joined != text and not isinstance(text.parent, VERBATIM):
            text.parent.replace(text, nodes.Text(joined))


def forget_modules_without_source(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """Leave them out of the list of source pages, which would link to no file.

    Commands made by click are such: as objects, they belong to the module builtins.
    """
    modules = getattr(env, "_viewcode_modules", {})
    for name in [name for name, source in modules.items() if not source]:
        del modules[name]
    return []


# --- What a page loads ---


def live(*names: str) -> list[str]:
    """Return the files of what is alive in a page, by the names of its scripts."""
    return ["live/live.css", *(f"live/{name}.js" for name in names)]


ENGINE = "translator/engine"
FILES = {
    "<math": ["vendor/temml/Temml-STIX2.css"],
    'class="front-start': ["front.css", "front.js"],
    'class="predict ': ["predict.js"],
    'class="explorer-controls"': live("charts", "explorers"),
    "data-models=": live(
        *("numbers", "recurrent", "transformer", "language", "map", "widget")
    ),
    'live-clicks"': live("ch02_clicks"),  # beside the models
    'live-gaps"': live("numbers", "transformer", "language", "widget", "gaps"),
    "data-translator": live(
        *("numbers", "transformer", "map"),
        *("translator/subwords", "translator/search", ENGINE),
        *("translator/links", "translator/tree", "translator/view"),
    ),
    "data-preset=": live("playground/loader"),
}
"""What the markup of a page may contain, and the files that it then loads."""


def load_files(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any
) -> None:
    """Let a page load the style sheets and scripts that it needs, and no others."""
    body = context.get("body", "")
    wanted = [file for mark in FILES if mark in body for file in FILES[mark]]
    for file in dict.fromkeys(wanted):
        if file.endswith(".css"):
            app.add_css_file(file)
        else:
            more = translator_data() if ENGINE in file else {}
            app.add_js_file(file, loading_method="defer", **more)


# --- Weight: the theme's layout and macros are replaced in book/_templates ---

ICONS = {
    "fa-solid-900": "angle-down angle-left angle-right arrow-up bars bell chevron-down "
    "circle-half-stroke circle-info code download file file-pdf lightbulb list "
    "magnifying-glass moon pencil rocket sun",
    "fa-brands-400": "github",
}
"""By the font of the theme, the icons that pages show; ``book.css`` names the files."""


def write_icons(app: Sphinx, exception: Exception | None) -> None:
    """Write fonts of the few icons that are shown: all of them weigh 0.3 MB."""
    if exception or app.builder.format != "html":
        return
    static = Path(app.outdir) / "_static"
    for name, icons in ICONS.items():
        path = static / "vendor" / "fontawesome" / "webfonts" / f"{name}.ttf"
        with TTFont(path, recalcTimestamp=False) as font:
            chosen = Subsetter()
            chosen.populate(glyphs=icons.split())  # an icon that is not there stops it
            chosen.subset(font)
            font.save(static / f"{name}.ttf")


# --- Time ---


def read_again(
    app: Sphinx, env: BuildEnvironment, added: set, changed: set, removed: set
) -> list[str]:
    """Name the pages that depend on what differs from the last build without fault.

    Sphinx itself reads a page with a fault once, and then takes it for known.
    """
    names = {*os.environ.get("BOOK_CHANGED", "").splitlines()}
    return [
        page
        for page in env.all_docs
        if names & {env.doc2path(page, base=False), *env.dependencies[page]}
    ]


def write_in_two(app: Sphinx, env: BuildEnvironment) -> None:
    """Let two processes write the pages; only Linux copies a process safely.

    Reading is over: not all extensions can say whether two may read.
    """
    if sys.platform == "linux" and (os.cpu_count() or 1) > 1:
        app.parallel = 2


def save_time() -> None:
    """Take away what costs time and gives nothing."""
    # Half of the time went into looking for garbage among millions of objects, nearly
    # all of them in use until the end.
    gc.disable()
    atexit.register(gc.freeze)  # nor at the end, which would take as long as ten pages
    # On busy cores, threads that wait for each other compute for minutes what one
    # computes in seconds: the data of the explorers.
    set_threads()


def setup(app: Sphinx) -> dict[str, bool]:
    """Register all of the above with Sphinx."""
    save_time()
    use_public_names()
    if repository():
        app.tags.add("published")  # for the directive `only`
    app.connect("config-inited", add_repository)
    app.connect("doctree-read", join_percent_signs)
    app.connect("env-get-outdated", read_again)
    app.connect("env-updated", forget_modules_without_source)
    app.connect("env-check-consistency", write_in_two)
    app.connect("html-collect-pages", more_pages)
    app.connect("html-page-context", load_files, priority=600)  # after explorers
    app.connect("html-page-context", launch_readers_notebooks, priority=900)
    app.connect("html-page-context", mend_markup, priority=900)
    app.connect("html-page-context", offer_pdf, priority=900)  # in the theme's menu
    app.connect("build-finished", copy_pdf)
    app.connect("build-finished", write_icons)
    app.connect("build-finished", write_sitemap)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
