"""An explorer with a kernel behind it: controls and result as ipywidgets.

Written for ipywidgets 7, which Colab has, and 8 alike. The result stands in two HTML
widgets rather than in an ``Output``: a new result replaces the old one at once, also
when it is an error, and the sentence is a place of its own that screen readers follow.
"""

from collections.abc import Callable, Mapping
from html import escape

import ipywidgets

from attnbook.course.kit.explorers.controls import (
    Control,
    Menu,
    Slider,
    Switch,
    TextBox,
)
from attnbook.course.kit.explorers.views import View, shown
from attnbook.course.kit.widgets.figures import claim, on_load


def live_explorer(
    show: Callable[..., View], controls: Mapping[str, Control], caption: str
) -> ipywidgets.VBox:
    """Controls, the result, and below it the caption, as an ``Explorer`` has them."""
    made = {name: make_widget(control) for name, control in controls.items()}
    said, picture = ipywidgets.HTML(), ipywidgets.HTML()
    said.add_class("book-said")
    script = on_load("attnbook.course.kit.widgets.explorer", controls=len(made))

    def update(_: object = None) -> None:
        settings = {name: widget.value for name, widget in made.items()}
        try:
            text, image, table = shown(show, settings, script)
        except Exception as error:
            said.value, picture.value = _told(error), ""
            if isinstance(error, ValueError):
                return
            raise
        said.value, picture.value = _spaced(text), image + table

    for widget in made.values():
        widget.observe(update, names="value")
    update()
    below = [ipywidgets.HTML(_spaced(f"<p>{claim(caption)}</p>"))] if caption else []
    rows = [played(w) if controls[name].play else w for name, w in made.items()]
    box = ipywidgets.VBox([*rows, said, picture, *below])
    box.add_class("book-explorer")  # by which the script finds its parts
    return box


def make_widget(control: Control) -> ipywidgets.DOMWidget:
    """Turn a control into the widget that shows it.

    A slider reports where it was left and not each place on the way, and a text box
    what was entered: a result may take a second.
    """
    most = "60em" if isinstance(control, TextBox) else "36em"
    wide = ipywidgets.Layout(width="auto", max_width=most)
    style = {"description_width": "12em"}
    common = {"description": control.label, "style": style, "layout": wide}
    match control:
        case Slider(low=low, high=high, start=start, step=step):
            whole = float(step).is_integer()
            make = ipywidgets.IntSlider if whole else ipywidgets.FloatSlider
            ends = {"min": low, "max": high, "step": step}
            form = {} if whole else {"readout_format": ".1f"}
            return make(value=start, **ends, **form, continuous_update=False, **common)
        case Menu(choices=choices, start=start):
            return ipywidgets.Dropdown(options=choices, value=start, **common)
        case TextBox(start=start):
            return ipywidgets.Text(value=start, continuous_update=False, **common)
        case Switch(start=start):
            return ipywidgets.Checkbox(value=start, indent=True, **common)


def played(slider: ipywidgets.DOMWidget) -> ipywidgets.VBox:
    """A slider below buttons that play all its values."""
    ends = {name: getattr(slider, name) for name in ("min", "max", "step", "value")}
    buttons = ipywidgets.Play(**ends, interval=400)  # milliseconds, to draw a picture
    ipywidgets.jslink((buttons, "value"), (slider, "value"))
    return ipywidgets.VBox([buttons, slider])


def _told(error: Exception) -> str:
    """An error as a sentence; it begins with a word, not only with a colour."""
    return _spaced(f"<p><strong>Not possible:</strong> {escape(str(error))}</p>")


def _spaced(text: str) -> str:
    """Text with the space between lines that is usual; in widgets it is twice that."""
    return f'<div style="line-height: 1.5">{text}</div>'
