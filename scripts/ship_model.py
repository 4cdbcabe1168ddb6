"""Put a trained model and its results into the package: ship_model.py RUN-FOLDER.

The folder is one that ``python -m attnbook train`` has finished.  What is written
is what chapter 12 shows as the recorded run, and what every reader translates with.
"""

import json
import shutil
import sys
from pathlib import Path

from attnbook.data.subwords import Subwords
from attnbook.translation.report import BEAM_WIDTH
from attnbook.translation.trainer import read_metrics

CARD = """\
# English to German, captions: a model card

Written by `scripts/ship_model.py` from the run's results.

- **What it is.** A Transformer of {parameters:,} parameters ({n_layers} encoder and \
{n_layers} decoder layers,
  D = {d_model}, {n_heads} heads, d_ff = {d_ff}), weights in half precision, with \
{subwords:,} subwords for both
  languages. It is a course's example: made to be understood.
- **What it can do.** Translate English sentences like captions of photographs into
  German. Other text it translates badly, and without saying so. It repeats what its
  data hold, their mistakes and their prejudices about people in pictures included.
- **Data.** The 29,000 training pairs of Multi30k (Elliott et al. 2016), cased. Its
  authors give the data for research and teaching that is not commercial and name no
  licence for the text: use the weights in the same spirit.
- **Training.** `{command}` at commit {commit}: {updates:,} updates,
  {epochs} epochs, {hours:.1f} hours on {machine} ({precision}), the weights of
  the last {averaged_epochs} epochs averaged. Seed {seed}; one run.
- **BLEU**, by sacreBLEU, beam {width}, α = {alpha}; the length penalty chosen on the
  validation split:

| test | cased | lowercased |
|---|---|---|
{scores}

`weights.safetensors` has the sha256 {weights_sha256}.
"""

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT / "code" / "attnbook" / "data"
NAME = "multi30k_en_de"


def write(path: Path, content: dict) -> None:
    """Write JSON, sentences in it as they are read."""
    text = json.dumps(content, indent=1, ensure_ascii=False) + "\n"
    path.write_text(text, encoding="utf-8")


def card(results: dict, command: str, subwords: int) -> str:
    """Write the model card."""
    rows = [
        f"| {split} | {found['beam, cased']['bleu']:.1f} "
        f"| {found['beam, lowercased']['bleu']:.1f} |"
        for split, found in results["scores"].items()
    ]
    facts = {
        "command": command,
        "subwords": subwords,
        "hours": results["seconds"] / 3600,
        "width": BEAM_WIDTH,
        "scores": "\n".join(rows),
    }
    return CARD.format(**results["config"] | results | facts)


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
    n_words = len(Subwords.load(model / "subwords.json"))
    text = card(results, command, n_words)
    (model / "README.md").write_text(text, encoding="utf-8")
    shutil.copy(run / "hypotheses.json", DATA / "results" / f"{NAME}_hypotheses.json")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(f"{__doc__}\nusage: ship_model.py RUN-FOLDER COMMAND-THAT-MADE-IT")
    ship(Path(sys.argv[1]), sys.argv[2])
