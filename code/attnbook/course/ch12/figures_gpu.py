"""Chapter 12: the same training on a GPU, shown once its results have been imported."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from statistics import median

from attnbook.core import results
from attnbook.course.kit.html_tables import Column, Table, spread, table

DIRECTIONS = {"en_de": "English to German", "de_en": "German to English"}
BEAM = "beam, cased"
SPEEDS = (
    *(("speed", "tiny_eager"), ("compiled", "tiny_compiled")),
    *(("compiled", "tiny_compiled_peers"), ("base", "base_eager")),
    ("compiled", "base_compiled"),
)
"""Where the rows of speeds are: the part, and the program."""


@dataclass(frozen=True)
class Passage:
    """Text with tables, to be the last line of a cell."""

    parts: tuple[str | Table, ...]

    def __repr__(self) -> str:
        return "\n\n".join(map(str, self.parts))

    def _repr_html_(self) -> str:
        return "\n".join(
            f"<p>{escape(part)}</p>" if isinstance(part, str) else part._repr_html_()
            for part in self.parts
        )


def gpu_passage() -> Passage | None:
    """Tell what was imported from a GPU; nothing if there is no such result."""
    if not (results.FOLDER / "gpu_runs.json").is_file():
        return None
    found = results.load("gpu_runs")
    parts: list[str | Table] = []
    if found["trained"]:
        parts += [training_text(found["trained"]), training_table(found["trained"])]
    rows = speed_rows(found["measured"])
    if rows:
        parts += [speed_text(found["measured"]), speed_table(rows)]
    return Passage(tuple(parts))


def training_text(trained: dict) -> str:
    """Say what was trained where."""
    part = next(iter(trained.values()))
    run = next(iter(part["runs"].values()))
    config, versions = run["config"], run["versions"]
    return (
        f"The same model on a GPU: {part['machine']}, PyTorch {versions['torch']}, "
        f"{run['precision']}, commit {part['commit']}. Batches of "
        f"{config['batch_tokens']:,} positions, {run['epochs']} epochs, "
        f"{run['updates']:,} updates; {part['jobs_at_once']} runs shared the GPU. Mean "
        "and range over seeds; scores of the validation sentences, beam of 5, cased, "
        f"{run['validation_scores'][BEAM]['signature']}. Minutes: of training alone."
    )


def training_table(trained: dict) -> Table:
    """Show scores, time and memory of each direction."""
    heads = ["direction", Column("seeds"), Column("BLEU", "", "validation", 1)]
    heads += [Column("loss", "nats", "validation", 2), Column("time", "min", "", 1)]
    heads += [Column("speed", "tokens/s"), Column("memory", "MB")]
    rows = []
    for name, part in trained.items():
        runs = part["runs"].values()
        rows.append(
            (
                DIRECTIONS[name],
                len(runs),
                spread(run["validation_scores"][BEAM]["bleu"] for run in runs),
                spread(run["validation_loss"] for run in runs),
                spread(run["seconds"] / 60 for run in runs),
                median(run["tokens_per_second"] for run in runs),
                max(run["peak_memory_mb"] for run in runs),
            )
        )
    return table(heads, rows)


def speed_rows(measured: dict) -> dict[str, list[tuple]]:
    """The rows of speeds that were measured, by program."""
    found: dict[str, list[tuple]] = {}
    for part, name in SPEEDS:
        size, _, kind = name.partition("_")
        run = measured.get(part, {}).get("runs", {}).get(name, {})
        rows = [row_of(row) for row in run.get(kind, ()) if "failed" not in row]
        if rows:
            found[f"{size} model, {kind.replace('_', ' ')}"] = rows
    return found


def row_of(row: dict) -> tuple:
    """Name, tokens per second, per cent of the matrix products, and memory."""
    share = 100 * row["share"]
    return row["name"], row["tokens_per_second"], share, row.get("peak_mb")


def speed_text(measured: dict) -> str:
    """Say what the speeds are shares of."""
    runs = [r for part in measured.values() for r in part["runs"].values()]
    products = next(run["matmul_tflops"] for run in runs if "matmul_tflops" in run)
    peaks = ", ".join(f"{tflops:.0f} in {name}" for name, tflops in products.items())
    return (
        "Speed of training alone, counted in target tokens without padding. Share: of "
        f"the GPU's own matrix products, TFLOP/s: {peaks}."
    )


def speed_table(rows: dict[str, list[tuple]]) -> Table:
    """Show each way of training."""
    heads = [Column("speed", "tokens/s"), Column("share", "%", "", 1)]
    return table(["way of training", *heads, Column("memory", "MB")], rows)
