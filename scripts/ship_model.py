"""Put a trained model and its results into the package: ship_model.py RUN-FOLDER.

The folder is one that ``python -m attnbook.train`` has finished.  What is written is what
chapter 11 shows as the recorded run, and what every reader translates with.
"""

import json
import shutil
import sys
from pathlib import Path

from attnbook.training import read_metrics

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT / "code" / "attnbook" / "data"
NAME = "multi30k_en_de"


def write(path: Path, content: dict) -> None:
    """Write JSON, sentences in it as they are read."""
    text = json.dumps(content, indent=1, ensure_ascii=False) + "\n"
    path.write_text(text, encoding="utf-8")


def ship(run: Path, command: str) -> None:
    """Copy the model, its results with the log, and its translations."""
    model = DATA / "models" / NAME
    model.mkdir(parents=True, exist_ok=True)
    for name in ("weights.safetensors", "facts.json", "subwords.json"):
        shutil.copy(run / "model" / name, model / name)
    results = json.loads((run / "results.json").read_text(encoding="utf-8"))
    log = read_metrics(run / "metrics.jsonl")
    write(
        DATA / "results" / f"{NAME}.json", {"command": command, **results, "log": log}
    )
    shutil.copy(run / "hypotheses.json", DATA / "results" / f"{NAME}_hypotheses.json")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(f"{__doc__}\nusage: ship_model.py RUN-FOLDER COMMAND-THAT-MADE-IT")
    ship(Path(sys.argv[1]), sys.argv[2])
