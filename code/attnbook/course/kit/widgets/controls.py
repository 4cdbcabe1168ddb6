"""What the interactive figures are made of: sliders, boxes to tick, their frame.

They work alike on the published page, in JupyterLab and in Colab, with a mouse, by
touch and from the keyboard. How:

- All script stands in an attribute (:mod:`.scripts`), so nothing has to be loaded.
- The controls are hidden until a script shows them. Where scripts are off, or removed
  (JupyterLab does so in a notebook that it has not run itself), the first state and its
  text remain, and no dead control.
- ``data-lm-suppress-shortcuts`` makes JupyterLab leave the keys to the control that has
  the focus. It must stand on the control itself: JupyterLab's shortcuts match there.
- Text takes the colour of its surroundings, dark or light.
"""

from __future__ import annotations

import re
from html import escape
from typing import TYPE_CHECKING

from attnbook.course.kit.colours import COLOURS

if TYPE_CHECKING:  # a machine for training alone has no notebooks
    from IPython.display import HTML

HIDDEN = ' hidden="hidden"'  # JupyterLab removes attributes without a value
KEYS = 'data-lm-suppress-shortcuts="true"'
ROW = "display: flex; align-items: center; gap: 0.6em"
ACCENT = f"accent-color: {COLOURS['source']}"
SLIDER = f"flex: 1; min-width: 0; min-height: 24px; {ACCENT}"
BOX = f"width: 24px; height: 24px; margin: 0; flex: none; {ACCENT}"
BUTTON = (
    "font: inherit; color: inherit; background: transparent; cursor: pointer; "
    "border: 1px solid currentColor; border-radius: 6px; "
    "min-width: 2.4em; min-height: 2.2em; line-height: 1"
)


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
    from IPython.display import HTML

    return HTML(f'<{tag} class="book-stepper"{name} {look}>\n{inside}{below}\n</{tag}>')


def claim(caption: str) -> str:
    """A caption as HTML: between double asterisks bold, between single ones italic."""
    text = re.sub(r"\*\*(.+?)\*\*", r"<strong>\1</strong>", escape(caption))
    return re.sub(r"\*(.+?)\*", r"<em>\1</em>", text)


def hidden_controls(inside: str) -> str:
    """Hide controls until a script shows them."""
    return f'<div class="book-controls"{HIDDEN}>{inside}</div>'


def slider_row(
    title: str, name: str, *, low: int, value: int, high: int, text: str
) -> str:
    """A slider between two buttons that move it by one, what it moves, where it is.

    Whatever moves it is followed by an ``input`` event, which bubbles.

    Args:
        title: What it moves, as HTML.
        name: The same as plain text, for screen readers.
        low: Its least value.
        value: Its value at first.
        high: Its greatest value.
        text: What the value means, such as "1 of 7".

    Returns:
        HTML; the text stands in an ``<output>``.
    """
    name, text = escape(name), escape(text)
    # Firefox restores a slider's place on reloading, but not the picture: autocomplete.
    slider = (
        f'<input {KEYS} type="range" min="{low}" max="{high}" step="1" '
        f'value="{value}" autocomplete="off" aria-label="{name}" '
        f'aria-valuetext="{text}" style="{SLIDER}">'
    )
    return (
        f'<div style="{ROW}; flex-wrap: wrap; margin-bottom: 0.6em">'
        f"<span>{title}: <output>{text}</output></span>"
        f'<span style="{ROW}; flex: 1 1 15em">'
        f"{_button('←', f'{name}: back', disabled=value == low)}{slider}"
        f"{_button('→', f'{name}: on', disabled=value == high)}</span></div>"
    )


def _button(sign: str, name: str, *, disabled: bool) -> str:
    return (
        f'<button {KEYS} type="button" aria-label="{name}" '
        f'style="{BUTTON}; opacity: {0.4 if disabled else 1}" '
        f'aria-disabled="{str(disabled).lower()}">{sign}</button>'
    )


def choice(
    type_: str, text: str, *, chosen: bool, group: str = "", name: str = ""
) -> str:
    """A box to tick, or a radio button, with its text.

    Args:
        type_: "checkbox" or "radio".
        text: What is chosen, HTML.
        chosen: Whether it is at first.
        group: Of radio buttons, one of which is chosen.
        name: A class by which the script finds it.
    """
    more = f' name="{group}"' if group else ""
    more += f' class="{name}"' if name else ""
    checked = ' checked="checked"' if chosen else ""
    return (
        f'<label style="{ROW}; min-height: 24px"><input {KEYS} type="{type_}"{more}'
        f'{checked} autocomplete="off" style="{BOX}"><span>{text}</span></label>'
    )
