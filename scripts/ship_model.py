"""Put a trained model and its results into the package.

    python scripts/ship_model.py RUN-FOLDER NAME "COMMAND THAT MADE IT" [--eight-bits]

The folder is one that ``attnbook train`` has finished; NAME is that of the model in
``attnbook/stored/models``: ``multi30k_en_de`` is what every reader translates with and
chapter 12 shows, ``multi30k_bahdanau`` is what chapter 2 draws alignments of; the
others are :data:`attnbook.translation.translator.OTHERS`. With
``--eight-bits`` matrices are rounded to 8 bits per weight, and the validation split is
translated and scored anew with the rounded model.
"""

import argparse
import hashlib
import json
import shutil
from dataclasses import replace
from pathlib import Path

from safetensors.torch import save

from attnbook.core.files import write_object, write_whole
from attnbook.data.subwords import Subwords
from attnbook.models.checkpoints import quantize, tensors
from attnbook.translation.bleu_score import corpus_scores
from attnbook.translation.corpora import load_texts
from attnbook.translation.plain_text import LANGUAGES
from attnbook.translation.report import BEAM_WIDTH, METHODS
from attnbook.translation.run_folder import read_metrics
from attnbook.translation.translator import OTHERS, Translator

CARD = """\
# {source} to {target}, captions: a model card

Written by `scripts/ship_model.py` from the run's results.

- **What it is.** {kind}, {parameters:,} parameters, weights in {bits}, with
  {subwords:,} subwords for both languages. It is a course's example: made to be
  understood.
- **What it can do.** Translate {source} sentences like captions of photographs into
  {target}. It translates other text badly; the command line warns where it can tell. It
  repeats what its data hold, their mistakes and their prejudices about people in
  pictures included.
- **Data.** The 29,000 training pairs of Multi30k (Elliott et al. 2016), cased. Its
  authors give the data for research and teaching that is not commercial and name no
  licence for the text: use the weights in the same spirit.{twice}
- **Training.** `{command}` at commit {commit}: {updates:,} updates,
  {epochs} epochs, {time} on {machine} ({precision}), the weights of
  the last {averaged_epochs} epochs averaged. Seed {seed}; one run.
- **BLEU and chrF**, by sacreBLEU, beam {width}, α = {alpha}; the length penalty chosen
  on the validation split:

| split | BLEU, cased | BLEU, lowercased | chrF, cased |
|---|---|---|---|
{scores}

`weights.safetensors` has the sha256 {weights_sha256}.
"""

TWICE = """ Each caption comes twice,
  with a person's translation and with that of three models of this size together, which
  were trained on the same pairs (`benchmarks/distil.py` at commit `ee4e0849`)."""

NAMES = (
    *("multi30k_en_de", "multi30k_bahdanau"),
    *(folder.name for folder in OTHERS.values()),
)

ROOT = Path(__file__).resolve().parents[1]
STORED = ROOT / "code" / "attnbook" / "stored"


def kind_of(config: dict) -> str:
    """Describe a model in words."""
    if config["model"] == "transformer":
        return (
            f"A Transformer of {config['n_layers']} encoder and {config['n_layers']} "
            f"decoder layers (D = {config['d_model']}, {config['n_heads']} heads, "
            f"d_ff = {config['d_ff']})"
        )
    name = config["model"].replace("_", " ").capitalize()
    return f"The model {name} of chapters 1 to 3, {config['d_model']} wide"


def card(results: dict, command: str, subwords: int, bits: str) -> str:
    """Write the model card."""
    scores = {"validation": results["validation_scores"], **results["scores"]}
    rows = [
        f"| {split} | {found['beam, cased']['bleu']:.1f} "
        f"| {found['beam, lowercased']['bleu']:.1f} "
        f"| {found['beam, cased']['chrf']:.1f} |"
        for split, found in scores.items()
    ]
    config, minutes = results["config"], results["seconds"] / 60
    hours = f"{minutes / 60:.1f} hours"
    facts = {
        "kind": kind_of(config),
        "source": LANGUAGES[config["source"]],
        "target": LANGUAGES[config["target"]],
        "twice": "" if config["data"] == "multi30k" else TWICE,
        "command": command,
        "subwords": subwords,
        "bits": bits,
        "time": hours if minutes > 60 else f"{minutes:.0f} minutes",
        "width": BEAM_WIDTH,
        "scores": "\n".join(rows),
    }
    return CARD.format(**config | results | facts)


def round_weights(folder: Path, results: dict, hypotheses: dict) -> None:
    """Round a model to 8 bits, and score on the validation split what is left of it."""
    path = folder / "weights.safetensors"
    write_whole(path, save(quantize(tensors(Translator(folder).model))))
    rounded = Translator(folder)
    # A student was trained on a folder of texts.
    config = replace(rounded.config, data="multi30k")
    source, references = load_texts(config, "val")
    scores, hypotheses["val"] = {}, {}
    for name, width in METHODS.items():
        outputs = rounded(source, width)
        hypotheses["val"][name] = outputs
        for case, lowercase in (("cased", False), ("lowercased", True)):
            score = corpus_scores(outputs, references, lowercase)
            scores[f"{name}, {case}"] = score._asdict()
    results["validation_scores_before_rounding"] = results["validation_scores"]
    results["validation_scores"] = scores
    results["weights_sha256"] = hashlib.sha256(path.read_bytes()).hexdigest()


def ship(run: Path, name: str, command: str, eight_bits: bool) -> None:
    """Copy the model, its results with the log, and its translations."""
    model = STORED / "models" / name
    model.mkdir(parents=True, exist_ok=True)
    for file in ("weights.safetensors", "facts.json", "subwords.json"):
        shutil.copy(run / "model" / file, model / file)
    results = json.loads((run / "results.json").read_text(encoding="utf-8"))
    hypotheses = json.loads((run / "hypotheses.json").read_text(encoding="utf-8"))
    if eight_bits:
        round_weights(model, results, hypotheses)
    log = read_metrics(run / "metrics.jsonl")
    content = {"command": command, **results, "log": log}
    write_object(STORED / "results" / f"{name}.json", content)
    write_object(STORED / "results" / f"{name}_hypotheses.json", hypotheses)
    n_subwords = len(Subwords.load(model / "subwords.json"))
    bits = "8 bits" if eight_bits else "half precision"
    text = card(results, command, n_subwords, bits)
    (model / "README.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("run", type=Path)
    parser.add_argument("name", choices=NAMES)
    parser.add_argument("command")
    parser.add_argument("--eight-bits", action="store_true")
    chosen = parser.parse_args()
    ship(chosen.run, chosen.name, chosen.command, chosen.eight_bits)
