"""Parts that readers write: the package's own pass, known mistakes are found out."""

import pytest
import torch
from torch import nn

from attnbook.course.kit.exercises import stages
from attnbook.course.kit.exercises.parts import MODULES, find_part
from attnbook.course.kit.exercises.stages import (
    Stage,
    Wrong,
    expect_close,
    expect_gradients,
    expect_shape,
    failure,
    filled,
    first_failure,
    hints_for,
    operations,
)

PARTS = [find_part(name) for name in MODULES]
EACH_STAGE = [(part, stage) for part in PARTS for stage in part.stages]
each_stage = pytest.mark.parametrize(
    ("part", "stage"), EACH_STAGE, ids=[f"{p.name}: {s.name}" for p, s in EACH_STAGE]
)


@each_stage
def test_the_packages_part_passes(part, stage):
    assert failure(stage, part.ours) is None


@each_stage
def test_a_known_mistake_is_found_by_its_stage_and_gets_its_own_hint(part, stage):
    for mistake, hint in stage.mistakes:
        found, error = first_failure(part, mistake)
        assert found.name == stage.name, (hint, error)
        assert isinstance(error, Wrong), (hint, error)
        assert hints_for(stage, error)[0] == hint, error


@each_stage
def test_a_stage_has_hints_in_steps_and_a_mistake_to_find(part, stage):
    assert len(stage.hints) in (2, 3)
    assert stage.mistakes
    hints = [*stage.hints, *(hint for _, hint in stage.mistakes)]
    assert all(hint.endswith((".", "?")) for hint in hints)
    assert not stage.checked.endswith(".")


def test_parts_stand_in_the_order_of_the_chapters():
    assert [part.name for part in PARTS] == [*MODULES]
    chapters = [part.chapter for part in PARTS]
    assert chapters == sorted(chapters)
    assert all(len(part.names) == len(part.ours) for part in PARTS)
    assert all(part.ours[0].__name__ for part in PARTS)


def test_an_unknown_part_is_an_error():
    with pytest.raises(ValueError, match=r"no part 'convolution'; .*'attention'"):
        find_part("convolution")


def stage(run, *mistakes):
    return Stage("values", "it is right", run, ("First.", "Second."), mistakes)


def test_a_stage_leaves_the_readers_random_numbers_and_modes_alone():
    def draws(answer):
        torch.manual_seed(5)
        torch.rand(3)
        assert torch.is_grad_enabled()

    state = torch.get_rng_state()
    with torch.no_grad():
        assert failure(stage(draws), (None,)) is None
    assert torch.equal(torch.get_rng_state(), state)


def test_a_stage_runs_alike_each_time():
    seen = []
    for _ in range(2):
        failure(stage(lambda answer: seen.append(torch.rand(1).item())), (None,))
    assert seen[0] == seen[1]


def test_hints_of_a_stage_follow_that_of_the_mistake_with_the_same_result():
    def run(answer):
        expect_close(answer(), torch.ones(2), "the output", "ones")

    twice = lambda: torch.full((2,), 2.0)  # noqa: E731
    judged = stage(run, ((twice,), "Halve."), ((twice,), "Never said."))
    for answer, hints in (
        (twice, ["Halve.", "First.", "Second."]),
        (lambda: torch.full((2,), 3.0), ["First.", "Second."]),
        (lambda: torch.ones(3), ["First.", "Second."]),
        (lambda: 1 / 0, ["First.", "Second."]),
    ):
        assert hints_for(judged, failure(judged, (answer,))) == hints


one = torch.ones(2, requires_grad=True)


def test_who_changes_an_input_is_told_how_to_make_a_new_tensor():
    judged = stage(lambda answer: answer(one))
    error = failure(judged, (lambda x: x.add_(1),))
    first, *others = hints_for(judged, error)
    assert "`x = x + y` instead of `x += y`" in first
    assert others == ["First.", "Second."]


@pytest.mark.parametrize(
    ("call", "finding"),
    [
        (lambda: expect_shape(torch.ones(2), (2,), "the output", "(D,)"), ""),
        (
            lambda: expect_shape(torch.ones(2), (3,), "the output", "(D,)"),
            "the output has the shape (2,); it should be (D,).",
        ),
        (
            lambda: expect_shape(None, (3,), "the output", "(D,)"),
            "the output is None: is a `return` missing?",
        ),
        (
            lambda: expect_shape([1], (1,), "the output", "(D,)"),
            "the output is [1]; it should be a tensor.",
        ),
        (lambda: expect_close(one, one + 1e-6, "it", "ones"), ""),
        (lambda: expect_close(1e6 * one, 1e6 * one + 1, "it", "ones"), ""),
        (
            lambda: expect_close(one, one + 1e-4, "it", "ones"),
            "it should equal ones, and doesn't.",
        ),
        (
            lambda: expect_close(one[:1], one, "it", "ones"),
            "it has the shape (1,), which is not that of ones.",
        ),
        (
            lambda: expect_close(one * torch.nan, one, "it", "ones"),
            "it has entries that are NaN.",
        ),
        (lambda: expect_gradients(one * 2, one + one, {"x": one}, "the sum's"), ""),
        (
            lambda: expect_gradients(one.detach(), one, {"x": one}, "the sum's"),
            "the result has no gradient: it is cut off from all inputs.",
        ),
        (
            lambda: expect_gradients(
                torch.ones(2, requires_grad=True) + 0, one * 2, {"x": one}, "the sum's"
            ),
            "no gradient reaches x.",
        ),
        (
            lambda: expect_gradients(one * 3, one * 2, {"x": one}, "the sum's"),
            "the gradient with respect to x should equal the sum's, and doesn't.",
        ),
        (lambda: stages.expect_no_loop(4, 4, "queries"), ""),
        (
            lambda: stages.expect_no_loop(4, 40, "queries"),
            "more queries need more operations: 4 became 40.",
        ),
        (lambda: filled(3), "3 is not an nn.Module."),
    ],
)
def test_what_is_expected_and_what_is_said(call, finding):
    error = failure(stage(lambda answer: call()), (None,))
    assert (str(error) if error else "") == finding


def test_equal_names_get_equal_parameters():
    class Two(nn.Module):
        def __init__(self, *names):
            super().__init__()
            for name in names:
                setattr(self, name, nn.Linear(2, 2))

    first, second = filled(Two("a", "b")), filled(Two("b", "a"))
    assert torch.equal(first.a.weight, second.a.weight)
    assert not torch.equal(first.a.weight, first.b.weight)
    assert first.a.weight.dtype == torch.float64
    assert not first.training


def test_operations_are_counted_without_python_loops():
    x = torch.ones(2, 3)
    once = operations(lambda: x @ x.T)
    assert operations(lambda: [x @ x.T for _ in range(5)]) == 5 * once
