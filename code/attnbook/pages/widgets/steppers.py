"""A slider over pictures drawn beforehand: plain HTML, no kernel, no library.

It works alike on the published page, in JupyterLab and in Colab, with a mouse, by touch
and from the keyboard. How:

- All script stands in ``on…`` attributes, so nothing has to be loaded or to find its
  element by an id.
- The controls are hidden until a script shows them. Where scripts are off, or removed
  (JupyterLab does so in a notebook that it has not run itself), the first picture and
  its text remain, and no dead slider.
- ``data-lm-suppress-shortcuts`` makes JupyterLab leave the keys to the control that has
  the focus. It must stand on the control itself: JupyterLab's shortcuts match there.
- Text takes the colour of its surroundings, dark or light.
"""

from __future__ import annotations

import base64
import io
import re
from collections.abc import Sequence
from html import escape

import matplotlib.pyplot as plt
from IPython.display import HTML
from matplotlib.figure import Figure
from PIL import Image

from attnbook.pages.style import COLOURS

# The slider has moved: show its picture, say where we are.
MOVED = """
const box = this.closest('.book-stepper'), last = +this.max;
box.querySelectorAll('.book-frame').forEach((f, i) => { f.hidden = i != this.value; });
const place = `${+this.value + 1} of ${last + 1}`;
box.querySelector('output').textContent = place;
this.setAttribute('aria-valuetext', place);
box.querySelectorAll('button').forEach((button, end) => {
  const stop = this.value == end * last;
  button.setAttribute('aria-disabled', stop);
  button.style.opacity = stop ? 0.4 : 1;
});
"""
# A button: move the slider beside it by one.
STEP = """
const slider = this.parentElement.querySelector('input');
slider.{step}();
slider.dispatchEvent(new Event('input', {{bubbles: true}}));
"""
# The first picture is there, so scripts run: show the controls.
READY = "this.closest('.book-stepper').querySelector('.book-controls').hidden = false"

HIDDEN = ' hidden="hidden"'  # JupyterLab removes attributes without a value
KEYS = 'data-lm-suppress-shortcuts="true"'
ROW = "display: flex; align-items: center; gap: 0.6em"
SLIDER = f"flex: 1; min-width: 0; min-height: 24px; accent-color: {COLOURS['source']}"
BUTTON = (
    "font: inherit; color: inherit; background: transparent; cursor: pointer; "
    "border: 1px solid currentColor; border-radius: 6px; "
    "min-width: 2.4em; min-height: 2.2em; line-height: 1"
)


def stepper(
    figures: Sequence[Figure],
    captions: Sequence[str],
    *,
    label: str,
    caption: str,
    alts: Sequence[str] | None = None,
) -> HTML:
    """Let the reader step through figures with a slider and two buttons.

    The figures are closed, so that the notebook does not show them a second time.

    Args:
        figures: One figure a step, all of one size.
        captions: What to see at each step, shown below its picture.
        label: What the slider moves, such as "Decoder step".
        caption: What all steps together show, as a claim, shown at the end; what
            stands between double asterisks is bold, as in other captions.
        alts: What each picture shows, for those who cannot see it; by default its
            caption.

    Returns:
        The stepper, which a notebook shows.

    Raises:
        ValueError: If there are fewer than two figures, if the numbers of figures and
            texts differ, if a text is empty, or if figures differ in size.
    """
    alts = captions if alts is None else alts
    _check(figures, label=label, caption=caption, captions=captions, alts=alts)
    width = round(100 * figures[0].get_figwidth())  # as in the page: 100 dots an inch
    frames = []
    for figure, text, alt in zip(figures, captions, alts, strict=True):
        image = base64.b64encode(_png(figure)).decode()
        plt.close(figure)
        first = not frames
        frames.append(
            f'<div class="book-frame"{"" if first else HIDDEN}>'
            f'<img src="data:image/png;base64,{image}" alt="{escape(alt)}" '
            f'width="{width}" style="max-width: 100%; height: auto; border-radius: 6px"'
            f"{handler('onload', READY) if first else ''}>"
            f'<p style="margin: 0.3em 0">{escape(text)}</p></div>'
        )
    pictures = "\n".join(frames)
    return HTML(
        f'<figure class="book-stepper" style="margin: 1em 0; max-width: {width}px">\n'
        f"{_controls(label, len(figures))}\n"
        f'<div aria-live="polite">\n{pictures}\n</div>\n'
        f"<figcaption>{claim(caption)}</figcaption>\n</figure>"
    )


