"""Laboratory page 12: the log of a small run, and a folder for it."""

from __future__ import annotations

import tempfile
from pathlib import Path

from attnbook.course.kit.html_tables import Column, Table, table
from attnbook.translation import trainer


def scratch_folder() -> Path:
    """Make a folder for runs that are only looked at."""
    return Path(tempfile.mkdtemp())


def log_table(folder: Path) -> Table:
    """Show the lines of a run's log."""
    rows = [
        (
            str(line["step"]),
            line.get("loss"),
            line.get("validation_loss"),
            line.get("validation_bleu"),
        )
        for line in trainer.read_metrics(folder / "metrics.jsonl")
    ]
    heads = [Column("training loss", "nats", digits=3)]
    heads += [
        Column("loss", "nats", "validation", 3),
        Column("BLEU", "", "validation", 1),
    ]
    return table(["update", *heads], rows)
