"""Parts that readers write: the package's own pass, known mistakes are found out."""

import inspect
import re

import numpy as np
import pytest
import torch
from torch import nn

from attnbook.course.kit.exercises import expect, stages
from attnbook.course.kit.exercises.hints import make_mistake
from attnbook.course.kit.exercises.stages import (
    MODULES,
    Part,
    Wrong,
    failure,
    fill,
    find_part,
    first_failure,
    hints_for,
)

PARTS = [find_part(name) for name in MODULES]
SOURCES = [expect, stages, *(inspect.getmodule(part.solution[0]) for part in PARTS)]
EACH_STAGE = [(part, stage) for part in PARTS for stage in part.stages]
each_stage = pytest.mark.parametrize(
    ("part", "stage"), EACH_STAGE, ids=[f"{p.name}: {s.name}" for p, s in EACH_STAGE]
)


@each_stage
def test_the_packages_part_and_the_solution_pass(part, stage):
    assert failure(stage, part.ours) is None
    assert failure(stage, part.solution) is None


@each_stage
def test_a_known_mistake_is_found_by_its_stage_and_gets_its_own_hint(part, stage):
    """And a hint for a finding has one: in the checks' source, or what PyTorch says."""
    texts = [*map(inspect.getsource, SOURCES)]
    for mistake in stage.mistakes:
        found, error = first_failure(part, make_mistake(part.solution, mistake))
        assert found.name == stage.name, (mistake, error)
        assert isinstance(error, Wrong), (mistake, error)
        assert hints_for(part, stage, error)[0] == mistake.hint, error
        texts.append(str(error))
    for words, hint in stage.hints:
        assert not words or re.search(words, "\n".join(texts)), hint


def double(x):
    return x * 2


def one_stage(run, text=""):
    """A part whose solution is ``double``, and its stage."""
    part = Part("double", 1, (double,), (double,))
    run.__doc__ = f"First.\n\nSecond,\nand more.\n\n{text}"
    part.stage("it is right")(run)
    return part, part.stages[0]


one, nan = torch.ones(2, requires_grad=True), float("nan")


@pytest.mark.parametrize(
    ("answer", "hints"),
    [
        (lambda x: x.add_(1), ["Make a new one: `x = x + y` instead of `x += y`"]),
        (lambda: 1, ["an argument too few or too many"]),
        (lambda x: None, ["A function without `return`"]),
        (lambda x: x[:1], ["Compare the shapes."]),
        (lambda x: x * nan, ["Where does", "Look at 0/0."]),
        (lambda x: x * 3, ["Two, not three.", "First.", "Second, and more."]),
        (lambda x: 0 * x, ["Nothing is left.", "Zero?"]),
        (lambda x: 1 / 0, ["Division by zero."]),
    ],
)
def test_a_hint_that_names_what_was_found_replaces_the_general_ones(answer, hints):
    """The second and the third hint, too, are about the error that is there."""

    def run(answer):
        got = answer(one)
        if isinstance(got, torch.Tensor) and not got.any():
            raise Wrong("all is zero.")
        expect.close(got, one * 2, "the output", "twice the input")

    own = """\
On "shape": Compare the shapes.

On "NaN": Where does a NaN come from?

On "NaN": Look at 0/0.

On "ZeroDivision": Division by zero.

On "all is zero": Zero?

x * 2 => x * 0
    Nothing is left.
x * 2 => x * 3
    Two, not three.
"""
    part, stage = one_stage(run, own)
    told = hints_for(part, stage, failure(stage, (answer,)))
    assert len(told) == len(hints)
    assert all(words in hint for words, hint in zip(hints, told, strict=True))


def test_what_readers_change_in_place_is_put_right_and_told():
    """The constants of a stage are the same for the next try."""

    def run(answer):
        answer(CONSTANT)

    _, stage = one_stage(run)
    error = failure(stage, (lambda x: x.add_(1),))
    assert "another one afterwards" in str(error)
    assert torch.equal(CONSTANT, torch.arange(3))
    assert failure(stage, (lambda x: x + 1,)) is None


CONSTANT = torch.arange(3)


@pytest.mark.parametrize(
    ("call", "finding"),
    [  # x is the input; on a GPU all else that is made without a device is elsewhere
        (lambda x: x + torch.ones(3), "meets one"),
        (lambda x: torch.ones(3) + x, "meets one"),
        (lambda x: torch.cat([torch.ones(2), x]), "meets one"),
        (lambda x: torch.ones(3)[x.long()], "meets one"),
        (lambda x: nn.functional.embedding(x.long(), torch.ones(9, 2)), "meets one"),
        (lambda x: torch.tensor(x.tolist()), "lies on the CPU"),
        (lambda x: (x, {"y": [torch.zeros(2)]}), "lies on the CPU"),
        (lambda x: x + torch.ones(3).to(x), ""),
        (lambda x: x + torch.ones(3).to(device=x.device), ""),
        (lambda x: x + torch.ones(3).type_as(x), ""),
        (lambda x: x + torch.ones(3, device=x.device), ""),
        (lambda x: x + x.new_tensor([1.0, 2.0, 3.0]), ""),
        (lambda x: x + torch.tensor(3), ""),
        (lambda x: x + torch.ones(3).sum(), ""),
        (lambda x: x[torch.tensor([0, 2])], ""),
        (lambda x: torch.stack([x[i] for i in torch.arange(3)]), ""),
        (lambda x: torch.ones(2, 3).expand_as(x.expand(2, 3)).to(x) + x, ""),
        (lambda x: torch.from_numpy(np.ones(3)) * x, ""),  # not seen
        (lambda x: x.index_fill(0, torch.tensor([1]).to(x.device), 0.0), ""),
    ],
)
def test_code_that_a_gpu_would_refuse_is_found_without_one(call, finding):
    x = torch.rand(3)
    _, stage = one_stage(lambda answer: expect.same_device(lambda: call(x), x))
    error = failure(stage, (None,))
    assert (finding in str(error)) if finding else error is None, error


