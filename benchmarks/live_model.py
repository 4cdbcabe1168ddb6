"""How long does a live model take for a sentence in the reader's browser?

    python benchmarks/live_model.py                     # six times slower than here
    python benchmarks/live_model.py --slower 1 --each 20

For each model the median and the slowest of some held-out sentences of one to four
clauses, in milliseconds, each the best of three. Chromium slows the page's processor
down as told, which stands for a phone. The aim is 100 ms for the median, below which an
answer seems immediate.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path

from playwright.sync_api import Page

from attnbook.core.vocabulary import EOS
from attnbook.toy.data import SOURCE, held_out_pairs
from attnbook.toy.models import TOY_MODELS

ROOT = Path(__file__).resolve().parents[1]
LIVE = ROOT / "book" / "_static" / "live"
sys.path.insert(0, str(ROOT / "scripts"))

from browser import NO_BROWSER, open_browser  # noqa: E402

FILES = (
    "numbers",
    "recurrent",
    "transformer",
    *(f"data/{name}" for name in TOY_MODELS),
)
CLAUSES = (1, 2, 3, 4)
TIME = """([name, sources]) => sources.map(source => Math.min(...[1, 2, 3].map(() => {
    const start = performance.now();
    live.translate(live.models[name], source);
    return performance.now() - start;
})))"""


def draw_sources(each: int) -> list[list[int]]:
    """Ids of held-out sentences, so many of each number of clauses."""
    pairs = [pair for clauses in CLAUSES for pair in held_out_pairs(clauses, each)]
    return [[*SOURCE.encode(pair.source), EOS] for pair in pairs]


def milliseconds(page: Page, sources: Sequence[list[int]]) -> dict[str, list[float]]:
    """Time every model on every sentence, in a page that has nothing but the engine."""
    for name in FILES:
        page.add_script_tag(path=LIVE / f"{name}.js")
    return {name: page.evaluate(TIME, [name, sources]) for name in TOY_MODELS}


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a line for each model."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--slower", type=float, default=6.0, help="than this processor")
    parser.add_argument("--each", type=int, default=5, help="sentences of a length")
    chosen = parser.parse_args(arguments)
    sources = draw_sources(chosen.each)
    with open_browser() as browser:
        if browser is None:
            raise SystemExit(NO_BROWSER)
        page = browser.new_page()
        page.context.new_cdp_session(page).send(
            "Emulation.setCPUThrottlingRate", {"rate": chosen.slower}
        )
        times = milliseconds(page, sources)
    print(f"ms a sentence, {len(sources)} sentences, {chosen.slower:g} times slower")
    for name, found in times.items():
        middle, longest = statistics.median(found), max(found)
        print(f"{name:16} median {middle:6.1f}   slowest {longest:6.1f}")


if __name__ == "__main__":
    main()
