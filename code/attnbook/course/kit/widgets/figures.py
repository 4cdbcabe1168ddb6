"""What a figure that moves is made of: its frame, its pictures and its script.

A figure loads nothing and finds nothing by an id, so all its script stands in the
``onload`` of an image. It is written as a module, in a file that a linter reads;
``start(image, given)`` begins.
"""

import base64
import io
import json
import re
from html import escape
from importlib.resources import files

import matplotlib.pyplot as plt
from IPython.display import HTML
from matplotlib.figure import Figure
from PIL import Image

WHEN_PARSED = (
    'if (document.readyState === "loading") '
    'document.addEventListener("DOMContentLoaded", begin); else begin();'
)
"""An image can be there before what stands below it has been read."""
NO_CODE = re.compile(r"^\s*//.*$|^export ", re.MULTILINE)


def figure(inside: str, caption: str, *, width: int, explorer: str = "") -> HTML:
    """Put a figure together.

    Args:
        inside: Controls and pictures, HTML.
        caption: What is to be learned, as a claim; what stands between double asterisks
            is bold. Without one, the cell has it.
        width: The most pixels.
        explorer: The module of an explorer, if it is one.

    Returns:
        The figure, which a notebook shows.
    """
    name = f' data-explorer="{explorer}"' if explorer else ""
    tag, below = "div", ""
    if caption:
        tag, below = "figure", f"\n<figcaption>{claim(caption)}</figcaption>"
    look = f'style="margin: 1em 0; max-width: {width}px"'
    return HTML(f'<{tag} class="book-stepper"{name} {look}>\n{inside}{below}\n</{tag}>')


def claim(caption: str) -> str:
    """A caption as HTML: between double asterisks bold, between single ones italic."""
    text = re.sub(r"\*\*(.+?)\*\*", r"<strong>\1</strong>", escape(caption))
    return re.sub(r"\*(.+?)\*", r"<em>\1</em>", text)


def png_image(drawn: Figure, alt: str, *, script: str = "", look: str = "") -> str:
    """Turn a figure into an image that holds its own bytes, and close the figure."""
    image = base64.b64encode(_png(drawn)).decode()
    width = round(100 * drawn.get_figwidth())
    plt.close(drawn)
    return (
        f'<img src="data:image/png;base64,{image}" alt="{escape(alt)}" '
        f'width="{width}" style="max-width: 100%; height: auto; border-radius: 6px'
        f'{look}"{script}>'
    )


def _png(figure: Figure) -> bytes:
    """Draw a figure: sharp on any screen, 256 colours, the same bytes every time."""
    full = io.BytesIO()
    figure.savefig(full, format="png", dpi=200, metadata={"Software": None})
    small = io.BytesIO()
    image = Image.open(full).convert("RGB")
    image.quantize(256, dither=Image.Dither.NONE).save(small, "PNG", optimize=True)
    return small.getvalue()


def on_load(module: str, **given: object) -> str:
    """Return an attribute of an image that starts a script when it has loaded.

    The module names the script, such as ``attnbook.course.kit.widgets.stepper``, which
    gets what is given as JSON. In its file comments have lines of their own, and
    statements end with a semicolon or a brace: all becomes one line.
    """
    package, _, name = module.rpartition(".")
    code = NO_CODE.sub("", (files(package) / f"{name}.js").read_text(encoding="utf-8"))
    values = json.dumps(given, ensure_ascii=False)
    begin = f"const begin = () => {{ this.onload = null; start(this, {values}); }};"
    whole = f"{code} {begin} {WHEN_PARSED}"
    return f' onload="{escape(" ".join(whole.split()))}"'
