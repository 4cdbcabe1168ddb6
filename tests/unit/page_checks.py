"""What must hold for a page of the book, as a browser shows it.

Every check takes an open page and returns one line for each place where something does
not hold. `findings` loads a page and runs them; `dead_links` needs no browser.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import lxml.html
from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import (
    Browser,
    ConsoleMessage,
    Error,
    Locator,
    Page,
    Request,
    Response,
)
from playwright.sync_api import TimeoutError as TimeLimit

from browser import PATIENCE

DESKTOP = {"width": 1366, "height": 900}
PHONE = {"width": 390, "height": 844}
ON_PHONE = {"viewport": PHONE, "has_touch": True, "is_mobile": True}
"""Options for :func:`opened`, as for a new context of Playwright's."""


@contextmanager
def opened(
    browser: Browser, site: str, path: str, **options: Any
) -> Iterator[tuple[Page, list[str]]]:
    """Open a page in the light, at desktop size if the options name no other.

    Yield it with a list of what went wrong in loading it: requests that leave the site,
    missing files, errors in the console. The list grows as the page is used.
    """
    found: list[str] = []
    usual = {"viewport": DESKTOP, "color_scheme": "light"}
    context = browser.new_context(**usual | options)
    page = context.new_page()

    def is_outside(url: str) -> bool:
        return not url.startswith((site, "data:", "blob:"))

    # Were it stopped by a route, every request of every page would wait for us.
    def on_request(request: Request) -> None:
        if is_outside(request.url):
            found.append(f"outside request: {request.url}")

    def on_response(response: Response) -> None:
        if response.status >= 400:
            found.append(f"missing file: {response.url} ({response.status})")

    def on_failure(request: Request) -> None:
        # What was still being loaded when the page was left is not missing, nor are
        # scripts where there is to be no JavaScript.
        wanted = request.failure not in ("net::ERR_ABORTED", "csp")
        if wanted and not is_outside(request.url):
            found.append(f"missing file: {request.url} ({request.failure})")

    def on_console(message: ConsoleMessage) -> None:
        # The browser repeats there what the three above have said.
        if message.type == "error" and "Failed to load resource" not in message.text:
            found.append(f"console error: {message.text}")

    def on_error(error: Error) -> None:
        # Firefox says this of formulas of which it has half: check_maths counts.
        if "Incorrect number of children for <m" not in error.message:
            found.append(f"script error: {error.message}")

    page.on("request", on_request)
    page.on("response", on_response)
    page.on("requestfailed", on_failure)
    page.on("console", on_console)
    page.on("pageerror", on_error)
    try:
        page.goto(f"{site}/{path}")
        yield page, found
    finally:
        context.close()


def unfold(page: Page) -> None:
    """Open everything that is folded, so that the checks see it."""
    page.evaluate(
        """() => {
            document.querySelectorAll("details").forEach(e => { e.open = true; });
            document.querySelectorAll(".toggle-hidden").forEach(
                e => e.classList.remove("toggle-hidden"));
        }"""
    )


def check_maths(page: Page) -> list[str]:
    """Every formula was typeset."""
    raw = page.evaluate(
        """() => [...document.querySelectorAll(".math")]
            .filter(e => !e.querySelector("math"))
            .map(e => e.textContent.trim().slice(0, 60))"""
    )
    malformed = page.evaluate(
        """() => [...document.querySelectorAll("msub, msup, msubsup, mfrac, mover")]
            .filter(e => e.children.length !== 2 + e.matches("msubsup"))
            .map(e => e.textContent)"""
    )
    return [
        *(f"formula not typeset: {text}" for text in raw),
        *(f"formula with too many or too few parts: {text}" for text in malformed),
    ]


def check_pictures(page: Page) -> list[str]:
    """Every picture of the text is there, and says in words what it shows."""
    pictures = page.evaluate(
        """() => Promise.all([...document.querySelectorAll("main img")].map(async e => {
            e.loading = "eager"; // also what the other theme shows, or a later step
            await e.decode().catch(() => {});
            return {
                name: (e.getAttribute("src") ?? "").slice(-60),
                alt: (e.getAttribute("alt") ?? "").trim(),
                loaded: e.complete && e.naturalWidth > 0,
            };
        }))"""
    )
    return [
        f"picture {problem}: …{picture['name']}"
        for picture in pictures
        for problem, bad in (
            ("without alt text", not picture["alt"]),
            ("not shown", not picture["loaded"]),
        )
        if bad
    ]


