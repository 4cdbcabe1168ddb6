"""How fast does the playground train, how much does it load, and does it still show?

    python benchmarks/playground.py             # speed, bytes, pauses
    python benchmarks/playground.py --presets   # and all experiments with three seeds

Updates per second of the default model in Chromium's Worker are given as a ratio to
those of one thread of PyTorch in the same run. The longest pause of the main thread is
taken while two runs train, with a processor four times slower; the aim is 100 ms. The
built book must be there: ``make book``.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import torch
from playwright.sync_api import Page

from attnbook.course.kit.playground.data import PRESETS
from attnbook.course.kit.playground.presets import page_data, settings_of
from attnbook.course.kit.playground.setting import Setting
from attnbook.course.kit.playground.training import train

ROOT = Path(__file__).resolve().parents[1]
SCRIPTS = ROOT / "book" / "_static" / "live" / "playground"
sys.path.insert(0, str(ROOT / "scripts"))

from browser import NO_BROWSER, open_browser  # noqa: E402
from build_book import HTML  # noqa: E402

STEPS = 100
WORK = """(settings) => new Promise((resolve) => {
    const given = JSON.stringify(playgroundData);
    const code = `const engine = (${playgroundEngine})(${given});
        onmessage = ({data}) => postMessage(data.map((setting) => {
            const model = new engine.Model(setting);
            for (let i = 0; i < 5; i++) model.step();
            const start = performance.now();
            const length = setting.steps - 5;
            const found = Array.from({length}, () => model.step().loss);
            const end = found.slice(-10).reduce((sum, x) => sum + x) / 10;
            return [(found.length * 1000) / (performance.now() - start), end];
        }));`;
    const worker = new Worker(URL.createObjectURL(new Blob([code])));
    worker.onmessage = ({data}) => resolve(data);
    worker.postMessage(settings);
})"""
PAUSES = """() => {
    window.pauses = [0];
    new PerformanceObserver((list) => {
        pauses.push(...list.getEntries().map((entry) => entry.duration));
    }).observe({entryTypes: ["longtask"]});
}"""


def in_worker(page: Page, settings: Sequence[Setting]) -> list[tuple[float, float]]:
    """Updates per second and the last loss of each setting."""
    return page.evaluate(WORK, [asdict(setting) for setting in settings])


def longest_pause(page: Page) -> float:
    """Milliseconds of the main thread's longest task while a preset trains."""
    session = page.context.new_cdp_session(page)
    session.send("Emulation.setCPUThrottlingRate", {"rate": 4})
    figure = page.locator("#train-no-scaling")
    figure.get_by_role("button", name="Train it here").click()
    figure.get_by_role("button", name="Train both").click()
    page.wait_for_timeout(1000)
    page.evaluate(PAUSES)
    page.wait_for_timeout(15_000)
    return page.evaluate("Math.max(...pauses)")


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a line for each measurement."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--presets", action="store_true", help="train all of them")
    chosen = parser.parse_args(arguments)
    torch.set_num_threads(1)
    sizes = {p.name: len(gzip.compress(p.read_bytes())) for p in SCRIPTS.glob("*.js")}
    print(f"bytes, compressed: {sum(sizes.values()):,} {json.dumps(sizes)}")
    setting = Setting(steps=STEPS)
    start = time.perf_counter()
    train(setting)
    torch_speed = STEPS / (time.perf_counter() - start)
    with open_browser() as browser:
        if browser is None:
            raise SystemExit(NO_BROWSER)
        page = browser.new_page()
        page.goto(f"{(HTML / 'book' / 'playground.html').as_uri()}")
        data = json.dumps(page_data())
        page.add_script_tag(content=f"globalThis.playgroundData = {data};")
        page.add_script_tag(path=SCRIPTS / "engine.js")
        [(speed, _)] = in_worker(page, [setting])
        print(
            f"updates a second: {speed:.1f} in Chromium, {torch_speed:.1f} in PyTorch"
        )
        print(f"ratio: {speed / torch_speed:.2f}")
        for name in PRESETS if chosen.presets else ():
            stored = page_data()["presets"][name]["stored"]
            for side, run in enumerate(stored):
                settings = [settings_of(name, seed)[side] for seed in (5, 6, 7)]
                ends = [f"{end:.2f}" for _, end in in_worker(page, settings)]
                low, high = min(run["losses"]), max(run["losses"])
                about = f"{name} {'AB'[side]}"
                print(f"{about:18} {' '.join(ends)}   stored {low:.2f} to {high:.2f}")
        print(f"longest pause: {longest_pause(page):.0f} ms, four times slower")


if __name__ == "__main__":
    main()