def test_a_stage_leaves_random_numbers_and_modes_alone_and_runs_alike_each_time():
    seen = []

    def draws(answer):
        seen.append(torch.rand(1).item())
        assert torch.is_grad_enabled()

    _, stage = one_stage(draws)
    state = torch.get_rng_state()
    with torch.no_grad():
        assert failure(stage, (None,)) is None
        assert torch.equal(torch.get_rng_state(), state)
        torch.rand(3)
        assert failure(stage, (None,)) is None
    assert seen[0] == seen[1]


two, other = one * 2, torch.ones(2, requires_grad=True)


def loop(n):
    return [one + one for _ in range(n)]


@pytest.mark.parametrize(
    ("check", "given", "finding"),
    [
        (expect.shape, (one, (2,), "it", "(D,)"), ""),
        (expect.shape, (one, (3,), "it", "(D,)"), "it had the shape (2,); it should"),
        (expect.close, (None, one, "it", "1"), "it came out as None: is a `return` m"),
        (expect.shape, ([1], (1,), "it", ""), "it came out as [1], not as a tensor."),
        (expect.close, (one, one + 1e-6, "it", "1"), ""),
        (expect.close, (1e6 * one, 1e6 * one + 1, "it", "1"), ""),
        (expect.close, (one, one + 1e-4, "it", "1"), "it did not equal 1."),
        (expect.close, (one[:1], one, "it", "1"), "it had the shape (1,), which is n"),
        (expect.close, (one * nan, one, "it", "1"), "it had entries that were NaN."),
        (expect.pair, ((1, 2), "f", "a and b"), ""),
        (expect.pair, (3 * [1], "f", "a, b"), "`f` should return two things: a, b."),
        (expect.parameters, (nn.Linear(1, 1), {"weight": (1, 1), "bias": (1,)}), ""),
        (expect.parameters, (nn.Linear(1, 1), {"weight": (1, 1)}), "there is a param"),
        (expect.gradients, (two, one + one, "2"), ""),
        (expect.gradients, (two.detach(), two, "2"), "the result has no gradient: it"),
        (expect.gradients, (other + 0, two, "2"), "no gradient reaches x."),
        (expect.gradients, (one * 3, two, "2"), "the gradient with respect to x did "),
        (expect.same_in_training, (nn.Dropout(0.0), one), ""),
        (expect.same_in_training, (nn.Dropout(0.5), one), "it in training was another"),
        (expect.no_loop, (lambda n: one + n, 4, 40, "words"), ""),
        (expect.no_loop, (loop, 4, 40, "words"), "more words needed more operations."),
        (fill, (3,), "3 is not an nn.Module."),
    ],
)
def test_what_is_expected_and_what_is_said(check, given, finding):
    named = {expect.gradients: {"x": one}, expect.same_in_training: {"what": "it"}}
    error = failure(
        one_stage(lambda answer: check(*given, **named.get(check, {})))[1], (None,)
    )
    assert bool(error) == bool(finding)
    assert str(error or "").startswith(finding)


def test_a_module_moves_with_its_buffers_alone():
    class Kept(nn.Module):
        def __init__(self, how):
            super().__init__()
            how(self, torch.ones(3))

        def forward(self, x):
            return x + self.table

    x = torch.rand(3)
    for how, right in (
        (lambda module, table: module.register_buffer("table", table), True),
        (lambda module, table: setattr(module, "table", table), False),
        (lambda module, table: setattr(module, "table", nn.Parameter(table)), True),
    ):
        outer = nn.Sequential(Kept(how))

        def run(answer, outer=outer):
            expect.same_device(lambda: outer(x), x, module=outer)

        assert (failure(one_stage(run)[1], (None,)) is None) == right


def test_equal_names_get_equal_parameters():
    class Two(nn.Module):
        def __init__(self, *names):
            super().__init__()
            for name in names:
                setattr(self, name, nn.Linear(2, 2))

    first, second = fill(Two("a", "b")), fill(Two("b", "a"))
    assert torch.equal(first.a.weight, second.a.weight)
    assert not torch.equal(first.a.weight, first.b.weight)
    frozen = nn.Embedding.from_pretrained(torch.ones(1, 1))
    assert torch.equal(fill(frozen).weight, torch.ones(1, 1))
    assert first.a.weight.dtype == torch.float64
    assert not first.training
