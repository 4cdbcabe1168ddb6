"""How heavy are the book's pages, and when can a reader use them?

    python benchmarks/page_loads.py                          # a few chapters
    python benchmarks/page_loads.py book/ch03_luong index

For each page, on a desktop and on a slow phone (390 pixels, a processor four times
slower, 1.6 Mb/s, 150 ms): kilobytes of all requests, compressed, down to the end of the
page; seconds until covers are in place, predict boxes answer, and all has loaded; the
shift of the layout while loading, and with a walk to the end of the page.
Weights of models are not counted. The book is read from `_build/html`.
"""

from __future__ import annotations

import argparse
import functools
import gzip
import http.server
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "scripts"))

from browser import NO_BROWSER, open_browser  # noqa: E402

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
        devtools.send("Emulation.setCPUThrottlingRate", {"rate": 4})
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


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a line for each page and machine."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("pages", nargs="*", default=PAGES, help="without .html")
    parser.add_argument("--html", type=Path, default=ROOT / "_build" / "html")
    chosen = parser.parse_args(arguments)
    print(f"{'':34}    kB  covered answers   loaded  shift   walk")
    with served(chosen.html) as site, open_browser() as browser:
        if browser is None:
            raise SystemExit(NO_BROWSER)
        for name in chosen.pages:
            for phone in (False, True):
                found = load(browser, f"{site}/{name}.html", phone=phone)
                print(
                    f"{name:26}{'phone' if phone else 'desktop':8}{found['kB']:6.0f}"
                    f"{found['covered']:8.1f} s{found['answers']:6.1f} s"
                    f"{found['loaded']:7.1f} s{found['shift']:7.2f}"
                    f"{found['walk']:7.2f}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