def _controls(label: str, count: int) -> str:
    """The slider over all pictures, hidden until a script shows it."""
    row = slider_row(
        escape(label),
        label,
        low=0,
        value=0,
        high=count - 1,
        text=f"1 of {count}",
        attributes=handler("oninput", MOVED),
    )
    return f'<div class="book-controls"{HIDDEN}>{row}</div>'


def slider_row(
    title: str,
    name: str,
    *,
    low: int,
    value: int,
    high: int,
    text: str,
    attributes: str = "",
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
        attributes: More attributes of the slider, with a space before each, such as
            a :func:`handler`.

    Returns:
        HTML; the text stands in an ``<output>``.
    """
    # Firefox restores a slider's place on reloading, but not the picture: autocomplete.
    slider = (
        f'<input {KEYS} type="range" min="{low}" max="{high}" step="1" '
        f'value="{value}" autocomplete="off" aria-label="{escape(name)}" '
        f'aria-valuetext="{escape(text)}" style="{SLIDER}"{attributes}>'
    )
    return (
        f'<div style="{ROW}; flex-wrap: wrap; margin-bottom: 0.6em">'
        f"<span>{title}: <output>{escape(text)}</output></span>"
        f'<span style="{ROW}; flex: 1 1 15em">'
        f"{_button('←', f'{name}: back', 'stepDown', disabled=value == low)}"
        f"{slider}"
        f"{_button('→', f'{name}: on', 'stepUp', disabled=value == high)}"
        "</span></div>"
    )


def _button(sign: str, name: str, step: str, *, disabled: bool) -> str:
    opacity = 0.4 if disabled else 1
    return (
        f'<button {KEYS} type="button" aria-label="{escape(name)}" '
        f'style="{BUTTON}; opacity: {opacity}" '
        f'aria-disabled="{str(disabled).lower()}"'
        f"{handler('onclick', STEP.format(step=step))}>{sign}</button>"
    )


def claim(caption: str) -> str:
    """A caption as HTML: what stands between double asterisks is bold."""
    return re.sub(r"\*\*(.+?)\*\*", r"<strong>\1</strong>", escape(caption))


def handler(event: str, script: str) -> str:
    """A script as an attribute, with a space before it; write no ``//`` comments."""
    return f' {event}="{escape(" ".join(script.split()))}"'


def _png(figure: Figure) -> bytes:
    """Draw a figure: sharp on any screen, 256 colours, the same bytes every time."""
    full = io.BytesIO()
    figure.savefig(full, format="png", dpi=200, metadata={"Software": None})
    small = io.BytesIO()
    image = Image.open(full).convert("RGB")
    image.quantize(256, dither=Image.Dither.NONE).save(small, "PNG", optimize=True)
    return small.getvalue()


def _check(figures: Sequence[Figure], **texts: str | Sequence[str]) -> None:
    if len(figures) < 2:
        raise ValueError(
            f"{len(figures)} figures given, but stepping needs at least two: "
            f"show a single figure as it is."
        )
    for name, given in texts.items():
        if not isinstance(given, str) and len(given) != len(figures):
            raise ValueError(
                f"{len(figures)} figures, but {len(given)} {name}: give one each."
            )
        if not all([given] if isinstance(given, str) else given):
            raise ValueError(f"an empty text in {name}: say what is to be seen.")
    sizes = {tuple(figure.get_size_inches()) for figure in figures}
    if len(sizes) > 1:
        raise ValueError(
            f"figures of different sizes, {sorted(map(str, sizes))} inches: give all "
            f"the same figsize, or the page jumps at each step."
        )
