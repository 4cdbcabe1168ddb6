"""Film the front page's translator for README.md, after `make book`.

python scripts/readme_picture.py      writes docs/translator.gif
"""

from __future__ import annotations

import io
import sys

from PIL import Image
from playwright.sync_api import Page

from browser import NO_BROWSER, open_browser
from build_book import HTML, ROOT

PICTURE = ROOT / "docs" / "translator.gif"
SIZE = {"width": 560, "height": 1200}
STEP, REST = 600, 4000  # ms
COLOURS = 48
# What stored.js shows after so many tokens.
SHOW = """at => document.querySelectorAll("[data-step]").forEach((part) => {
    part.classList.toggle("tr-later", part.dataset.step >= at);
    part.classList.toggle("tr-now", part.dataset.step === String(at - 1));
})"""


def frames(page: Page) -> list[Image.Image]:
    """Take a picture after each token, and one of the whole."""
    figure = page.locator("figure.tr-light")
    top = figure.locator(".tr-said").bounding_box()
    bottom = figure.locator(".live-map").bounding_box()
    height = bottom["y"] + bottom["height"] - top["y"]
    clip = {"x": top["x"] - 16, "y": top["y"] - 12, "width": 480, "height": height + 14}
    tokens = figure.locator(".live-target li").count()
    found = []
    for at in range(tokens + 1):
        page.evaluate(SHOW, at)
        shot = page.screenshot(clip=clip)
        found.append(Image.open(io.BytesIO(shot)).convert("RGB"))
    return found


def main() -> None:
    """Write the film."""
    with open_browser() as browser:
        if browser is None:
            sys.exit(NO_BROWSER)
        page = browser.new_page(
            viewport=SIZE, color_scheme="light", reduced_motion="reduce"
        )
        page.goto(f"{HTML.as_uri()}/book/intro.html")
        page.evaluate("document.fonts.ready")
        pictures = frames(page)
    palette = pictures[-1].quantize(COLOURS)
    first, *others = [picture.quantize(palette=palette) for picture in pictures]
    PICTURE.parent.mkdir(exist_ok=True)
    times = [STEP] * len(others) + [REST]
    first.save(PICTURE, save_all=True, append_images=others, duration=times, loop=0)
    print(f"{PICTURE.relative_to(ROOT)}: {PICTURE.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
