"""What training takes: the speed of each model by length, and runs with several seeds.

    python benchmarks/training.py speed
    python benchmarks/training.py runs --config multi30k-tiny --seeds 0 1 2

``speed`` times updates of one model alone, on random sentences that are equally long:
one to warm up, then the median of several, and the memory at the peak. ``runs`` trains
a config with each seed and scores it on validation data; ``--set`` changes its entries.
Each result is a JSON file in the folder ``--out``, written as soon as it is there, with
all that is needed to repeat it. The same command goes on after a stop: what is there is
not made again. ``--device cpu --config toy`` rehearses both in two minutes.
"""

from __future__ import annotations

import argparse
import platform
import shlex
import sys
import time
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from itertools import product
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from attnbook.analysis.cost import median_seconds, peak_bytes
from attnbook.core.devices import DEVICES, choose_device
from attnbook.core.files import write_object
from attnbook.core.results import commit, machine
from attnbook.core.signals import last_words
from attnbook.core.threads import set_threads
from attnbook.core.vocabulary import UNK
from attnbook.models.registry import RECURRENT
from attnbook.models.transformer import Transformer
from attnbook.nn.masks import causal_mask
from attnbook.translation.backends import choose_precision, set_backends
from attnbook.translation.configs import Config
from attnbook.translation.models import model_from_config
from attnbook.translation.run_folder import read_metrics
from attnbook.translation.train_command import read_config, train
from attnbook.translation.trainer import CLIP

PYTORCH = "nn.Transformer"
MODELS: dict[str, dict] = {
    "transformer": {},
    PYTORCH: {},
    **{name: {"model": name, "d_model": 256} for name in RECURRENT},
}
"""Changes of the config. The recurrent models are twice as wide as the Transformer, so
that they are not smaller."""
LENGTHS = (8, 16, 32, 64, 128, 256, 512)


class TorchTransformer(nn.Module):
    """PyTorch's own layers between the word tables and the positions of our model.

    Args:
        ours: The model to resemble; its layers are left out.
        config: The sizes.
    """

    def __init__(self, ours: Transformer, config: Config):
        super().__init__()
        self.embedding, self.out = ours.source_embedding, ours.out
        self.positions, self.dropout = ours.positions, nn.Dropout(config.dropout)
        sizes = config.d_model, config.n_heads, config.n_layers, config.n_layers
        options = {"batch_first": True, "norm_first": config.norm_first}
        self.layers = nn.Transformer(*sizes, config.d_ff, config.dropout, **options)
        # Ours drops nothing inside the feed-forward network and of the weights.
        for layer in (*self.layers.encoder.layers, *self.layers.decoder.layers):
            layer.dropout.p = 0.0
        for module in self.layers.modules():
            if isinstance(module, nn.MultiheadAttention):
                module.dropout = 0.0

    def forward(self, src: Tensor, tgt_in: Tensor) -> Tensor:
        """Map ids without padding, (B, S) and (B, T), to logits, (B, T, V)."""
        x, y = (
            self.dropout(self.positions(self.embedding(ids))) for ids in (src, tgt_in)
        )
        # In PyTorch's masks True means: may not attend.
        unseen = ~causal_mask(tgt_in.shape[1], device=src.device)
        return self.out(self.layers(x, y, tgt_mask=unseen, tgt_is_causal=True))


def one_update(
    name: str, config: Config, shape: tuple[int, int], device: torch.device
) -> Callable[[], None]:
    """Prepare an update of one of :data:`MODELS` on random ids, (B, T) on each side."""
    torch.manual_seed(config.seed)
    recurrent = config.model in RECURRENT
    precision = choose_precision(config.precision, device, recurrent)
    model = model_from_config(config, config.vocab_size)
    if name == PYTORCH:
        model = TorchTransformer(model, config)
    model = model.to(device).train()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4, fused=True)
    src, tgt_in, tgt_out = (
        torch.randint(UNK + 1, config.vocab_size, shape).to(device) for _ in range(3)
    )

    def update() -> None:
        with torch.autocast(device.type, precision, enabled=precision != torch.float32):
            logits = model(src, tgt_in).flatten(0, 1)  # (B·T, V)
            loss = F.cross_entropy(logits, tgt_out.flatten(), label_smoothing=0.1)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), CLIP)
        optimizer.step()

    return update


def speed(name: str, config: Config, length: int, device: torch.device) -> dict:
    """Time the updates of one model at one length; say why if it isn't possible."""
    shape = max(1, config.batch_tokens // length), length
    found = {"model": name, "seed": config.seed, "sentences": shape[0]}
    try:
        update = one_update(name, config, shape, device)
        update()  # the first one takes longer
        seconds = median_seconds(update, device)
        found["seconds_per_update"] = seconds
        found["tokens_per_second"] = round(shape[0] * length / seconds)
        found["peak_bytes"] = peak_bytes(update, device)
    except RuntimeError as error:  # such as out of memory
        found["failed"] = str(error)[:200]
    return found | {"length": length, "config": asdict(config)}


def one_run(config: Config, folder: Path, device: torch.device) -> dict:
    """Train, or resume training, and score on validation data."""
    results = train(config, folder, device.type)
    log = read_metrics(folder / "metrics.jsonl")
    return {"seed": config.seed, **results, "log": log}


def record(path: Path, device: torch.device, make: Callable[[], dict]) -> None:
    """Write a result with what is needed to repeat it, unless it is there already."""
    if path.exists():
        print(f"{path}: there already")
        return
    start = time.perf_counter()
    found = make()
    about = {
        "command": shlex.join(["python", *sys.argv]),
        "machine": machine(device),
        "versions": {"python": platform.python_version(), "torch": torch.__version__},
        "commit": commit(),
        "seconds": round(time.perf_counter() - start, 1),
    }
    write_object(path, about | found)  # a run knows its own seconds, over all its parts
    print(path, flush=True)


def main() -> None:
    """Measure what the command line asks for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("speed", "runs"))
    parser.add_argument("--config", default="multi30k-tiny", help="of attnbook train")
    parser.add_argument("--set", nargs="+", default=[], metavar="ENTRY=VALUE")
    parser.add_argument("--seeds", nargs="+", type=int, default=[0])
    parser.add_argument("--models", nargs="+", default=[*MODELS], choices=MODELS)
    parser.add_argument("--lengths", nargs="+", type=int, default=LENGTHS)
    parser.add_argument("--device", default="auto", choices=DEVICES)
    parser.add_argument("--out", type=Path, default=Path("runs/gpu"), help="a folder")
    chosen = parser.parse_args()
    set_threads()
    set_backends()
    device = choose_device(chosen.device)
    chosen.out.mkdir(parents=True, exist_ok=True)
    name = Path(chosen.config).stem

    def config(**changes: object) -> Config:
        own = [f"{key}={value}" for key, value in changes.items()]
        return read_config(chosen.config, [*own, *chosen.set])

    if chosen.what == "runs":
        for seed in chosen.seeds:
            folder = chosen.out / name / f"seed_{seed}"
            result = chosen.out / f"run-{name}-{seed}.json"
            record(result, device, partial(one_run, config(seed=seed), folder, device))
        return
    for model, length in product(chosen.models, chosen.lengths):
        result = chosen.out / f"speed-{name}-{model}-{length}.json"
        of = model, config(**MODELS[model]), length, device
        record(result, device, partial(speed, *of))


if __name__ == "__main__":
    with last_words(lambda: "stopped; the same command goes on where it was"):
        main()
