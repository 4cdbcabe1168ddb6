"""The playground's engine computes what PyTorch computes, from the same numbers."""

import json
import subprocess
from dataclasses import asdict, replace
from itertools import islice
from pathlib import Path

import pytest
import torch
from playwright._impl._driver import compute_driver_executable

from attnbook.course.kit.playground import tasks
from attnbook.course.kit.playground.data import PAGE_DATA
from attnbook.course.kit.playground.model import Model, loss_of
from attnbook.course.kit.playground.random_numbers import Stream
from attnbook.course.kit.playground.setting import Setting
from attnbook.course.kit.playground.training import train

ROOT = Path(__file__).resolve().parents[4]
ENGINE = ROOT / "book" / "_static" / "live" / "playground" / "engine.js"
NODE = compute_driver_executable()[0]  # Playwright brings one along
TASKS = (*tasks.SYMBOL_TASKS, "next_word")

ATTENTION_ALONE = Setting(feed_forward=False, skip=False, norm="none", layers=1)
VARIANTS = {
    "default": Setting(),
    "post-norm, learned": Setting(norm="after", positions="learned", heads=4),
    "no norm, unscaled": Setting(
        norm="none", scaled=False, key_width=8, positions="none"
    ),
    "no skip, causal": Setting(skip=False, causal=True, task="add_previous"),
    "rotary, wide keys": Setting(
        positions="rotary", key_width=64, heads=1, causal=True
    ),
    "two questions": replace(ATTENTION_ALONE, task="previous_two", positions="learned"),
    "words": Setting(task="next_word", causal=True, width=16, layers=3),
    "words, post-norm alone": Setting(
        task="next_word", feed_forward=False, norm="after", skip=False
    ),
}


@pytest.fixture(scope="module")
def ask(tmp_path_factory):
    """A function that hands orders to the engine and returns its answers."""
    path = tmp_path_factory.mktemp("playground") / "orders.json"

    def answers(*orders):
        path.write_text(json.dumps({"data": PAGE_DATA, "orders": orders}))
        runner = Path(__file__).with_name("playground_node.js")
        command = [NODE, runner, ENGINE, path]
        shown = subprocess.run(command, capture_output=True, text=True)
        assert not shown.returncode, shown.stderr
        return json.loads(shown.stdout)

    return answers


def test_random_numbers_are_the_same(ask):
    names = ["0/batches", "12/embedding.weight", ""]
    told = ask(*({"do": "numbers", "name": name, "count": 1500} for name in names))
    for name, numbers in zip(names, told, strict=True):
        assert list(islice(iter(Stream(name)), 1500)) == numbers
        stream = Stream(name)
        assert stream.take(3, 5).flatten().tolist() == numbers[:15]
        assert stream.take(2).tolist() == numbers[15:17]


def test_random_numbers_are_spread_evenly():
    numbers = Stream("3/batches").take(160_000)
    counts = torch.histc(numbers, 16, 0, 1)
    assert (counts - 10_000).abs().max() < 500  # five standard deviations
    assert abs(torch.corrcoef(torch.stack([numbers[1:], numbers[:-1]]))[0, 1]) < 0.0125


def test_batches_are_the_same(ask):
    orders = [
        {
            "do": "batches",
            "task": task,
            "name": "1/b",
            "batch": 5,
            "length": 7,
            "count": 3,
        }
        for task in TASKS
    ]
    for task, told in zip(TASKS, ask(*orders), strict=True):
        ours = tasks.batches(task, "1/b", 5, 7)
        for (ids, targets), theirs in zip(ours, told, strict=False):
            assert ids.flatten().tolist() == theirs["ids"], task
            assert targets.flatten().tolist() == theirs["targets"], task


def test_answers_are_right():
    """By hand."""
    ids = torch.tensor([[3, 15, 2, 2]])
    answers = {name: t(ids.clone()) for name, t in tasks.SYMBOL_TASKS.items()}
    assert answers["reverse"][1][0, :, 0].tolist() == [2, 2, 15, 3]
    assert answers["sort"][1][0, :, 0].tolist() == [2, 2, 3, 15]
    pairs = [[-1, -1], [3, -1], [15, 3], [2, 15]]
    assert answers["previous_two"][1][0].tolist() == pairs
    assert answers["add_previous"][1][0, :, 0].tolist() == [-1, 2, 1, 4]
    assert answers["count_positions"][0].tolist() == [[0, 15, 2, 2]]
    assert answers["count_positions"][1][0, :, 0].tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("variant", VARIANTS)
def test_loss_and_gradients_are_those_of_pytorch(ask, variant):
    setting = VARIANTS[variant]
    batch = 6
    [told] = ask({"do": "gradients", "setting": asdict(setting), "batch": batch})
    model = Model(setting).double()
    ids, targets = next(tasks.batches(setting.task, f"{setting.seed}/batches", batch))
    loss = loss_of(model(ids), targets)
    loss.backward()
    assert told["loss"] == pytest.approx(loss.item(), rel=1e-6)
    parameters = dict(model.named_parameters())
    assert told["gradients"].keys() == parameters.keys()
    largest = max(p.grad.norm().item() for p in parameters.values())
    for name, parameter in parameters.items():
        theirs = torch.tensor(told["gradients"][name], dtype=torch.float64)
        ours = parameter.grad.flatten()
        # The keys' biases shift all scores of a row alike: their gradient is 0.
        size = max(ours.norm().item(), 1e-2 * largest)
        assert (theirs - ours).norm() / size < 1e-5, name
