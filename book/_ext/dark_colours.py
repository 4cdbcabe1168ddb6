"""Colours of figures for a dark page, found from those on white paper.

Paper becomes the page's ground and ink becomes pale; hues stay. Lightness is turned
over in OKLab, where equal steps look equal, and keeps its order: in a heat map zero
lies next to the ground in both themes, and the scale beside it says so.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from PIL import Image, ImageFilter

# Lightness on paper, and in the dark; not a straight line, or lines would be too dim.
ON_PAPER = [0, 0.28, 0.33, 0.53, 0.62, 0.72, 0.80, 0.89, 0.96, 1]
IN_THE_DARK = [0.97, 0.90, 0.87, 0.74, 0.67, 0.58, 0.48, 0.34, 0.245, 0.1822]
# Strong colours are those of lines, and a little lighter.
STRONG, LIFT = 0.10, 1.2

# Björn Ottosson, "A perceptual color space for image processing", 2020.
TO_CONES = np.array(
    [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
)
TO_LAB = np.array(
    [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
)
SIZE = 33  # of the table of colours, along each channel


def oklab(colours: np.ndarray) -> np.ndarray:
    """Return sRGB colours, from 0 to 1, as lightness and two axes of colour."""
    bent = ((colours + 0.055) / 1.055) ** 2.4
    linear = np.where(colours <= 0.04045, colours / 12.92, bent)
    return np.cbrt(linear @ TO_CONES.T) @ TO_LAB.T


def srgb(lab: np.ndarray) -> np.ndarray:
    """Return OKLab colours as sRGB; what no screen can show lies outside 0 to 1."""
    linear = (lab @ np.linalg.inv(TO_LAB).T) ** 3 @ np.linalg.inv(TO_CONES).T
    bent = 1.055 * np.maximum(linear, 0.0031308) ** (1 / 2.4) - 0.055
    return np.where(linear <= 0.0031308, 12.92 * linear, bent)


def darkened(colours: np.ndarray) -> np.ndarray:
    """Return what colours on paper are in the dark.

    Args:
        colours: (…, 3), sRGB from 0 to 1.
    """
    lightness, hue = np.split(oklab(colours), [1], axis=-1)
    strength = np.linalg.norm(hue, axis=-1, keepdims=True)
    turned = np.interp(lightness, ON_PAPER, IN_THE_DARK)
    turned = turned + LIFT * np.maximum(strength - STRONG, 0)
    found = srgb(np.concatenate([turned, hue], axis=-1))
    for kept in np.linspace(
        0.95, 0, 20
    ):  # paler, where no screen shows so strong a one
        outside = np.any((found < -1e-4) | (found > 1 + 1e-4), axis=-1, keepdims=True)
        paler = srgb(np.concatenate([turned, kept * hue], axis=-1))
        found = np.where(outside, paler, found)
    return found.clip(0, 1)


@cache
def table() -> ImageFilter.Color3DLUT:
    """Return the same as a table, which Pillow applies to a picture in no time."""
    steps = np.linspace(0, 1, SIZE)
    blue, green, red = np.meshgrid(steps, steps, steps, indexing="ij")
    found = darkened(np.stack([red, green, blue], axis=-1))
    return ImageFilter.Color3DLUT(SIZE, found.ravel().tolist())


def dark_picture(picture: Image.Image) -> Image.Image:
    """Return a picture for a dark page."""
    return picture.filter(table())


def dark_colour(colour: str) -> str:
    """Return a colour for a dark page, both as hexadecimal digits: ``#FFF``."""
    digits = colour.removeprefix("#")
    full = digits if len(digits) == 6 else "".join(2 * digit for digit in digits)
    found = darkened(np.array([*bytes.fromhex(full)]) / 255)
    return "#" + "".join(f"{round(255 * channel):02X}" for channel in found)
