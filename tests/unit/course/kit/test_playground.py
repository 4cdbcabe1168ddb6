"""The playground's engine computes what PyTorch computes, from the same numbers."""

import json
from dataclasses import asdict, replace
from itertools import islice
from pathlib import Path

import pytest
import torch
from node import told_by_node

from attnbook.course.kit.playground import tasks
from attnbook.course.kit.playground.data import PRESETS, WORDS
from attnbook.course.kit.playground.model import Model, loss_of
from attnbook.course.kit.playground.presets import page_data, settings_of
from attnbook.course.kit.playground.random_numbers import Stream
from attnbook.course.kit.playground.setting import Setting

ROOT = Path(__file__).resolve().parents[4]
SCRIPTS = ROOT / "book" / "_static" / "live" / "playground"
TASKS = tasks.TASKS

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
        path.write_text(json.dumps({"data": page_data(), "orders": orders}))
        runner = Path(__file__).with_name("playground_node.js")
        return told_by_node(runner, SCRIPTS, path)

    return answers


def test_random_numbers_are_the_same(ask):
    names = ["0/batches", "12/embedding.weight", ""]
    told = ask(*({"do": "numbers", "name": name, "count": 1500} for name in names))
    for name, numbers in zip(names, told, strict=True):
        assert list(islice(iter(Stream(name)), 1500)) == numbers
        stream = Stream(name)
        assert stream.take(3, 5).flatten().tolist() == numbers[:15]
        assert stream.take(2).tolist() == numbers[15:17]


def test_batches_are_the_same(ask):
    order = {"do": "batches", "name": "1/b", "batch": 5, "length": 7, "count": 3}
    answers = ask(*(order | {"task": task} for task in TASKS))
    for task, told in zip(TASKS, answers, strict=True):
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


def test_the_cell_repeats_the_page(ask):
    """The first losses of the page and of the cell that it hands out."""
    setting = Setting(positions="learned", layers=1, warm_up=30, steps=100, seed=3)
    losses, text = ask(
        {"do": "train", "setting": asdict(setting)},
        {"do": "cell", "setting": asdict(setting)},
    )
    assert "positions=" in text
    assert "width=" not in text  # a default
    told = {}
    exec(text, told)
    assert len(told["losses"]) == 100
    assert told["losses"] == pytest.approx([x["loss"] for x in losses], rel=1e-4)
    assert losses[0]["loss"] > 2
    assert losses[-1]["loss"] < losses[0]["loss"]


def test_the_page_generates_what_pytorch_would(ask):
    """Without a mask, too: the words to come must not be looked at."""
    setting = Setting(task="next_word", positions="learned", seed=5)
    [told] = ask(
        {"do": "generate", "setting": asdict(setting), "steps": 0, "name": "x"}
    )
    rows = Model(setting).generate(32, "x")
    assert [row["sentence"] for row in told] == rows
    assert [row["parses"] for row in told] == list(map(tasks.parses, rows))


def test_sentences_parse_and_broken_ones_do_not():
    ids = next(tasks.batches("next_word", "2/b", 200))[0].tolist()
    assert all(map(tasks.parses, ids))
    assert not any(tasks.parses([0, *row[:0:-1]]) for row in ids)
    assert not tasks.parses([0, *ids[0][2:]])


def test_the_best_loss_is_what_the_grammar_leaves_open():
    """The mean surprise of many sentences, of whoever knows the grammar."""
    ids = next(tasks.batches("next_word", "4/b", 400))[0].tolist()
    surprise = [
        -torch.log(torch.tensor(chances(row[:t]))[row[t]]).item()
        for row in ids
        for t in range(1, len(row))
    ]
    found = sum(surprise) / len(surprise)
    assert tasks.best_loss("next_word", True) == pytest.approx(found, rel=0.02)
    assert tasks.best_loss("next_word", False) == tasks.best_loss("sort", True) == 0


def chances(prefix):
    """The probability of each next word, by trying them: equal within a kind."""
    kinds = {}
    for word in range(len(WORDS)):
        if tasks.parses([*prefix, word]):
            kind = next(k for k, ids in tasks.KINDS.items() if word in ids)
            kinds.setdefault(kind, []).append(word)
    found = [0.0] * len(WORDS)
    for words in kinds.values():
        for word in words:
            found[word] = 1 / len(kinds) / len(words)
    return found


def test_an_address_keeps_both_settings(ask):
    orders = []
    for preset in PRESETS:
        settings = [asdict(setting) for setting in settings_of(preset, seed=4)]
        orders.append({"do": "address", "settings": settings})
    odd = "#free&task=cook&a.heads=4&x.y&c.skip=false&b.toString=1&a.constructor=2"
    *told, [_, broken] = ask(*orders, {"do": "address", "hash": odd})
    for order, [address, settings] in zip(orders, told, strict=True):
        assert settings == order["settings"]
        assert "&width" not in address  # a default
    assert broken == [asdict(Setting(heads=4)), asdict(Setting())]


def test_a_preset_compares_two_settings_that_differ_in_one_choice():
    for name, preset in page_data()["presets"].items():
        assert preset["right"] in range(len(preset["answers"]))
        a, b = (asdict(setting) for setting in settings_of(name))
        assert sum(a[choice] != b[choice] for choice in a) == 1
        for stored in preset["stored"]:
            assert len(stored["losses"]) == preset["seeds"] >= 5
