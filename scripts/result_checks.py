"""What must hold for the tables and the folds of a page, as a browser shows it.

Every check takes an open page and returns one line for each place where something does
not hold; `page_checks` runs them.
"""

from __future__ import annotations

from playwright.sync_api import Page

TOLERANCE = 1.0  # pixels


def check_tables(page: Page) -> list[str]:
    """Every table of results has a caption and headings, and its numbers align."""
    tables = page.evaluate(
        """() => [...document.querySelectorAll(".book-table")].map(box => {
            const caption = box.closest("figure")?.querySelector("figcaption");
            const rows = [...box.querySelectorAll("tbody tr")];
            const edges = {};  // of numbers, by column
            for (const row of rows) [...row.cells].forEach((cell, column) => {
                const text = cell.firstChild;
                if (cell.style.textAlign !== "right" || !text?.data?.trim()) return;
                const range = document.createRange();
                range.setStart(text, 0);
                range.setEnd(text, text.data.trimEnd().length);
                (edges[column] ??= []).push(range.getBoundingClientRect().right);
            });
            return {
                name: (caption?.textContent.trim() || box.innerText).slice(0, 40),
                captioned: Boolean(caption?.textContent.trim()),
                headed: rows.every(row => row.cells[0]?.matches("th[scope]"))
                    && Boolean(box.querySelector("thead th[scope=col]")),
                edges: Object.values(edges),
            };
        })"""
    )
    return [
        f"table {table['name']!r} {problem}"
        for table in tables
        for problem, bad in (
            ("has no caption", not table["captioned"]),
            ("lacks headings of rows or columns", not table["headed"]),
            (
                "has numbers that do not align",
                any(max(e) - min(e) > TOLERANCE for e in table["edges"]),
            ),
        )
        if bad
    ]


def check_folds(page: Page) -> list[str]:
    """Every fold holds something, opens by a click, is printed, and has a heading.

    A fold in a figure needs no heading.
    """
    found = []
    for fold in page.locator("details.book-fold").all():
        fold.evaluate("fold => { fold.open = false; }")
        summary, body = fold.locator("> summary"), fold.locator("> .book-fold-body")
        name = summary.text_content().strip()[:40]
        in_figure = fold.evaluate("fold => Boolean(fold.closest('figure'))")
        if not in_figure and not summary.locator(":is(h3, h4, h5, h6)").count():
            found.append(f"fold {name!r} has no heading")
        if not body.count() or not body.text_content().strip():
            found.append(f"fold {name!r} holds nothing")
            continue
        if body.is_visible():
            found.append(f"fold {name!r} does not close")
        page.emulate_media(media="print")
        if not body.is_visible():
            found.append(f"fold {name!r} is not printed")
        page.emulate_media(media="screen")
        summary.click(position={"x": 3, "y": 3})
        if not body.is_visible():
            found.append(f"fold {name!r} does not open")
    return found
