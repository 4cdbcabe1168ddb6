"""The claims of a page: each sentence that a reader may take home as a result.

The ledger, `tests/ledger/NAME.toml`, has a row for each. A row says

- `says`: the sentence as it stands in the notebook,
- `kind`: where its evidence is. "stored": a stored result; `holds` is an expression
  that is true of it. "cell": an output of the page, which nbval compares. "proof": a
  derivation on the page. "paper": the cited paper. "definition": there is nothing to
  measure. "open": the sentence says that it isn't known.
- `over`: for what is measured, over how many seeds, what else was varied, and of which
  models it is said.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from statistics import fmean
from typing import Any

from nbformat import NotebookNode

from attnbook.core import results

KINDS = ("stored", "cell", "proof", "paper", "definition", "open")
LEAST = 4  # words: a shorter bold line, such as "Summary.", heads a paragraph
BOLD = re.compile(r"\*\*((?:[^*]|\*(?!\*))+[.!:])\*\*")
FENCED = re.compile(r"^(`{3,})\{.*?^\1`*$", re.MULTILINE | re.DOTALL)
PREDICT = re.compile(r"^:::\{predict\}.*?^---\n(.*?)^:::$", re.MULTILINE | re.DOTALL)


def claims(notebook: NotebookNode) -> Iterator[str]:
    """Yield the claims of a page: captions, bold lines, answers, summaries, reasons."""
    part = ""
    for cell in notebook.cells:
        caption = cell.metadata.get("mystnb", {}).get("figure", {}).get("caption", "")
        yield from bold_lines(caption)
        if cell.cell_type != "markdown":
            continue
        yield from (one_line(reason) for reason in PREDICT.findall(cell.source))
        text = FENCED.sub("", PREDICT.sub("", cell.source))
        for block in text.split("\n\n"):
            part = next_part(part, block)
            yield from claims_of(block, part)


def next_part(part: str, block: str) -> str:
    """The part of a page in which a paragraph stands: answer, summary or another."""
    if block.startswith("#") or "\n## " in block:
        return "answer" if block.endswith("The answer") else ""
    if block.startswith("**Summary.**"):
        return "summary"
    return part


def claims_of(block: str, part: str) -> Iterator[str]:
    """The claims in one paragraph, list or box."""
    if not block.strip() or block.startswith(("```", ":::", "$$", "#", "(")):
        return
    items = [one_line(item) for item in re.split(r"^- ", block, flags=re.MULTILINE)]
    if part == "summary" or "- {ref}" in block:
        yield from items[1:]
    elif part == "answer" or block.startswith("**Conclusion.**"):
        yield one_line(block)
    else:
        yield from bold_lines(block)


def bold_lines(text: str) -> Iterator[str]:
    """Sentences in bold."""
    for line in BOLD.findall(text):
        if len(line.split()) >= LEAST:
            yield one_line(line)


def one_line(text: str) -> str:
    """A text without its line breaks."""
    return " ".join(text.split())


# --- What an expression may name ---


def runs(name: str, **settings: Any) -> list[dict]:
    """The stored runs of an experiment that have these settings."""
    found = [
        run
        for run in results.load(name)["runs"]
        if all(run[key] == value for key, value in settings.items())
    ]
    if not found:
        raise ValueError(f"{name} has no run with {settings}")
    return found


def each(key: str, name: str, **settings: Any) -> list:
    """An entry of each of these runs; "exact.2" is one inside a list or dictionary."""
    values = runs(name, **settings)
    for part in key.split("."):
        values = [v[int(part)] if isinstance(v, list) else v[part] for v in values]
    return values


NAMES = {
    **{function.__name__: function for function in (runs, each, min, max, all, any)},
    **{function.__name__: function for function in (sum, len, zip, abs, round, sorted)},
    "mean": fmean,
    "stored": results.load,
}


def holds(expression: str) -> bool:
    """Whether an expression is true of the stored results."""
    return eval(expression, {"__builtins__": {}} | NAMES) is True
