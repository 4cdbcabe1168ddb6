"""The training loop for real data, on a CPU, a GPU or several GPUs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from statistics import fmean
from time import perf_counter

import torch
from torch import Tensor, nn
from tqdm.auto import tqdm

from attnbook.core.divergence import check_finite
from attnbook.data.batching import IdPair, id_batch, target_tokens
from attnbook.data.subwords import Subwords
from attnbook.models.registry import RECURRENT
from attnbook.nn.losses import label_smoothing_loss
from attnbook.translation import run_folder, training_state
from attnbook.translation.backends import choose_precision, peak_memory, set_backends
from attnbook.translation.configs import Config
from attnbook.translation.corpora import cut_updates, encode_pairs, load_texts
from attnbook.translation.distributed import Processes
from attnbook.translation.models import model_from_config
from attnbook.translation.muon import Muon, hidden_matrices
from attnbook.translation.schedules import learning_rate
from attnbook.translation.validation import mean_loss, score_greedy, to_device

LOG_EVERY = 50
"""Updates between two lines of the log; reading the loss synchronises the GPU. States
are written at these updates, too, so that a resumed run has the same log."""

CLIP = 1.0
"""Largest norm of the gradient; a larger one is scaled down to it."""

SAVE_SECONDS = 600
"""Age at which the last state is replaced; it also is after each epoch."""


class Trainer:
    """A training run in its own folder; made again for the folder, it resumes the run.

    :mod:`attnbook.translation.run_folder` says what the folder holds.

    Args:
        config: The config of the run.
        folder: The folder; it is created if it does not exist.
        device: Where to train: see :func:`~attnbook.core.devices.choose_device`.

    Attributes:
        updates: Number of updates of all epochs, as far as one epoch tells.
        stopped: Whether training ended because :meth:`stop` was called.

    Raises:
        ValueError: If the folder holds another run, another program trains in it, a
            file in it cannot be read, or data or device are not available.
    """

    def __init__(self, config: Config, folder: Path | str, device: str = "auto"):
        self.config, self.folder = config, Path(folder)
        self.last = self.folder / "last.safetensors"
        self.stop_requested = self.stopped = False
        self.processes = Processes(device)
        self.device, self.world = self.processes.device, self.processes.world
        self.first = self.processes.rank == 0
        set_backends()
        new = [p for p in (self.folder, *self.folder.parents) if not p.exists()]
        if self.first:
            self.lock = run_folder.lock_folder(self.folder)
        try:
            self._load_texts()
            self._make_model()
            self._begin_or_resume()
        except BaseException:
            self.close()
            if self.first:
                run_folder.remove_refused(self.folder, new)
            raise

    def _load_texts(self) -> None:
        """Load both splits, as ids of subwords that the first process learns."""
        texts = load_texts(self.config, "train")
        if self.first:
            run_folder.prepare_folder(self.folder, self.config, texts)
        self.processes.wait()
        self.subwords = Subwords.load(self.folder / "subwords.json")
        self.train_pairs = encode_pairs(self.subwords, texts)
        self.val_texts = load_texts(self.config, "val")
        self.val_pairs = encode_pairs(self.subwords, self.val_texts)
        how = self.config, self.world
        self.updates_of = partial(cut_updates, self.train_pairs, *how)
        self.updates = len(self.updates_of(0)) * self.config.max_epochs

    def _make_model(self) -> None:
        """Make model and optimizer, with equal weights in all processes."""
        kind = self.config.precision, self.device, self.config.model in RECURRENT
        self.precision = choose_precision(*kind)
        torch.manual_seed(self.config.seed)
        self.model = model_from_config(self.config, len(self.subwords)).to(self.device)
        self.wrapped = self.processes.average_gradients(self.model)
        fused = self.device.type in ("cpu", "cuda")  # one kernel for all weights
        weights = [*self.model.parameters()]
        about = {"betas": (0.9, 0.98), "eps": 1e-9, "fused": fused or None}
        if self.config.optimizer == "muon":
            hidden = hidden_matrices(self.model, len(self.subwords))
            self.optimizer = Muon(weights, hidden, **about)
        else:
            self.optimizer = torch.optim.Adam(weights, **about)

    def _begin_or_resume(self) -> None:
        """Begin a run, now that its config has proved usable, or resume it."""
        self.step = self.epoch = self.updates_done = self.epochs_without_gain = 0
        self.lowest, self.seconds, self.peak_memory = math.inf, 0.0, 0
        if self.last.exists():
            state = self.last, self.model, self.optimizer
            vars(self).update(training_state.load_state(*state))
            run_folder.check_processes(self.folder, self.world, self.processes.world)
        if self.first:
            run_folder.begin_run(self.folder, self.config, self.step)
        self.processes.wait()  # until all have read the state

    def close(self) -> None:
        """Leave the folder and the process group; the trainer is then of no use."""
        if self.first:
            self.lock.release()
        self.processes.close()

    def train(self, bar: bool = True) -> None:
        """Train until the last epoch, early stopping, or a call of :meth:`stop`.

        Args:
            bar: Whether to show a progress bar; only the first process does.

        Raises:
            DivergedError: If a loss, a gradient or a weight is no longer finite; the
                last state, of before, is kept.
        """
        self.saved_at, hidden = perf_counter(), not (bar and self.first)
        with tqdm(total=self.updates, initial=self.step, disable=hidden) as progress:
            while not (self.finished or self.stopped):
                updates = self.updates_of(self.epoch)
                began, losses, tokens = perf_counter(), [], 0
                for batches in updates[self.updates_done :]:
                    losses.append(self._update(batches))
                    tokens += target_tokens(batches)
                    self.updates_done += 1
                    ends = self.updates_done == len(updates)
                    stops = self.stop_requested and self.world == 1
                    if not (ends or stops or self.step % LOG_EVERY == 0):
                        continue
                    self._log_updates(losses, tokens, perf_counter() - began, progress)
                    began, losses, tokens = perf_counter(), [], 0
                    if ends:
                        self._end_epoch()
                    self.stopped = self.processes.mean(self.stop_requested) > 0
                    if ends or self.stopped or began - self.saved_at >= SAVE_SECONDS:
                        self._save()
                    if self.stopped:
                        break
        # A process that exits while Gloo still holds a tensor of the last sum aborts.
        self.processes.wait()

    def _update(self, batches: Sequence[list[IdPair]]) -> Tensor:
        """Take one step of Adam by a batch of each process.

        Returns:
            This process's part of the loss, per token of all; NaN if a gradient is.
        """
        self.step += 1
        rank = self.processes.rank
        # Dropout depends on the number of the step alone, so that a resumed run equals
        # one without a break. (The CPU generator uses 32 bits; these differ for all
        # seeds in use.)
        torch.manual_seed(1_000_003 * self.config.seed + (self.step << 10) + rank)
        self.model.train()
        batch = to_device(id_batch(batches[rank]), self.device)
        half = self.precision != torch.float32
        with torch.autocast(self.device.type, self.precision, enabled=half):
            logits = self.wrapped(batch.src, batch.tgt_in)  # (B, T, V)
            loss = label_smoothing_loss(logits, batch.tgt_out, self.config.smoothing)
            loss = loss.sum() / target_tokens(batches)
        (loss * self.world).backward()  # whose mean over the processes is to be the sum
        norm = nn.utils.clip_grad_norm_(self.model.parameters(), CLIP)
        for entry in self.optimizer.param_groups:
            entry["lr"] = learning_rate(self.config, self.step, self.updates)
        self.optimizer.step()
        self.optimizer.zero_grad()
        return loss.detach() + 0 * norm

    def _log_updates(
        self, losses: list[Tensor], tokens: int, seconds: float, bar: tqdm
    ) -> None:
        """Log some updates: their mean loss, which must be finite, and their speed."""
        values = self.processes.sum(torch.stack(losses))
        check_finite((), values, first=self.step - len(values) + 1)
        loss = fmean(values)
        rate = learning_rate(self.config, self.step, self.updates)
        speed = tokens / max(seconds, 1e-9)  # a coarse clock may not have moved
        self.seconds += seconds
        self.peak_memory = max(self.peak_memory, peak_memory(self.device))
        self._log(loss=loss, learning_rate=rate, tokens_per_second=speed)
        bar.update(self.step - bar.n)
        bar.set_postfix_str(f"loss {loss:.3f}, {speed:,.0f} tokens/s")

    def _log(self, **entries: float) -> None:
        """Append a line to the log."""
        line = {"step": self.step, "epoch": self.epoch, **entries}
        line["seconds"] = round(self.seconds, 1)
        if self.first:
            run_folder.append_metrics(self.folder / run_folder.LOG, line)

    def _end_epoch(self) -> None:
        """Keep the weights for the average, and validate."""
        self.epoch += 1
        self.updates_done = 0
        if self.first:
            kept = self.epoch, self.config.average
            training_state.keep_weights(self.folder, self.model, *kept)
        loss = self.processes.mean(self.validation_loss())
        self.epochs_without_gain += 1
        if loss < self.lowest:
            self.lowest, self.epochs_without_gain = loss, 0
        if self.first:
            size = 4 * self.config.batch_tokens  # no activations to store
            scores = score_greedy(self.model, self.subwords, self.val_texts, size)
            self._log(validation_loss=loss, **scores)

    def validation_loss(self) -> float:
        """Loss on the validation split, in nats per token, without smoothing."""
        size, step = self.config.batch_tokens, self.step
        return mean_loss(self.model, self.val_pairs, size, f"after update {step}")

    def _save(self) -> None:
        """Write the state that a run is resumed from."""
        self.saved_at = perf_counter()
        if self.first:
            state = self.last, self.model, self.optimizer
            progress = {name: getattr(self, name) for name in training_state.PROGRESS}
            training_state.save_state(*state, **progress)

    @property
    def ended_early(self) -> bool:
        """Whether the run is over for want of a lower validation loss."""
        late = self.epochs_without_gain >= self.config.patience
        return late and self.epoch < self.config.max_epochs

    @property
    def finished(self) -> bool:
        """Whether the run is over."""
        return self.ended_early or self.epoch >= self.config.max_epochs

    def stop(self) -> None:
        """Ask a running :meth:`train`, from a signal handler say, to save and return.

        It does so after an update, or, with several processes, at a line of the log.
        """
        self.stop_requested = True