MARKED = """part => {
    const grounds = new Map();
    const ground = (element) => {  // all that is painted behind it
        if (!element) return "";
        if (!grounds.has(element)) {
            const look = getComputedStyle(element);
            const own = [look.backgroundColor, look.backgroundImage, look.opacity,
                look.filter].join();
            const painted = own !== "rgba(0, 0, 0, 0),none,1,none" ? own : "";
            grounds.set(element, ground(element.parentElement) + painted);
        }
        return grounds.get(element);
    };
    const seen = new Map();
    for (const element of document.querySelectorAll(`:is(${part}, ${part} *)`)) {
        const is_text = ({nodeType, data}) => nodeType === 3 && data.trim();
        const has_text = [...element.childNodes].some(is_text)
            || element.matches("input, select, textarea");
        if (!has_text || !element.checkVisibility()) continue;
        const look = getComputedStyle(element);
        const kind = [look.color, look.fontSize, look.fontWeight, look.textShadow,
            look.textDecorationLine, ground(element)].join();
        seen.set(kind, (seen.get(kind) ?? 0) + 1);
        element.toggleAttribute("data-marked", seen.get(kind) <= 2);
    }
}"""
"""Marks two texts of each look: to compare all colours is most of the test's time."""

VIOLATIONS = """async part => {
    const links = "a:is([data-marked], :has([data-marked]))";
    axe.configure({rules: [
        {id: "color-contrast", selector: "[data-marked]"},
        {id: "link-in-text-block", selector: links},
    ]});
    // Without preload axe asks for no style sheets, which it would look for in vain.
    const options = {resultTypes: ["violations"], preload: false};
    return (await axe.run(part, options)).violations;
}"""


def check_accessible(page: Page, theme: str, part: str = "main") -> list[str]:
    """The automatic accessibility test finds nothing in the main part, or another."""
    page.emulate_media(color_scheme=theme, reduced_motion="reduce")
    page.evaluate(AXE_SCRIPT)
    page.evaluate(MARKED, part)
    return [
        f"accessibility, {theme}: {violation['id']} at {node['target'][0]}: "
        f"{node['failureSummary'].splitlines()[-1].strip()}"
        for violation in page.evaluate(VIOLATIONS, part)
        for node in violation["nodes"]
    ]


def check_width(page: Page) -> list[str]:
    """The page does not move sideways."""
    limit = page.viewport_size["width"]
    try:  # the side bars may still be sliding away
        fits = "limit => document.documentElement.scrollWidth <= limit"
        page.wait_for_function(fits, arg=limit, timeout=PATIENCE)
        return []
    except TimeLimit:
        width = page.evaluate("document.documentElement.scrollWidth")
    culprit = page.evaluate(
        """limit => {
            const scrolls = e => e && (getComputedStyle(e).overflowX !== "visible"
                || scrolls(e.parentElement));
            const wide = [...document.querySelectorAll("main article *")].filter(e =>
                e.getBoundingClientRect().right > limit && !scrolls(e.parentElement));
            return wide.at(-1)?.outerHTML.slice(0, 80) ?? "an unknown element";
        }""",
        limit,
    )
    return [f"{width} pixels wide on a screen of {limit}: {culprit}"]


def check_targets(part: Locator) -> list[str]:
    """Everything to be pressed is 24 pixels high, with its label: WCAG 2.2, 2.5.8."""
    small = part.evaluate(
        """part => [...part.querySelectorAll("button, select, input, summary")]
            .map(e => [
                e.outerHTML.slice(0, 60),
                (e.closest("label") ?? e).getBoundingClientRect().height,
            ])
            .filter(([, height]) => height && height < 24)"""
    )
    return [f"{height} pixels high: {tag}" for tag, height in small]


def check_sliders(page: Page) -> list[str]:
    """Every slider changes its picture, moved by the keyboard and by the mouse.

    Those of live models and of explorers have tests of their own.
    """
    found = []
    sliders = page.locator(
        "main input[type=range]:not(.live-model *, [data-explorer] *)"
    )
    for number, slider in enumerate(sliders.all(), 1):
        if not slider.is_visible():
            found.append(f"slider {number} is not to be seen")
            continue
        slider.scroll_into_view_if_needed()
        start = _pictures_beside(slider)
        at_end = slider.evaluate("e => e.value === e.max")
        slider.press("ArrowLeft" if at_end else "ArrowRight")
        stepped = _pictures_beside(slider)
        if stepped == start:
            found.append(f"slider {number}: an arrow key does not change the picture")
        box = slider.bounding_box()
        slider.click(position={"x": 2, "y": box["height"] / 2})
        if _pictures_beside(slider) == stepped:
            found.append(f"slider {number}: the mouse does not change the picture")
    return found


