"""The training loop for real data, on a CPU, a GPU or several GPUs."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import torch
from torch import Tensor, nn
from tqdm.auto import tqdm

from attnbook.core.files import write_whole
from attnbook.data.batching import Batch, IdPair, id_batch, token_batches
from attnbook.data.subwords import Subwords
from attnbook.nn.losses import label_smoothing_loss, symmetric_kl
from attnbook.translation.bleu_score import corpus_bleu
from attnbook.translation.configs import Config, from_json, to_json
from attnbook.translation.corpora import Texts, load_texts
from attnbook.translation.devices import choose_precision, peak_memory
from attnbook.translation.distributed import Processes
from attnbook.translation.evaluation import beam_translate
from attnbook.translation.models import model_from_config
from attnbook.translation.schedules import (
    inverse_sqrt_learning_rate,
    noam_learning_rate,
)
from attnbook.translation.training_state import load_state, save_state

LOG_EVERY = 50
"""Updates between two lines of the log; reading the loss synchronises the GPU."""

MAY_CHANGE = ("max_epochs", "patience", "average", "save_every", "precision", "compile")
"""Entries of the config that may differ when a run is resumed."""


PROGRESS = (
    *("step", "epoch", "updates_done", "epochs_without_gain"),
    *("lowest", "seconds", "peak_memory"),
)
"""Attributes of a trainer that hold the progress of its run."""


class Trainer:
    """A training run in its own folder; made again for the folder, it resumes the run.

    The folder holds ``config.json``, ``subwords.json``, ``last.safetensors`` (the state
    to resume from), ``epochs/`` (weights after each of the last epochs, to be averaged)
    and ``metrics.jsonl`` (the log, one JSON object per line).

    Args:
        config: The config of the run.
        folder: The folder; it is created if it does not exist.

    Raises:
        ValueError: If the folder holds a run of another config (except for
            :data:`MAY_CHANGE`), a file in it cannot be read, or the data is not
            available.
    """

    def __init__(self, config: Config, folder: Path):
        self.config, self.folder = config, folder
        self.processes = Processes()
        if config.batches_per_update % self.processes.world:
            raise ValueError(
                f"batches_per_update is {config.batches_per_update}; it must be a "
                f"multiple of the {self.processes.world} processes"
            )
        self.device = self.processes.device
        self._open_folder()
        self.subwords = self._subwords()
        self.train_pairs = encode_pairs(self.subwords, load_texts(config, "train"))
        self.val_texts = load_texts(config, "val")
        self.val_pairs = encode_pairs(self.subwords, self.val_texts)
        self.precision = choose_precision(config.precision, self.device)
        self._make_model()
        if self.processes.first:  # only now that the config has proved usable
            write_whole(folder / "config.json", to_json(config))
        self.step = self.epoch = self.updates_done = self.epochs_without_gain = 0
        self.lowest = float("inf")
        self.seconds, self.peak_memory = 0.0, 0
        if self.last.exists():
            self._resume()
        self._truncate_log()

    @property
    def last(self) -> Path:
        """The file that a run is resumed from."""
        return self.folder / "last.safetensors"

    def _open_folder(self) -> None:
        """Create the folder, or check that it holds a run of the same config."""
        path = self.folder / "config.json"
        if path.exists():
            old, new = asdict(from_json(path)), asdict(self.config)
            for key in old:
                if old[key] != new[key] and key not in MAY_CHANGE:
                    raise ValueError(
                        f"{self.folder} holds a run with {key} {old[key]!r}, not "
                        f"{new[key]!r}; name another folder, or that config"
                    )
        self.processes.wait()  # until all have read the old config
        if self.processes.first:
            (self.folder / "epochs").mkdir(parents=True, exist_ok=True)
            if not path.exists():  # a file left here is of no run, or of a failed one
                (self.folder / "subwords.json").unlink(missing_ok=True)

    def _subwords(self) -> Subwords:
        """Load the run's subwords, or learn them from the training split alone."""
        path = self.folder / "subwords.json"
        if not path.exists() and self.processes.first:
            both = load_texts(self.config, "train")
            Subwords.train(
                [*both.source, *both.target],
                self.config.vocab_size,
                self.config.lowercase,
            ).save(path)
        self.processes.wait()
        return Subwords.load(path)

    def _make_model(self) -> None:
        """Create model and optimizer, with equal weights in all processes."""
        torch.manual_seed(self.config.seed)
        self.model = model_from_config(self.config, len(self.subwords)).to(self.device)
        self.wrapped = self.processes.wrap(self.model)
        # Compiled with the model, the loss needs no copy of log p for all tokens.
        self.loss = torch.compile(self._loss) if self.config.compile else self._loss
        cuda = self.device.type == "cuda"
        self.optimizer = torch.optim.Adam(
            self.model.parameters(), betas=(0.9, 0.98), eps=1e-9, fused=cuda or None
        )
        self.scaler = torch.amp.GradScaler(
            self.device.type, enabled=self.precision == torch.float16
        )

    def train(self, bar: bool = True) -> None:
        """Train until the last epoch, or until early stopping.

        Args:
            bar: Whether to show a progress bar; only the first process does.

        Raises:
            ValueError: If an epoch has too few batches for a single update.
        """
        groups = self._groups(self.epoch)
        if not groups:
            raise ValueError(
                f"an epoch has fewer than {self.config.batches_per_update} batches: "
                "lower batches_per_update or batch_tokens"
            )
        total = len(groups) * self.config.max_epochs
        hidden = not (bar and self.processes.first)
        with tqdm(total=total, initial=self.step, disable=hidden) as progress:
            while not self.finished:
                self._train_epoch(self._groups(self.epoch), progress)
                self._end_epoch()

    @property
    def finished(self) -> bool:
        """Whether the run is over."""
        early = self.epochs_without_gain >= self.config.patience
        return early or self.epoch >= self.config.max_epochs

    def _groups(self, number: int) -> list[list[list[IdPair]]]:
        """The batches of an epoch, grouped by update; deterministic.

        With several batches per update, the last ones that do not fill one are dropped.
        """
        # The text is part of the seed: the order of the recorded run depends on it.
        rng = random.Random(f"{self.config.seed}, pass {number}")
        batches = token_batches(self.train_pairs, self.config.batch_tokens, rng)
        size = self.config.batches_per_update
        return [batches[i : i + size] for i in range(0, len(batches) - size + 1, size)]

    def _train_epoch(self, groups: Sequence[Sequence[list[IdPair]]], bar: tqdm) -> None:
        """Train the rest of an epoch, with regular logging and saving.

        The loss in the log is the mean over the updates since the previous line.
        """
        clock, tokens, losses = time.perf_counter(), 0, []
        for group in groups[self.updates_done :]:
            losses.append(self._update(group))
            tokens += target_tokens(group)
            self.updates_done += 1
            ends = self.updates_done == len(groups)
            saves = self.step % self.config.save_every == 0 and not ends
            if self.step % LOG_EVERY == 0 or ends or saves:
                loss = self.processes.sum(torch.stack(losses).mean())
                now = time.perf_counter()
                self.seconds += now - clock
                peak = peak_memory(self.device)
                self.peak_memory = max(self.peak_memory, peak)
                speed = tokens / (now - clock)
                self._log(
                    loss=loss,
                    learning_rate=self.learning_rate(),
                    tokens_per_second=speed,
                )
                bar.update(self.step - bar.n)
                bar.set_postfix_str(f"loss {loss:.3f}, {speed:,.0f} tokens/s")
                clock, tokens, losses = now, 0, []
            if saves:
                self._save()

    def _update(self, group: Sequence[list[IdPair]]) -> Tensor:
        """Take one step of Adam with this process's share of the batches.

        Returns:
            This process's part of the loss, in nats per token of the whole update.
        """
        self.step += 1
        world, rank = self.processes.world, self.processes.rank
        # Dropout depends on the number of the step alone, so that a resumed run equals
        # one without a break. (The CPU generator uses 32 bits; these differ for all
        # seeds in use.)
        torch.manual_seed(1_000_003 * self.config.seed + (self.step << 10) + rank)
        self.model.train()
        for entry in self.optimizer.param_groups:
            entry["lr"] = self.learning_rate()
        n_tokens = target_tokens(group)
        mine = [to_device(id_batch(pairs), self.device) for pairs in group[rank::world]]
        total = torch.zeros((), device=self.device)
        for batch in mine[:-1]:
            with self.processes.no_sync(self.wrapped):
                total += self._backward(batch, n_tokens)
        total += self._backward(mine[-1], n_tokens)
        self.scaler.unscale_(self.optimizer)
        nn.utils.clip_grad_norm_(self.model.parameters(), self.config.clip)
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.optimizer.zero_grad(set_to_none=True)
        return total

    def _backward(self, batch: Batch, n_tokens: int) -> Tensor:
        """Add the gradient of a batch: its summed loss over the update's tokens."""
        with torch.autocast(
            self.device.type, self.precision, self.precision != torch.float32
        ):
            loss = self.loss(batch) / n_tokens
        # DistributedDataParallel averages the gradients of the processes; a single
        # process would have their sum.
        self.scaler.scale(loss * self.processes.world).backward()
        return loss.detach()

    def _loss(self, batch: Batch) -> Tensor:
        """Sum of the loss over a batch's tokens, with R-Drop's term if it is used."""
        smoothing, alpha = self.config.smoothing, self.config.r_drop
        if not alpha:
            logits = self.wrapped(batch.src, batch.tgt_in)
            return label_smoothing_loss(logits, batch.tgt_out, smoothing).sum()
        logits = self.wrapped(batch.src.repeat(2, 1), batch.tgt_in.repeat(2, 1))
        twice = label_smoothing_loss(logits, batch.tgt_out.repeat(2, 1), smoothing)
        return twice.sum() / 2 + alpha / 2 * symmetric_kl(logits, batch.tgt_out).sum()

    def learning_rate(self) -> float:
        """The learning rate of the current update."""
        peak, warmup = self.config.peak_learning_rate, self.config.warmup
        if peak is None:
            return noam_learning_rate(self.step, self.config.d_model, warmup)
        return inverse_sqrt_learning_rate(self.step, peak, warmup)

    def _end_epoch(self) -> None:
        """Validate, keep the weights for the average, and save."""
        loss = self.processes.broadcast(self.validation_loss())
        self.epochs_without_gain += 1
        if loss < self.lowest:
            self.lowest, self.epochs_without_gain = loss, 0
        self.epoch += 1
        self.updates_done = 0
        if self.processes.first:
            outputs = beam_translate(
                self.model,
                self.subwords,
                self.val_texts.source,
                width=1,
                batch_tokens=4 * self.config.batch_tokens,  # no activations to store
            )
            score = corpus_bleu(outputs, self.val_texts.target).bleu
            self._log(validation_loss=loss, validation_bleu=score)
            kept = self.folder / "epochs"
            save_state(kept / f"{self.epoch:04}.safetensors", self.model)
            old = kept / f"{self.epoch - self.config.average:04}.safetensors"
            old.unlink(missing_ok=True)
        self._save()

    @torch.no_grad()
    def validation_loss(self) -> float:
        """Loss on the validation split, in nats per token, without label smoothing."""
        self.model.eval()
        total = torch.zeros((), device=self.device)
        batches = token_batches(
            self.val_pairs, self.config.batch_tokens, random.Random(0)
        )
        for pairs in batches:
            batch = to_device(id_batch(pairs), self.device)
            logits = self.model(batch.src, batch.tgt_in)
            total += label_smoothing_loss(logits, batch.tgt_out, smoothing=0.0).sum()
        return total.item() / target_tokens(batches)

    def _log(self, **entries: float) -> None:
        """Append a line to the log."""
        if self.processes.first:
            line = {"step": self.step, "epoch": self.epoch, **entries}
            line["seconds"] = round(self.seconds, 1)
            with (self.folder / "metrics.jsonl").open("a") as file:
                file.write(json.dumps(line) + "\n")

    def _save(self) -> None:
        """Write the state that a run is resumed from."""
        if self.processes.first:
            save_state(
                self.last,
                self.model,
                self.optimizer,
                **{name: getattr(self, name) for name in PROGRESS},
                scaler=self.scaler.state_dict(),
            )
        self.processes.wait()

    def _resume(self) -> None:
        """Resume from the last state."""
        numbers = load_state(self.last, self.model, self.optimizer)
        if missing := {*PROGRESS, "scaler"} - set(numbers):
            raise ValueError(
                f"{self.last} has no entry {', '.join(sorted(missing))}: it is not the "
                "last state of a run; start a new run in another folder"
            )
        if numbers["scaler"]:  # empty unless the run was in fp16
            self.scaler.load_state_dict(numbers["scaler"])
        for name in PROGRESS:
            setattr(self, name, numbers[name])

    def _truncate_log(self) -> None:
        """Remove from the log the updates that will be repeated."""
        if self.processes.first:
            path = self.folder / "metrics.jsonl"
            kept = [x for x in read_metrics(path) if x["step"] <= self.step]
            write_whole(path, "".join(json.dumps(line) + "\n" for line in kept))
        self.processes.wait()


def read_metrics(path: Path) -> list[dict]:
    """Read a run's log, without a last line that was cut off."""
    lines = path.read_text().split("\n")[:-1] if path.exists() else []
    return [json.loads(line) for line in lines]


def encode_pairs(subwords: Subwords, both: Texts) -> list[IdPair]:
    """Encode sentences and translations as ids."""
    return [
        IdPair(subwords.encode(s), subwords.encode(t))
        for s, t in zip(both.source, both.target, strict=True)
    ]


def target_tokens(batches: Sequence[Sequence[IdPair]]) -> int:
    """Number of target tokens, including ``EOS`` but not padding."""
    return sum(len(pair.target) + 1 for pairs in batches for pair in pairs)


def to_device(batch: Batch, device: torch.device) -> Batch:
    """Copy a batch to a device; to a GPU asynchronously."""
    if device.type == "cuda":
        return Batch(*(ids.pin_memory().to(device, non_blocking=True) for ids in batch))
    return Batch(*(ids.to(device) for ids in batch))
