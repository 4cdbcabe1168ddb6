"""Where nbval compares the notebooks: stills of the explorers, CPU, and pictures."""

import base64
import io
import os
import shutil
import tempfile
from pathlib import Path

import numpy as np
from nbval.plugin import IPyNbCell, IPyNbFile
from PIL import Image

os.environ["ATTNBOOK_STILL"] = "1"
os.environ["ATTNBOOK_DEVICE"] = "cpu"

# A profile without history or start-up files of the user's; a pretended
# processor is one.
_profile = tempfile.TemporaryDirectory()
os.environ["IPYTHONDIR"] = _profile.name
if "ATTNBOOK_ROUNDING" in os.environ:
    startup = Path(_profile.name, "profile_default", "startup")
    startup.mkdir(parents=True)
    shutil.copy(Path(__file__).parents[1] / "tests" / "another_processor.py", startup)

FAR = 48
"""How much of 255 a pixel may differ: rounding elsewhere moves edges a little."""
SHARE = 2e-4
"""Share of the pixels that may differ more than that; a moved curve changes more."""


class Picture(str):
    """A PNG in base64, equal to another that looks the same."""

    def __eq__(self, other: object) -> bool:
        return str(self) == other or looks_alike(self, other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = str.__hash__


def looks_alike(one: str, other: str) -> bool:
    """Compare two PNGs, in base64, pixel by pixel."""
    a, b = (
        np.asarray(Image.open(io.BytesIO(base64.b64decode(png))).convert("RGB"), int)
        for png in (one, other)
    )
    return a.shape == b.shape and (abs(a - b).max(-1) > FAR).mean() <= SHARE


def _compare_pictures(self, *args, init=IPyNbFile.__init__, **kwargs) -> None:
    init(self, *args, **kwargs)
    self.skip_compare = tuple(x for x in self.skip_compare if x != "image/png")


def _know_pictures(self, text, sanitize=IPyNbCell.sanitize):
    found = sanitize(self, text)
    is_png = isinstance(found, str) and found.startswith("iVBORw0KGgo")
    return Picture(found) if is_png else found


# nbval itself leaves pictures out, or compares their bytes with a tool of its own.
IPyNbFile.__init__ = _compare_pictures
IPyNbCell.sanitize = _know_pictures