def _pictures_beside(slider: Locator) -> list[str]:
    """Return what the visible pictures of a slider's cell show."""
    return slider.evaluate(
        """slider => [...(slider.closest(".cell_output") ?? document)
            .querySelectorAll("img, svg, canvas, table")]
            .filter(e => e.getClientRects().length)
            .map(e => e.src ?? e.outerHTML)"""
    )


def check_predict(page: Page) -> list[str]:
    """Results are covered until the predict boxes are answered, by the keyboard."""
    results = page.locator(".tag_reveal .cell_output")
    visible = "results => results.filter(e => e.checkVisibility()).length"
    before = results.evaluate_all(visible)
    for box in page.locator("div.predict").all():
        box.locator("button.predict-answer").first.press("Enter")
    covered = results.count() - results.evaluate_all(visible)
    return [
        *[f"{before} results are shown before an answer is chosen"] * bool(before),
        *[f"{covered} results stay covered"] * bool(covered),
    ]


def check_controls(page: Page) -> list[str]:
    """Every kind of button does something when it is pressed."""
    page.evaluate(
        """() => {
            const watched = {subtree: true, childList: true, attributes: true};
            new MutationObserver(() => { window.changes += 1; })
                .observe(document, watched);
            window.print = () => { window.changes += 1; };
            window.confirm = () => { window.changes += 1; };
        }"""
    )
    found, seen = [], set()
    for button in page.query_selector_all("button"):  # what goes is left out
        kind = button.evaluate("e => e.className + (e.title || e.ariaLabel || '')")
        if kind in seen or not (button.is_visible() and button.is_enabled()):
            continue
        if button.get_attribute("aria-disabled") == "true":
            continue
        seen.add(kind)
        page.evaluate("() => { window.changes = 0; }")
        button.click()
        try:
            page.wait_for_function("window.changes", timeout=PATIENCE)
        except TimeLimit:
            found.append(f"button does nothing: {kind.strip()!r}")
        page.keyboard.press("Escape")
    return found


def findings(
    browser: Browser, site: str, path: str, themes: Sequence[str] = ("light", "dark")
) -> list[str]:
    """Load a page once and check it on the desktop, and on a phone.

    Everything must be there, and what moves do so; in the end all folds are open.

    Args:
        browser: A running browser.
        site: The address of the book.
        path: Path of the page in it.
        themes: Those in which its accessibility is tested, "dark" on a phone.
    """
    with opened(browser, site, path) as (page, found):
        if not page.locator("main").count():
            return [*found, "the page has no main part"]
        found += check_predict(page)
        unfold(page)
        found += check_maths(page) + check_pictures(page) + check_sliders(page)
        found += check_width(page)
        page.set_viewport_size(PHONE)
        found += check_width(page)
        for theme in themes:
            page.set_viewport_size(PHONE if theme == "dark" else DESKTOP)
            found += check_accessible(page, theme)
        page.wait_for_load_state("networkidle")  # what was asked for late counts, too
        return found


# Links to "#", but those of the theme to the top of the open page: in the contents and
# in the logo.
OWN_TOP = """//a[@href="#"]
    [not(contains(@class, "current") or contains(@class, "navbar-brand"))]"""


def dead_links(html: Path) -> list[str]:
    """Return one line for each link of a site that leads to no file or no place in it.

    Links to other sites are left out: they need a network, and are looked at once a
    week.

    Args:
        html: The folder of the site.
    """
    paths = [p for p in sorted(html.rglob("*.html")) if "_static" not in p.parts]
    places, links = {}, {}
    for path in paths:
        page = lxml.html.parse(path)
        places[path] = {*page.xpath("//@id | //@name")}
        links[path] = {*page.xpath("//@href | //@src")}
        if not page.xpath(OWN_TOP):
            links[path].discard("#")
    return [
        f"{path.relative_to(html)}: the link {link!r} {reason}"
        for path in paths
        for link in sorted(links[path])
        if (reason := _reason_dead(link, path, places))
    ]


def _reason_dead(link: str, page: Path, places: dict[Path, set[str]]) -> str | None:
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        return None  # another site, mail, data
    if link in ("", "#"):
        return "leads nowhere"
    path = (page.parent / unquote(parts.path)).resolve() if parts.path else page
    if not path.is_file():
        return "leads to no file"
    place = unquote(parts.fragment)
    if place and path in places and place not in places[path]:
        return "leads to no place in the page"
    return None
