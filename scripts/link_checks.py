"""Dead links and missing files in the built pages, found without a browser.

Links to other sites are left out: they need a network, and are looked at once a week.
"""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

# In the contents and in the logo, the theme links the open page to its own top.
OWN_TOP = {"current", "navbar-brand"}


class _Links(HTMLParser):
    """What a page links to and loads, and the places in it that can be linked to."""

    def __init__(self) -> None:
        super().__init__()
        self.targets: set[str] = set()
        self.places: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what one tag links to, and its name."""
        values = dict(attrs)
        self.places |= {values[name] for name in ("id", "name") if name in values}
        targets = {values[name] for name in ("href", "src") if name in values}
        if tag == "link" or OWN_TOP & set((values.get("class") or "").split()):
            targets.discard("#")
        self.targets |= targets - {None}


def _read(path: Path) -> _Links:
    links = _Links()
    links.feed(path.read_text(encoding="utf-8"))
    return links


def dead_links(html: Path) -> list[str]:
    """Return one line for each link of a site that leads to no file or no place in it.

    Args:
        html: The folder of the site.
    """
    paths = [
        path for path in sorted(html.rglob("*.html")) if "_static" not in path.parts
    ]
    pages = {path: _read(path) for path in paths}
    found = []
    for page, links in pages.items():
        for target in sorted(links.targets):
            reason = _reason_dead(target, page, pages)
            if reason:
                found.append(f"{page.relative_to(html)}: the link {target!r} {reason}")
    return found


def _reason_dead(target: str, page: Path, pages: dict[Path, _Links]) -> str | None:
    parts = urlsplit(target)
    if parts.scheme or parts.netloc:
        return None  # another site, mail, data
    if target in ("", "#"):
        return "leads nowhere"
    path = (page.parent / unquote(parts.path)).resolve() if parts.path else page
    if not path.is_file():
        return "leads to no file"
    known = pages.get(path)
    if parts.fragment and known and unquote(parts.fragment) not in known.places:
        return "leads to no place in the page"
    return None
