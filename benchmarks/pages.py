"""How heavy are the built pages, when do they answer, how fast do models run there?

    python benchmarks/pages.py                          # some pages, and the models
    python benchmarks/pages.py book/ch03_luong index    # these pages

For each page, on a desktop and on a slow phone (390 pixels, a processor four times
slower, 1.6 Mb/s, 150 ms): kilobytes of all requests, compressed, down to the end of the
page, without the weights of models; seconds until covers are in place, predict boxes
answer, and all has loaded; the shift of the layout while loading, and with a walk to
the end of the page. Then, in milliseconds: translations by the toy models and by the
large one, each the best of three. The book is read from `_build/html`: `make book`
first.
"""

from __future__ import annotations

import functools
import gzip
import http.server
import statistics
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, Page

from attnbook.core.vocabulary import EOS
from attnbook.toy.data import SOURCE, held_out_pairs
from attnbook.toy.models import TOY_MODELS

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "scripts"))

from browser import NO_BROWSER, open_browser  # noqa: E402
from build_book import HTML  # noqa: E402

PAGES = [
    "index",
    "book/intro",
    "book/ch01_rnn_seq2seq",
    "book/ch02_bahdanau",
    "book/ch07_positions",
    "book/ch09_transformer",
]
PLAIN = (".html", ".css", ".js", ".svg", ".json")
WEIGHTS = "/live/data/"
SLOWER = 4  # the processor of a phone, and that on which models run
PHONE = {"latency": 150, "downloadThroughput": 200_000, "uploadThroughput": 90_000}
WATCH = """(() => {
    window.seen = {shift: 0};
    const note = (name) => { window.seen[name] ??= performance.now() / 1000; };
    new PerformanceObserver((list) => list.getEntries().forEach((entry) => {
        if (!entry.hadRecentInput) window.seen.shift += entry.value;
    })).observe({type: "layout-shift", buffered: true});
    const look = () => {
        const boxes = [...document.querySelectorAll("div.predict")];
        const known = document.readyState !== "loading";
        if (known) note("covered");
        if (known && boxes.every((e) => e.matches(".predict-live"))) note("answers");
        if (!window.seen.answers) requestAnimationFrame(look);
    };
    requestAnimationFrame(look);
    addEventListener("load", () => note("loaded"));
})()"""
WALK = """async () => {
    for (let y = 0; y < document.documentElement.scrollHeight; y += 600) {
        scrollTo(0, y);
        await new Promise((done) => setTimeout(done, 60));
    }
}"""


class Compressing(http.server.SimpleHTTPRequestHandler):
    """Serves files as a host of static pages does."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """Send a file, compressed if it is text."""
        path = Path(self.translate_path(self.path))
        if path.suffix not in PLAIN or not path.is_file():
            super().do_GET()
            return
        sent = compressed(path)
        self.send_response(200)
        self.send_header("Content-Type", self.guess_type(str(path)))
        self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(sent)))
        self.end_headers()
        self.wfile.write(sent)

    def log_message(self, *arguments: object) -> None:
        """Say nothing."""


@functools.cache
def compressed(path: Path) -> bytes:
    """Return what a file has, compressed."""
    return gzip.compress(path.read_bytes(), 6)


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Serve a folder and yield its address."""
    handler = functools.partial(Compressing, directory=folder)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


def load(browser: Browser, address: str, *, phone: bool) -> dict[str, float]:
    """Load a page as a first-time visitor, and return what was measured."""
    size = {"width": 390, "height": 844} if phone else {"width": 1440, "height": 900}
    context = browser.new_context(viewport=size, device_scale_factor=2 if phone else 1)
    page = context.new_page()
    page.add_init_script(WATCH)
    devtools = context.new_cdp_session(page)
    devtools.send("Network.enable")
    urls, sizes = {}, {}
    devtools.on(
        "Network.requestWillBeSent",
        lambda event: urls.__setitem__(event["requestId"], event["request"]["url"]),
    )
    devtools.on(
        "Network.loadingFinished",
        lambda event: sizes.__setitem__(event["requestId"], event["encodedDataLength"]),
    )
    if phone:
        devtools.send("Network.emulateNetworkConditions", {"offline": False, **PHONE})
        devtools.send("Emulation.setCPUThrottlingRate", {"rate": SLOWER})
    page.goto(address, wait_until="load")
    page.wait_for_function("seen.answers && seen.loaded")
    page.wait_for_load_state("networkidle")
    shift = page.evaluate("seen.shift")
    page.evaluate(WALK)
    page.wait_for_load_state("networkidle")
    seen = page.evaluate("seen")
    context.close()
    bytes_sent = sum(n for key, n in sizes.items() if WEIGHTS not in urls[key])
    return seen | {"kB": bytes_sent / 1000, "shift": shift, "walk": seen["shift"]}


CAPTION = "A man in a red shirt is sitting on a bench near water."  # 12 words
# Milliseconds of each call of a function of the sources, the best of three.
TIME = """(call) => (sources) => sources.map((source) => {
    const times = [1, 2, 3].map(() => {
        const start = performance.now();
        call(source);
        return performance.now() - start;
    });
    return Math.min(...times);
})"""
CALLS = {
    **{
        name: f"(ids) => live.translate(live.models.{name}, ids)" for name in TOY_MODELS
    },
    "greedy": "(text) => live.atOnce(attnbook.translator.work(text))",
    "beam": """(text) => live.atOnce(attnbook.translator.work(
        text, {method: "beam", width: 5, alpha: 1.4}))""",
}


def translation_times(page: Page) -> Iterator[tuple[str, list[float]]]:
    """Time toy sentences of one to four clauses, and a caption of 12 words."""
    pairs = [pair for clauses in (1, 2, 3, 4) for pair in held_out_pairs(clauses, 5)]
    toy = [[*SOURCE.encode(pair.source), EOS] for pair in pairs]
    for name in ("recurrent", *(f"data/{model}" for model in TOY_MODELS)):
        page.add_script_tag(path=HTML / "_static" / "live" / f"{name}.js")
    page.evaluate("attnbook.translator.load()")
    for name, call in CALLS.items():
        sources = toy if name in TOY_MODELS else [CAPTION]
        yield name, page.evaluate(f"({TIME})({call})", sources)


def main() -> None:
    """Print a line for each measurement."""
    chosen = sys.argv[1:]
    print(f"{'':34}    kB  covered answers   loaded  shift   walk")
    with served(HTML) as site, open_browser() as browser:
        if browser is None:
            raise SystemExit(NO_BROWSER)
        for name in chosen or PAGES:
            for phone in (False, True):
                found = load(browser, f"{site}/{name}.html", phone=phone)
                print(
                    f"{name:26}{'phone' if phone else 'desktop':8}{found['kB']:6.0f}"
                    f"{found['covered']:8.1f} s{found['answers']:6.1f} s"
                    f"{found['loaded']:7.1f} s{found['shift']:7.2f}"
                    f"{found['walk']:7.2f}",
                    flush=True,
                )
        if chosen:
            return
        print(f"ms a sentence, {SLOWER} times slower")
        page = browser.new_page()
        devtools = page.context.new_cdp_session(page)
        devtools.send("Emulation.setCPUThrottlingRate", {"rate": SLOWER})
        page.goto((HTML / "book" / "intro.html").as_uri())
        for name, times in translation_times(page):
            middle, longest = statistics.median(times), max(times)
            print(f"{name:16} median {middle:6.1f}   slowest {longest:6.1f}")


if __name__ == "__main__":
    main()
