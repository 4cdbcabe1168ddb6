"""The directive ``train-here``: two small Transformers that train in the reader's page.

    ```{train-here} no-mask
    What stands below the figure.
    ```

The name is that of a preset of ``attnbook/course/kit/playground/presets.toml``, or
"free" for a figure in which everything can be chosen. This side writes the question and
the stored runs, which stay without JavaScript; ``book/_static/live/playground`` trains.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict
from html import escape
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from attnbook.course.kit.playground.data import PRESETS
from attnbook.course.kit.playground.presets import guess_of, page_data
from attnbook.course.kit.playground.setting import Setting

FOLDER = Path(__file__).resolve().parents[1] / "_static" / "live" / "playground"
PAGE = "book/playground"
WIDTH, HEIGHT, LEFT = 380, 210, 34  # of the stored picture, as the chart of view.js
TOLD = {  # how a setting is said under the question; what is off is left out
    "layers": "{} layers",
    "heads": "{} heads",
    "key_width": "d_k = {}",
    "width": "D = {}",
    "positions": "{} positions",
    "causal": "causal mask",
    "skip": "skip connections",
    "norm": "norm {}",
    "feed_forward": "feed-forward networks",
    "rate": "a learning rate that falls from {} to 0",
    "steps": "{} steps",
}
PLAINLY = {
    "1 layers": "one layer",
    "1 heads": "one head",
    "none positions": "no positions",
    "norm none": "no norm",
}


class TrainHere(SphinxDirective):
    """Puts the figure into the page, with its question and its stored runs."""

    required_arguments = 1
    has_content = True

    def run(self) -> list[nodes.Node]:
        """Check what was given and write the HTML around the caption."""
        [name] = self.arguments
        if name not in (*PRESETS, "free"):
            raise self.error(f"no preset {name!r}; choose among {[*PRESETS, 'free']}")
        app = self.env.app
        page = app.builder.get_relative_uri(self.env.docname, PAGE)
        caption = self.parse_content_to_nodes()
        opening = nodes.raw("", figure(name, page) + "<figcaption>", format="html")
        closing = nodes.raw("", "</figcaption></figure>", format="html")
        return [opening, *caption, closing]


def figure(name: str, page: str) -> str:
    """Write the figure without its caption and end."""
    preset = page_data()["presets"].get(name)
    asked = "Choose a task, and two models that learn it side by side."
    answers = stored = ""
    if preset:
        asked = escape(preset["question"])
        answers = choices(name, preset["answers"]) + shared_settings(preset)
        stored = f"""<details class="book-fold play-stored">
<summary>What {preset["seeds"]} stored runs of each say</summary>
<div class="book-fold-body">
<p><b>({"abc"[preset["right"]]})</b> {escape(preset["explanation"])}</p>
{stored_table(preset)}
{stored_chart(preset)}</div></details>"""
    return f"""<figure class="train-here live-model" id="train-{name}"
data-preset="{name}" data-page="{page}" data-version="{version()}">
<p class="play-kicker">Train it here</p>
<p class="play-question">{asked}</p>
{answers}
<p class="play-open live-row" hidden><button type="button">Train it here</button></p>
<p class="play-alert live-alert" role="alert"></p>
<div class="play-live"></div>
<noscript><p>With JavaScript switched on, two models train here, in the page.</p>
</noscript>
{stored}
"""


def choices(name: str, answers: Sequence[str]) -> str:
    """Write the answers as a choice that can be made before anything is loaded."""
    items = "".join(
        f'<li><label><input type="radio" name="train-{name}-answer" value="{place}">'
        f"({'abc'[place]}) {escape(answer)}</label></li>"
        for place, answer in enumerate(answers)
    )
    return f'<ol class="play-answers">{items}</ol>'


def shared_settings(preset: dict[str, Any]) -> str:
    """Say how the two models are built and trained, but for what sets them apart."""
    differing = {key for run in preset["runs"] for key in run["setting"]}
    setting = asdict(Setting(**preset["setting"]))
    said = [
        text.format(setting[key])
        for key, text in TOLD.items()
        if key not in differing and setting[key]
    ]
    told = ", ".join(PLAINLY.get(words, words) for words in said)
    return f'<p class="play-note">Both models: {escape(told)}.</p>'


def chart_top(preset: dict[str, Any]) -> float:
    """The highest loss of a chart: above guessing, and above what the runs reach."""
    guess = guess_of(preset["setting"]["task"])
    reached = max(stored["mean"][-1] for stored in preset["stored"])
    return max(1.4 * guess, 1.2 * reached)


def stored_table(preset: dict[str, Any]) -> str:
    """Write how the stored runs ended, from the lowest to the highest."""
    rows = ""
    for run, stored in zip(preset["runs"], preset["stored"], strict=True):
        losses, rights = stored["losses"], stored["accuracies"]
        rows += f'<tr><th scope="row">{escape(run["label"])}</th>'
        for low, high in (
            (f"{min(losses):.2f}", f"{max(losses):.2f}"),
            (f"{100 * min(rights):.0f}", f"{100 * max(rights):.0f}"),
        ):
            rows += f"<td>{low if low == high else f'{low} to {high}'}</td>"
        rows += "</tr>"
    return f"""<div class="live-scroll"><table>
