"""Whole training runs on a GPU: every precision, to the end, and resumed."""

from functools import cache

import pytest
import torch
from emulated_cuda import emulated_cuda
from small_runs import lines_of, small_config, write_texts

from attnbook.translation import evaluation
from attnbook.translation.distributed import Processes
from attnbook.translation.report import finish
from attnbook.translation.trainer import Trainer
from attnbook.translation.training_state import read_state
from attnbook.translation.translator import Translator

KINDS = {
    "fp32": {},
    "bf16": {"precision": "bf16"},
    "auto": {"precision": "auto"},
    "accumulation": {"batches_per_update": 2},
    "few shapes": {"few_shapes": True, "cuda_graphs": False},
    "R-Drop": {"r_drop": 1.0},
    "no feed-forward": {"variant": "no_feed_forward"},
    "recurrent": {"model": "luong", "precision": "auto"},
}
"""Changes of the config."""


@pytest.fixture(scope="module")
def fresh(tmp_path_factory):
    """A function that makes a trainer of a small config, in a folder of its own."""
    folder = tmp_path_factory.mktemp("runs")
    texts = write_texts(folder / "texts", {"train": 24, "val": 3, "test": 2})

    def make(name, **changes):
        small = {"d_model": 16, "n_heads": 2, "d_ff": 16, "batch_tokens": 128}
        changes = {"max_epochs": 1, **small, **changes}
        return Trainer(small_config(texts, **changes), folder / name)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(evaluation, "max_output_len", lambda length: length + 3)
        yield make


@pytest.fixture(scope="module")
def on_the_cpu(fresh):
    """The log of a run of each kind on the CPU."""

    @cache
    def log_of(kind):
        trainer = fresh(f"reference {kind}", **KINDS[kind], device="cpu")
        trainer.train(bar=False)
        return lines_of(trainer.folder)

    return log_of


def same_logs(log, reference, tolerance):
    for line, other in zip(log, reference, strict=True):
        assert line == pytest.approx(other, abs=tolerance)


@pytest.mark.parametrize("kind", KINDS)
def test_a_whole_run(fresh, on_the_cpu, gpu, kind):
    trainer = fresh(f"GPU {kind}", **KINDS[kind], device=gpu)
    trainer.train(bar=False)
    assert {p.device.type for p in trainer.model.parameters()} == {gpu}
    half = kind in ("bf16", "auto")
    assert trainer.precision == (torch.bfloat16 if half else torch.float32)
    tolerance = 0.05 if half else 1e-4
    same_logs(lines_of(trainer.folder), on_the_cpu(kind), tolerance)


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_adam_is_one_kernel(fresh, gpu, device):
    assert fresh(f"fused {device}", device=device).optimizer.defaults["fused"]


@pytest.fixture
def old_gpu():
    """A GPU with tensor cores for fp16 alone, such as Colab's T4."""
    with emulated_cuda(capability=(7, 5)):
        yield


def mean_square_gradients(trainer):
    """What Adam remembers of the clipped gradients, by the name of the entry."""
    content, _ = read_state(trainer.last)
    return {
        name: values.sum().item()
        for name, values in content.items()
        if name.endswith("exp_avg_sq")
    }


def test_in_fp16_the_loss_is_scaled_and_gradients_are_clipped_unscaled(
    fresh, on_the_cpu, old_gpu
):
    trainer = fresh("fp16", device="cuda", precision="auto", clip=0.5)
    trainer.train(bar=False)
    assert trainer.precision == torch.float16
    assert trainer.scaler.is_enabled()
    assert trainer.scaler.get_scale() > 1
    same_logs(lines_of(trainer.folder), on_the_cpu("fp32"), 0.05)
    reference = fresh("fp32", device="cuda", precision="fp32", clip=0.5)
    reference.train(bar=False)
    # About: the first update overflowed, and was left out.
    ours, theirs = map(mean_square_gradients, (trainer, reference))
    assert sum(ours.values()) == pytest.approx(sum(theirs.values()), rel=0.5)


def test_an_overflow_in_fp16_costs_one_update(fresh, old_gpu):
    trainer = fresh("overflow", device="cuda", precision="fp16")
    trainer.scaler = torch.amp.GradScaler("cuda", init_scale=1e30)
    trainer.train(bar=False)
    assert trainer.scaler.get_scale() < 1e30
    assert all(p.isfinite().all() for p in trainer.model.parameters())


@pytest.mark.parametrize("precision", ["bf16", "fp16"])
def test_a_resumed_run_is_a_whole_one(fresh, gpu, precision):
    change = {"precision": precision, "device": gpu}
    whole = fresh(f"whole {precision}", **change, max_epochs=2)
    whole.train(bar=False)
    fresh(f"parts {precision}", **change).train(bar=False)
    again = fresh(f"parts {precision}", **change, max_epochs=2)
    assert again.epoch == 1
    again.train(bar=False)
    assert lines_of(again.folder) == lines_of(whole.folder)
    for ours, reference in zip(
        again.model.parameters(), whole.model.parameters(), strict=True
    ):
        assert torch.equal(ours, reference)
    assert again.scaler.state_dict() == whole.scaler.state_dict()


def test_a_run_goes_on_where_there_is_another_device(fresh, gpu):
    for epoch, device in enumerate((gpu, "cpu", gpu), 1):
        there = fresh("moved", device=device, max_epochs=epoch)
        there.train(bar=False)
    assert lines_of(there.folder)[-1]["epoch"] == 3


@pytest.mark.parametrize("model", ["transformer", "bahdanau"])
def test_a_finished_run_translates(fresh, gpu, model):
    trainer = fresh(f"finished {model}", device=gpu, model=model)
    trainer.train(bar=False)
    assert finish(trainer)["machine"] == "emulated GPU"
    texts = trainer.val_texts.source
    here = Translator(trainer.folder / "model", "cpu")
    there = Translator(trainer.folder / "model", gpu)
    assert {p.device.type for p in there.model.parameters()} == {gpu}
    for width in (1, 3):
        assert there(texts, width=width) == here(texts, width=width)


def test_each_process_has_its_own_gpu_and_joins_by_nccl(gpu, monkeypatch):
    used, joined = [], []
    monkeypatch.setattr(torch.cuda, "set_device", used.append)
    monkeypatch.setattr(
        torch.distributed, "init_process_group", lambda *a, **k: joined.append((a, k))
    )
    assert Processes(gpu).device == torch.device(gpu, 0)
    for name, value in {"RANK": "3", "WORLD_SIZE": "4", "LOCAL_RANK": "1"}.items():
        monkeypatch.setenv(name, value)
    second = torch.device(gpu, 1)
    assert Processes(gpu).device == used[-1] == second
    ((backend,), options) = joined.pop()
    assert (backend, options["device_id"]) == ("nccl", second)


def test_attention_on_a_gpu_is_pytorchs_own_and_fp32_is_fp32(fresh, gpu):
    kernels = torch.backends.cuda
    try:
        kernels.enable_cudnn_sdp(True)
        torch.backends.cudnn.allow_tf32 = True
        fresh("kernels", device=gpu)
        assert not kernels.cudnn_sdp_enabled()
        assert not torch.backends.cudnn.allow_tf32
    finally:
        kernels.enable_cudnn_sdp(False)
        torch.backends.cudnn.allow_tf32 = False
