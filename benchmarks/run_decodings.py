"""``python benchmarks/run_decodings.py RUN FILE``: other ways of decoding.

The number of averaged epochs and the beam width can be changed after training.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import torch

from attnbook.core.devices import choose_device
from attnbook.core.threads import set_threads
from attnbook.data.subwords import Subwords
from attnbook.translation.bleu_score import corpus_bleu
from attnbook.translation.configs import from_json
from attnbook.translation.corpora import load_texts
from attnbook.translation.devices import set_backends
from attnbook.translation.evaluation import beam_translate
from attnbook.translation.models import model_from_config
from attnbook.translation.training_state import average_weights
from growing import write_growing

AVERAGED = (1, 2, 5, 10)
WIDTHS = (1, 2, 3, 4, 5, 6, 8, 10)


def decodings(folder: Path, device: torch.device) -> Iterator[dict]:
    """Translate the validation split from a run's last epochs.

    Args:
        folder: The folder of a finished run.
        device: The device to use.

    Yields:
        Ever more of "averaged": BLEU of greedy decoding by the number of averaged
        epochs; "widths": BLEU and seconds by beam width, with all the run's epochs
        averaged and the length penalty that the run chose.
    """
    run = from_json(folder / "config.json")
    found = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    subwords = Subwords.load(folder / "subwords.json")
    model = model_from_config(run, len(subwords)).to(device).eval()
    val = load_texts(run, "val")
    kept = sorted((folder / "epochs").glob("*.safetensors"))[-run.average :]
    averaged, widths = [], []
    values = {"alpha": found["alpha"], "averaged": averaged, "widths": widths}
    for number in sorted({min(n, len(kept)) for n in AVERAGED}):
        model.load_state_dict(average_weights(kept[-number:]), strict=False)
        score = corpus_bleu(
            beam_translate(model, subwords, val.source, width=1), val.target
        )
        averaged.append({"epochs": number, "bleu": score.bleu})
        yield values | {"signature": score.signature}
    model.load_state_dict(average_weights(kept), strict=False)
    for width in WIDTHS:
        start = time.perf_counter()
        # Equally large batches at each width: on a GPU their number dominates the time.
        outputs = beam_translate(
            model, subwords, val.source, width, found["alpha"], 4096 * width
        )
        seconds = time.perf_counter() - start
        score = corpus_bleu(outputs, val.target)
        widths.append({"width": width, "bleu": score.bleu, "seconds": seconds})
        yield values | {"signature": score.signature}


def main(arguments: Sequence[str] | None = None) -> None:
    """Decode the run in the first path, and write the results to the second.

    Args:
        arguments: By default those of the command line.
    """
    folder, file = map(Path, sys.argv[1:] if arguments is None else arguments)
    set_threads()
    set_backends()
    write_growing(file, decodings(folder, choose_device()))


if __name__ == "__main__":
    main()
