"""A slider over pictures drawn beforehand.

It works alike on the published page, in JupyterLab and in Colab, with a mouse, by touch
and from the keyboard. How:

- All script stands in an attribute (``figures``), so nothing has to be loaded.
- The controls are hidden until the script shows them. Where scripts are off, or removed
  (JupyterLab does so in a notebook that it has not run itself), the first picture and
  its text remain, and no dead control.
- ``data-lm-suppress-shortcuts`` makes JupyterLab leave the keys to the control that has
  the focus. It must stand on the control itself: JupyterLab's shortcuts match there.
- Text takes the colour of its surroundings, dark or light.
"""

from collections.abc import Sequence
from html import escape

from IPython.display import HTML
from matplotlib.figure import Figure

from attnbook.course.kit.colours import COLOURS
from attnbook.course.kit.widgets.figures import figure, on_load, png_image

STEPPER = "attnbook.course.kit.widgets.stepper"
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
    alts: Sequence[str],
) -> HTML:
    """Let the reader step through figures with a slider and two buttons.

    The figures are closed, so that the notebook does not show them a second time.

    Args:
        figures: One figure a step, all of one size.
        captions: What to see at each step, shown below its picture.
        label: What the slider moves, such as "Decoder step".
        caption: What all steps together show, as a claim, shown at the end; what
            stands between double asterisks is bold, as in other captions.
        alts: What each picture shows, for those who cannot see it.

    Returns:
        The stepper, which a notebook shows.
    """
    width = round(100 * figures[0].get_figwidth())  # as in the page: 100 dots an inch
    frames = [
        _frame(*step, first=number == 0)
        for number, step in enumerate(zip(figures, captions, alts, strict=True))
    ]
    pictures = "\n".join(frames)
    row = _slider_row(escape(label), len(figures))
    controls = f'<div class="book-controls"{HIDDEN}>{row}</div>'
    inside = f'{controls}\n<div aria-live="polite">\n{pictures}\n</div>'
    return figure(inside, caption, width=width)


def _slider_row(label: str, count: int) -> str:
    """A slider between two buttons that move it by one, what it moves, where it is."""
    # Firefox restores a slider's place on reloading, but not the picture: autocomplete.
    slider = (
        f'<input {KEYS} type="range" min="0" max="{count - 1}" step="1" '
        f'value="0" autocomplete="off" aria-label="{label}" '
        f'aria-valuetext="1 of {count}" style="{SLIDER}">'
    )
    return (
        f'<div style="{ROW}; flex-wrap: wrap; margin-bottom: 0.6em">'
        f"<span>{label}: <output>1 of {count}</output></span>"
        f'<span style="{ROW}; flex: 1 1 15em">'
        f"{_button('←', f'{label}: back', disabled=True)}{slider}"
        f"{_button('→', f'{label}: on', disabled=False)}</span></div>"
    )


def _button(sign: str, name: str, *, disabled: bool) -> str:
    return (
        f'<button {KEYS} type="button" aria-label="{name}" '
        f'style="{BUTTON}; opacity: {0.4 if disabled else 1}" '
        f'aria-disabled="{str(disabled).lower()}">{sign}</button>'
    )


def _frame(drawn: Figure, text: str, alt: str, *, first: bool) -> str:
    """A picture and its text; only the first one is shown, and starts the script."""
    image = png_image(drawn, alt, script=on_load(STEPPER) if first else "")
    return (
        f'<div class="book-frame"{"" if first else HIDDEN}>{image}'
        f'<p style="margin: 0.3em 0">{escape(text)}</p></div>'
    )