<thead><tr><td></td><th scope="col">loss</th><th scope="col">% right</th></tr></thead>
<tbody>{rows}</tbody></table></div>"""


def stored_chart(preset: dict[str, Any]) -> str:
    """Draw the mean of the stored runs, and their range as a band."""
    setting = preset["setting"]
    guess, steps = guess_of(setting["task"]), setting["steps"]
    top, right, base = chart_top(preset), WIDTH - 12, HEIGHT - 34

    def y(loss: float) -> float:
        return round(base - (base - 12) * min(loss, top) / top, 1)

    def line(losses: Sequence[float]) -> list[str]:
        width = (right - LEFT) / len(losses)
        return [f"{LEFT + (i + 0.5) * width:.0f} {y(x)}" for i, x in enumerate(losses)]

    parts = []
    for loss in range(0, int(top) + 1, 1 if top < 6 else 2):
        parts.append(f'<path class="play-grid" d="M{LEFT} {y(loss)}H{right}"/>')
        parts.append(f'<text x="28" y="{y(loss) + 4}" text-anchor="end">{loss}</text>')
    parts.append(f'<path class="play-level" d="M{LEFT} {y(guess)}H{right}"/>')
    parts.append(
        f'<text x="{right}" y="{y(guess) - 4}" text-anchor="end">guessing</text>'
    )
    for side, stored in zip("ab", preset["stored"], strict=True):
        outline = "L".join(line(stored["low"]) + line(stored["high"])[::-1])
        parts.append(f'<path class="play-band play-{side}" d="M{outline}Z"/>')
        path = "L".join(line(stored["mean"]))
        parts.append(f'<path class="play-curve play-{side}" d="M{path}"/>')
    labels = [run["label"] for run in preset["runs"]]
    return f"""<svg class="play-chart" role="img" viewBox="0 0 {WIDTH} {HEIGHT}"
aria-label="Loss against step in the stored runs; the table has where they ended.">
{"".join(parts)}<text x="{LEFT}" y="10">loss, nats per answer</text>
<text x="{WIDTH / 2}" y="{HEIGHT - 8}" text-anchor="middle">{steps} steps</text></svg>
<p class="play-note">Solid: {escape(labels[0])}. Dashed: {escape(labels[1])}. Lines:
means; bands: from the lowest to the highest of {preset["seeds"]} seeds.</p>"""


def version() -> str:
    """Name the state of the files, so that a browser keeps no old ones."""
    digest = hashlib.sha256(json.dumps(page_data()).encode())
    for path in sorted(FOLDER.glob("*.js")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:8]


def add_files(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any
) -> None:
    """Let a page with a playground load its style and its smallest script; no other."""
    if 'class="train-here' in context.get("body", ""):
        app.add_css_file("live/live.css")
        app.add_css_file("live/playground/playground.css")
        app.add_js_file("live/playground/loader.js", loading_method="defer")


def write_data(app: Sphinx, exception: Exception | None) -> None:
    """Write what the page's scripts get from Python."""
    if not exception and app.builder.format == "html":
        text = f"globalThis.playgroundData = {json.dumps(page_data())};\n"
        folder = Path(app.outdir, "_static", "live", "playground")
        (folder / "data.js").write_text(text, encoding="utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive with Sphinx."""
    app.add_directive("train-here", TrainHere)
    app.connect("html-page-context", add_files)
    app.connect("build-finished", write_data)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
