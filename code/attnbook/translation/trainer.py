"""The training loop for real data, on a CPU, a GPU or several GPUs."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean

import torch
from torch import Tensor, nn
from tqdm.auto import tqdm

from attnbook.core.checks import check_entries
from attnbook.core.divergence import DivergedError, check_finite
from attnbook.core.files import write_whole
from attnbook.data.batching import Batch, IdPair, id_batch, token_batches
from attnbook.data.subwords import Subwords
from attnbook.models.registry import RECURRENT
from attnbook.nn.losses import label_smoothing_loss, symmetric_kl
from attnbook.translation.bleu_score import corpus_scores
from attnbook.translation.configs import Config, to_json
from attnbook.translation.corpora import load_texts
from attnbook.translation.cuda_graphs import GraphedFunction
from attnbook.translation.devices import choose_precision, peak_memory, set_backends
from attnbook.translation.distributed import Processes
from attnbook.translation.evaluation import beam_translate, runaway_share
from attnbook.translation.feeds import (
    Feed,
    FixedFeed,
    encode_pairs,
    target_tokens,
    to_device,
)
from attnbook.translation.models import model_from_config
from attnbook.translation.run_folder import (
    LOG,
    append_metrics,
    check_folder,
    leave_nothing,
    lock_folder,
    truncate_metrics,
)
from attnbook.translation.schedules import learning_rate_of
from attnbook.translation.training_state import load_state, save_state

LOG_EVERY = 50
"""Updates between two lines of the log; reading the loss synchronises the GPU. States
are written at these updates, too, so that a resumed run has the same log."""

MIN_SCALE = 1e-4
"""The scale of fp16's loss below which training stops, as in fairseq."""

MAY_CHANGE = (
    *("max_epochs", "patience", "average", "validate_every", "scored_share"),
    *("score_tests", "save_minutes", "device", "precision", "compile", "cuda_graphs"),
)
"""Entries of the config that may differ when a run is resumed."""

PROGRESS = {
    **{"step": int, "epoch": int, "updates_done": int, "epochs_without_gain": int},
    **{"lowest": float, "seconds": float, "peak_memory": int},
}
"""Attributes of a trainer that hold the progress of its run, and their types."""


