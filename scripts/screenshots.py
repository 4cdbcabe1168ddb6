"""Shoot every page of the built book, to be looked at before it is published.

    python scripts/screenshots.py                 all pages
    python scripts/screenshots.py ch01 intro      pages whose names begin so

The pictures lie in ``_build/screenshots``: desktop, dark and phone, each page cut into
tiles that fit a screen.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from playwright.sync_api import Page

from browser import NO_BROWSER, open_browser

ROOT = Path(__file__).resolve().parents[1]
HTML = ROOT / "_build" / "html"
TARGET = ROOT / "_build" / "screenshots"
TILE = 1500  # pixels high at most
VIEWS = {
    "desktop": {"viewport": {"width": 1366, "height": 900}},
    "dark": {"viewport": {"width": 1366, "height": 900}, "color_scheme": "dark"},
    "phone": {
        "viewport": {"width": 390, "height": 844},
        "device_scale_factor": 2,
        "is_mobile": True,
        "has_touch": True,
    },
}


def shoot(page: Page, stem: str) -> None:
    """Save one page as tiles ``stem-1.png``, ``stem-2.png`` and so on."""
    page.wait_for_load_state("networkidle")
    page.evaluate("window.MathJax?.startup?.promise")
    height = page.evaluate("document.documentElement.scrollHeight")
    width = page.viewport_size["width"]
    page.set_viewport_size({"width": width, "height": height})
    for number, top in enumerate(range(0, height, TILE), 1):
        clip = {"x": 0, "y": top, "width": width, "height": min(TILE, height - top)}
        page.screenshot(path=TARGET / f"{stem}-{number}.png", clip=clip)


def main(names: list[str]) -> None:
    """Shoot the pages whose names begin with one of `names`; none means all."""
    pages = sorted((HTML / "book").rglob("*.html"))
    chosen = [page for page in pages if page.stem.startswith(tuple(names or [""]))]
    if not chosen:
        raise SystemExit(f"no such page below {HTML}: build the book first (make book)")
    shutil.rmtree(TARGET, ignore_errors=True)
    TARGET.mkdir(parents=True)
    with open_browser() as browser:
        if browser is None:
            raise SystemExit(NO_BROWSER)
        for view, options in VIEWS.items():
            context = browser.new_context(**options)
            for path in chosen:
                page = context.new_page()
                page.goto(path.as_uri())
                name = "-".join(path.relative_to(HTML / "book").with_suffix("").parts)
                shoot(page, f"{name}-{view}")
                page.close()
            context.close()
    print(f"{len(chosen)} pages in {TARGET}")


if __name__ == "__main__":
    main(sys.argv[1:])
