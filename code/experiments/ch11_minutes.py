"""Chapter 11: what chapter 12's five models learn in an epoch, and how long it takes.

Other programs may run beside a training, so its clock tells little: the speeds are
measured apart, alone.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

from attnbook.data.batching import target_tokens
from attnbook.data.subwords import Subwords
from attnbook.models.luong import Luong
from attnbook.models.registry import RECURRENT
from attnbook.translation.configs import config, from_json
from attnbook.translation.corpora import encode_pairs, load_texts
from attnbook.translation.run_folder import LOG, read_metrics
from attnbook.translation.trainer import Trainer
from experiments.ch12_translators import RUN_VARIABLE
from experiments.registry import experiment

ROUNDS, EVERY = 3, 20
SIZES = [("transformer", 128), *product(RECURRENT, (128, 256))]
"""Models and their widths: the Transformer's, and that of about as many parameters."""


@experiment
def five_by_epoch() -> dict:
    """Read the logs of training runs on Multi30k, finished or not.

    Reads the runs' folders from the environment variable ``ATTNBOOK_RUN``, separated
    like those of ``PATH``. Each is made by ``attnbook train --config multi30k-cpu --set
    precision=fp32 model=…``, and perhaps another ``peak_learning_rate``.

    Returns:
        "tokens": target tokens of an epoch; "runs": for each model, learning rate and
        seed the validation "loss" and greedy "bleu" after each epoch.
    """
    folders = [Path(p) for p in os.environ.get(RUN_VARIABLE, "").split(os.pathsep) if p]
    if not folders:
        raise ValueError(f"no run to read: set {RUN_VARIABLE} to folders of runs")
    runs = []
    for folder in folders:
        run = from_json(folder / "config.json")
        log = [line for line in read_metrics(folder / LOG) if "validation_loss" in line]
        about = {"model": run.model, "d_model": run.d_model, "seed": run.seed}
        about |= {"rate": run.peak_learning_rate, "precision": run.precision}
        for entry, digits in (("loss", 4), ("bleu", 2)):
            about[entry] = [round(x[f"validation_{entry}"], digits) for x in log]
        runs.append(about)
    subwords = Subwords.load(folder / "subwords.json")
    tokens = target_tokens([encode_pairs(subwords, load_texts(run, "train"))])
    return {"tokens": tokens, "runs": runs}


@experiment
def five_speeds() -> dict:
    """Time updates of each model in fp32 on one thread, one model after the other.

    Returns:
        "runs": for each model and width its number of "parameters", and for each round
        the target tokens that it trained per second of processor time.
    """
    with ExitStack() as stack:
        trainers = []
        for model, d_model in SIZES:
            folder = stack.enter_context(TemporaryDirectory())
            about = {"model": model, "d_model": d_model, "precision": "fp32"}
            trainers.append(Trainer(config("multi30k-cpu", **about), folder, "cpu"))
            stack.callback(trainers[-1].close)
        speeds = [[] for _ in trainers]
        for _ in range(ROUNDS):
            for trainer, found in zip(trainers, speeds, strict=True):
                found.append(speed(trainer, trainer.updates_of(0)[::EVERY]))
                print(f"  {trainer.config.model}: {found[-1]}", flush=True)
    runs = [
        {
            "model": model,
            "d_model": d_model,
            "parameters": sum(p.numel() for p in trainer.model.parameters()),
            "tokens_per_second": found,
        }
        for (model, d_model), trainer, found in zip(
            SIZES, trainers, speeds, strict=True
        )
    ]
    return {"precision": "fp32", "runs": runs}


def speed(trainer: Trainer, updates: Sequence) -> int:
    """Target tokens per second of processor time; the first update isn't counted."""
    trainer._update(updates[0])
    start = time.process_time()
    for batches in updates[1:]:
        trainer._update(batches)
    seconds = time.process_time() - start
    return round(sum(map(target_tokens, updates[1:])) / seconds)


WITHOUT_FEEDING = {
    "model": "luong",
    "d_model": 256,
    "precision": "fp32",
    "peak_learning_rate": 3e-3,
    "max_epochs": 8,
    "average": 3,
    "seed": 1,
}
"""Chapter 12's run of Luong's model; in the experiment below without input feeding."""


@experiment
def luong_in_one_call() -> dict:
    """Train Luong's model without input feeding on Multi30k, and time it.

    All inputs of its decoder's GRU are then known in training, and its steps are one
    call of PyTorch's. The run is in the folder that ``ATTNBOOK_RUN`` names, where it is
    resumed, or in one that is deleted.

    Returns:
        The validation "loss" and greedy "bleu" after each epoch, and for each round the
        target tokens trained per second of processor time, on one thread, in turns: of
        this model, "luong", and of the "transformer".
    """
    with ExitStack() as stack:
        stack.enter_context(
            patch.dict(RECURRENT, luong=partial(Luong, input_feeding=False))
        )
        beside = stack.enter_context(TemporaryDirectory())
        folder = Path(os.environ.get(RUN_VARIABLE) or Path(beside, "luong"))
        luong = Trainer(config("multi30k-cpu", **WITHOUT_FEEDING), folder, "cpu")
        stack.callback(luong.close)
        luong.train()
        log = [line for line in read_metrics(folder / LOG) if "validation_loss" in line]
        alike = config("multi30k-cpu", precision="fp32")
        transformer = Trainer(alike, Path(beside, "transformer"), "cpu")
        stack.callback(transformer.close)
        trainers = {"luong": luong, "transformer": transformer}
        speeds = [
            {name: speed(t, t.updates_of(0)[::EVERY]) for name, t in trainers.items()}
            for _ in range(ROUNDS)
        ]
    return {
        **WITHOUT_FEEDING,
        "parameters": sum(p.numel() for p in luong.model.parameters()),
        "loss": [round(line["validation_loss"], 4) for line in log],
        "bleu": [round(line["validation_bleu"], 2) for line in log],
        "tokens_per_second": speeds,
    }