class Trainer:
    """A training run in its own folder; made again for the folder, it resumes the run.

    The folder holds ``config.json``, ``subwords.json``, ``last.safetensors`` (the state
    to resume from), ``epochs/`` (weights after each of the last epochs, to be averaged)
    and ``metrics.jsonl`` (the log, one JSON object per line). The file ``lock`` is
    locked while a trainer for the folder exists, so that no other program trains there.

    Args:
        config: The config of the run; several processes raise ``batches_per_update``
            to a multiple of their number.
        folder: The folder; it is created if it does not exist.
        clock: Gives the time in seconds; it decides when a state is due.

    Attributes:
        updates: Number of updates of all epochs, as far as one epoch tells.
        stopped: Whether training ended because :meth:`stop` was called.

    Raises:
        ValueError: If the folder holds a run of another config (except for
            :data:`MAY_CHANGE`), another program trains in it, a file in it cannot be
            read, or the data or the device is not available.
    """

    def __init__(
        self,
        config: Config,
        folder: Path | str,
        clock: Callable[[], float] = time.perf_counter,
    ):
        self.folder, self.clock = Path(folder), clock
        self.stop_requested = self.stopped = False
        self.processes = Processes(config.device)
        even = self.processes.share_alike(config.batches_per_update)
        self.config = replace(config, batches_per_update=even)
        self.device = self.processes.device
        set_backends()
        made = [p for p in (self.folder, *self.folder.parents) if not p.exists()]
        if self.processes.first:
            self.lock = lock_folder(self.folder)
        try:
            self._set_up()
        except BaseException:
            self.close()
            if self.processes.first:
                leave_nothing(self.folder, made)
            raise

    def _set_up(self) -> None:
        """Load the data, make the model, and read the last state if there is one."""
        config = self.config
        self._open_folder()
        self.subwords = self._subwords()
        self.train_pairs = encode_pairs(self.subwords, load_texts(config, "train"))
        self.val_texts = load_texts(config, "val")
        self.val_pairs = encode_pairs(self.subwords, self.val_texts)
        self.precision = choose_precision(
            config.precision, self.device, config.model in RECURRENT
        )
        feed = FixedFeed if config.few_shapes else Feed
        self.feed = feed(self.train_pairs, config, self.device)
        self.updates = len(self.feed.groups(0)) * config.max_epochs
        self._make_model()
        if self.processes.first:  # only now that the config has proved usable
            write_whole(self.folder / "config.json", to_json(config))
        self.step = self.epoch = self.updates_done = self.epochs_without_gain = 0
        self.lowest = float("inf")
        self.seconds, self.peak_memory = 0.0, 0
        if self.last.exists():
            self._resume()
        if self.processes.first:
            truncate_metrics(self.folder / LOG, self.step)
        self.processes.wait()

    @property
    def last(self) -> Path:
        """The file that a run is resumed from."""
        return self.folder / "last.safetensors"

    def close(self) -> None:
        """Leave the folder and the process group; the trainer is then of no use."""
        if self.processes.first:
            self.lock.release()
        self.processes.close()

    def _open_folder(self) -> None:
        """Create the folder, or check that it holds a run of the same config."""
        resumed = check_folder(self.folder, self.config, MAY_CHANGE)
        self.processes.wait()  # until all have read the old config
        if self.processes.first:
            (self.folder / "epochs").mkdir(parents=True, exist_ok=True)
            if not resumed:  # subwords left here are of no run or a failed one
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
                tokenised=self.config.moses,
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
        fused = self.device.type in ("cpu", "cuda")  # one kernel for all weights
        self.optimizer = torch.optim.Adam(
            self.model.parameters(), betas=(0.9, 0.98), eps=1e-9, fused=fused or None
        )
        self.scaler = torch.amp.GradScaler(
            self.device.type, enabled=self.precision == torch.float16
        )
        self.gradient: Callable[..., Tensor] = self._gradient
        if self.recorded:
            for p in self.model.parameters():  # a recording adds to them where they are
                p.grad = torch.zeros_like(p)
            self.gradient = GraphedFunction(self._gradient)

    @property
    def recorded(self) -> bool:
        """Whether a GPU records each shape of batch, and replays it."""
        wanted = self.config.few_shapes and self.config.cuda_graphs
        alone = self.processes.world == 1 and not self.config.compile
        # The scale of fp16's loss changes, and cuDNN's GRU has a state of its own.
        plain = self.precision != torch.float16 and self.config.model not in RECURRENT
        return wanted and alone and plain and self.device.type == "cuda"

    def updates_left(self) -> int:
        """Number of updates until the last epoch, if no early stopping ends the run."""
        return self.updates - self.step

    def seconds_per_update(self, number: int = 3) -> float:
        """Time the gradients of a few updates; nothing of the run changes.

        Args:
            number: How many, from all over an epoch.
        """
        whole = self.feed.groups(0)
        groups = whole[:: max(len(whole) // number, 1)][:number]
        self.model.train()
        self._time_gradients(groups[0])  # the first one takes longer
        seconds = sum(self._time_gradients(group) for group in groups)
        self.optimizer.zero_grad(set_to_none=not self.recorded)
        return seconds / len(groups)

    def _time_gradients(self, group: Sequence[list[IdPair]]) -> float:
        """Seconds that this process's gradients of an update take."""
        began, n_tokens = self.clock(), target_tokens(group)
        for pairs in group[self.processes.rank :: self.processes.world]:
            self._backward(self.feed.make(pairs), n_tokens).item()  # waits for a GPU
        return self.clock() - began

    def train(self, bar: bool = True) -> None:
        """Train until the last epoch, early stopping, or a call of :meth:`stop`.

        Args:
            bar: Whether to show a progress bar; only the first process does.

        Raises:
            DivergedError: If a loss, a gradient or a weight is no longer finite; the
                last state, of before, is kept.
        """
        hidden = not (bar and self.processes.first)
        self.saved_at = self.clock()
        with tqdm(total=self.updates, initial=self.step, disable=hidden) as progress:
            while not (self.finished or self.stopped):
                self._train_epoch(self.feed.groups(self.epoch), progress)
                if not self.stopped:
                    validated = self._end_epoch()
                    self.stopped = self._asked_to_stop()
                    if validated or self.stopped or self._save_due():
                        self._save()
        # A process that exits while Gloo still holds a tensor of the last sum aborts.
        self.processes.wait()

    def stop(self) -> None:
        """Ask a running :meth:`train` to save its state and to return soon.

        It does so after the current update, or, with several processes, at the next
        line of the log. It can be called by a signal handler or another thread.
        """
        self.stop_requested = True

    def _asked_to_stop(self) -> bool:
        """Whether :meth:`stop` was called in any process, which all must know alike."""
        asked = torch.tensor(float(self.stop_requested), device=self.device)
        return self.processes.sum(asked) > 0

    def _save_due(self) -> bool:
        """Whether the last state is so old that a new one must be written."""
        age = self.processes.broadcast(self.clock() - self.saved_at)
        return age >= 60 * self.config.save_minutes

    @property
    def finished(self) -> bool:
        """Whether the run is over."""
        early = self.epochs_without_gain >= self.config.patience
        return early or self.epoch >= self.config.max_epochs

    def _train_epoch(self, groups: Sequence[Sequence[list[IdPair]]], bar: tqdm) -> None:
        """Train the rest of an epoch, or until asked to stop; log and save regularly.

        The loss in the log is the mean over the updates since the previous line.
        """
        began, tokens, losses = self.clock(), 0, []
        alone = self.processes.world == 1
        for group in groups[self.updates_done :]:
            losses.append(self._update(group))
            tokens += target_tokens(group)
            self.updates_done += 1
            ends = self.updates_done == len(groups)
            stops = self.stop_requested and alone
            if not (self.step % LOG_EVERY == 0 or ends or stops):
                continue
            loss = self._mean_loss(losses)
            now = self.clock()
            self._log_updates(loss, tokens, now - began, bar)
            began, tokens, losses = now, 0, []
            if ends:  # what ends an epoch also saves
                return
            self.stopped = self._asked_to_stop()
            if self.stopped or self._save_due():
                self._save()
            if self.stopped:
                return

    def _mean_loss(self, losses: list[Tensor]) -> float:
        """The mean loss of the last updates, all of which must be finite."""
        values = self.processes.sum(torch.stack(losses))
        check_finite((), values, first=self.step - len(values) + 1)
        if self.scaler.is_enabled() and self.scaler.get_scale() < MIN_SCALE:
            raise DivergedError("the gradients overflow in fp16, however small")
        return fmean(values)

    def _log_updates(self, loss: float, tokens: int, seconds: float, bar: tqdm) -> None:
        """Log some updates: their mean loss and how fast they were."""
        self.seconds += seconds
        self.peak_memory = max(self.peak_memory, peak_memory(self.device))
        speed = tokens / max(seconds, 1e-9)  # a coarse clock may not have moved
        self._log(
            loss=loss, learning_rate=self.learning_rate(), tokens_per_second=speed
        )
        bar.update(self.step - bar.n)
        bar.set_postfix_str(f"loss {loss:.3f}, {speed:,.0f} tokens/s")

    def _update(self, group: Sequence[list[IdPair]]) -> Tensor:
        """Take one step of Adam with this process's share of the batches.

        Returns:
            This process's part of the loss, in nats per token of the whole update; it
            isn't finite if the gradient isn't.
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
        mine = [self.feed.make(pairs) for pairs in group[rank::world]]
        total = torch.zeros((), device=self.device)
        for batch in mine[:-1]:
            with self.processes.no_sync(self.wrapped):
                total += self._backward(batch, n_tokens)
        total += self._backward(mine[-1], n_tokens)
        self.scaler.unscale_(self.optimizer)
        norm = nn.utils.clip_grad_norm_(self.model.parameters(), self.config.clip)
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.optimizer.zero_grad(set_to_none=not self.recorded)
        if self.scaler.is_enabled():  # which leaves out an update that overflows
            return total
        return total + 0 * norm  # NaN, too, if the gradient isn't finite

    def _backward(self, batch: Batch, n_tokens: int) -> Tensor:
        """Add the gradient of a batch: its summed loss over the update's tokens."""
        if not self.recorded:
            return self._gradient(*batch, n_tokens)
        # A number would be recorded as it is, and a copy from the CPU would wait.
        tokens = torch.full((), float(n_tokens), device=self.device)
        return self.gradient(*batch, tokens)

    def _gradient(
        self, src: Tensor, tgt_in: Tensor, tgt_out: Tensor, n_tokens: int | Tensor
    ) -> Tensor:
        """What is recorded: the same for all batches of a shape, without a branch."""
        with torch.autocast(
            self.device.type, self.precision, self.precision != torch.float32
        ):
            loss = self.loss(Batch(src, tgt_in, tgt_out)) / n_tokens
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
        return learning_rate_of(self.config, self.step, self.updates)

    def _end_epoch(self) -> bool:
        """Keep the weights for the average, and validate if that is due.

        Returns:
            Whether the epoch was validated.
        """
        self.epoch += 1
        self.updates_done = 0
        if self.processes.first:
            kept = self.folder / "epochs"
            save_state(kept / f"{self.epoch:04}.safetensors", self.model)
            old = kept / f"{self.epoch - self.config.average:04}.safetensors"
            old.unlink(missing_ok=True)
        past, last = self.epoch % self.config.validate_every, self.config.max_epochs
        if past and self.epoch < last:
            return False
        self._validate(past or self.config.validate_every)
        return True

    def _validate(self, epochs: int) -> None:
        """Log the loss and the scores on the validation split.

        Args:
            epochs: How many have passed since the last validation.
        """
        loss = self.processes.broadcast(self.validation_loss(shared=True))
        self.epochs_without_gain += epochs
        if loss < self.lowest:
            self.lowest, self.epochs_without_gain = loss, 0
        outputs = self._validation_outputs()
        if self.processes.first:
            right = self.val_texts.target[: len(outputs)]
            scores = corpus_scores(outputs, right, self.config.lowercase)
            self._log(
                validation_loss=loss,
                validation_bleu=scores.bleu,
                validation_chrf=scores.chrf,
                validation_length_ratio=scores.length_ratio,
                validation_runaway=runaway_share(outputs, right),
            )

    def _validation_outputs(self) -> list[str]:
        """Translate the first sentences greedily; each process translates a share."""
        source = self.val_texts.source
        source = source[: math.ceil(self.config.scored_share * len(source))]
        size = 4 * self.config.batch_tokens  # no activations to store
        return self.processes.spread(
            source,
            lambda share: beam_translate(
                self.model, self.subwords, share, width=1, batch_tokens=size
            ),
        )

    @torch.no_grad()
    def validation_loss(self, shared: bool = False) -> float:
        """Loss on the validation split, in nats per token, without label smoothing.

        Args:
            shared: Whether all processes call this together, each for a share of the
                batches.

        Raises:
            DivergedError: If it isn't finite.
        """
        rank, world = self.processes.rank, self.processes.world
        mine = slice(rank, None, world) if shared else slice(None)
        self.model.eval()
        total = torch.zeros((), device=self.device)
        batches = token_batches(
            self.val_pairs, self.config.batch_tokens, random.Random(0)
        )
        for pairs in batches[mine]:
            batch = to_device(id_batch(pairs), self.device)
            logits = self.model(batch.src, batch.tgt_in)
            total += label_smoothing_loss(logits, batch.tgt_out, smoothing=0.0).sum()
        loss = self.processes.sum(total) if shared else total.item()
        if not math.isfinite(loss):
            raise DivergedError(
                f"after update {self.step} the validation loss is {loss}"
            )
        return loss / target_tokens(batches)

    def _log(self, **entries: float) -> None:
        """Append a line to the log."""
        if self.processes.first:
            line = {"step": self.step, "epoch": self.epoch, **entries}
            line["seconds"] = round(self.seconds, 1)
            append_metrics(self.folder / LOG, line)

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
        self.saved_at = self.clock()
        self.processes.wait()

    def _resume(self) -> None:
        """Resume from the last state."""
        numbers = load_state(self.last, self.model, self.optimizer)
        remedy = "it is no last state of a run; start a new run in another folder"
        check_entries(self.last, numbers, remedy, **PROGRESS, scaler=dict)
        if numbers["scaler"]:  # empty unless the run was in fp16
            self.scaler.load_state_dict(numbers["scaler"])
        for name in PROGRESS:
            setattr(self, name, numbers[name])
