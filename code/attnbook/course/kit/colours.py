r"""Five colours with a meaning, and greys for all that has none.

Each of the five ideas of the course has one colour, in every plot, diagram and formula.
They are Okabe and Ito's (2008), which people with any colour vision can tell apart.
``COLOURS`` are for lines and areas. As text four of them are too pale on white, so
text and formulas take ``TEXT_COLOURS``, darker but the same hue; in a formula write

=======  =======================  =======  =======================
source   ``\textcolor{#0072B2}``  query    ``\textcolor{#A8487E}``
target   ``\textcolor{#B84A00}``  key      ``\textcolor{#8A5F00}``
value    ``\textcolor{#00795A}``
=======  =======================  =======  =======================
"""

from matplotlib.colors import LinearSegmentedColormap, to_hex, to_rgb

COLOURS = {
    "query": "#CC79A7",
    "key": "#E69F00",
    "value": "#009E73",
    "source": "#0072B2",
    "target": "#D55E00",
}
TEXT_COLOURS = {
    "query": "#A8487E",
    "key": "#8A5F00",
    "value": "#00795A",
    "source": "#0072B2",
    "target": "#B84A00",
}
SKY = "#56B4E9"
"""Okabe and Ito's sixth, for one more line."""

INK = "#24292F"
"""Text and axes, not quite black."""
DARK_GREY = "#6E7781"
"""Lines without a role, and text that is no more than a remark."""
GREY = "#8C959F"
"""Lines beside the subject, such as what guessing reaches."""
PALE_GREY = "#B8BEC6"
"""The same where they are thick, or many."""
SHADE = "#E3E6EA"
"""Areas behind what is drawn."""

WEIGHTS = LinearSegmentedColormap.from_list(
    "weights", ["#FFFFFF", "#C6DFF0", "#6BAED6", "#0072B2", "#00375C"]
)
"""For attention weights; 0 is white, more is darker, so it reads in grey as well."""


def text_colour(colour: str) -> str:
    """A shade dark enough for text on white: the one that ``TEXT_COLOURS`` names.

    Another colour is darkened until its contrast is 4.5, the least that WCAG allows.
    """
    for role, named in COLOURS.items():
        if to_hex(colour) == to_hex(named):
            return TEXT_COLOURS[role]
    shade = to_rgb(colour)
    while contrast(shade) < 4.5:
        shade = tuple(0.97 * channel for channel in shade)
    return to_hex(shade).upper()


def contrast(colour: str | tuple[float, float, float]) -> float:
    """Contrast of a colour with white, from 1 to 21 (WCAG 2.2)."""
    red, green, blue = (
        c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4
        for c in to_rgb(colour)
    )
    return 1.05 / (0.2126 * red + 0.7152 * green + 0.0722 * blue + 0.05)


def tint(colour: str) -> str:
    """A colour thinned with much white."""
    channels = [int(colour[i : i + 2], 16) for i in (1, 3, 5)]
    return "#" + "".join(f"{round(255 - 0.13 * (255 - c)):02X}" for c in channels)
