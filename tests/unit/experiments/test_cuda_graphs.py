"""Recorded steps: one recording for each shape, and the same numbers as without."""

import torch

from attnbook.experiments.speed import cuda_graphs
from attnbook.experiments.speed.cuda_graphs import EAGER_CALLS, Replayed
from attnbook.experiments.speed.training_speed import EAGER, WORKS, Training


class FakeRecording:
    """Stands for a recording where there is no GPU: calls again, and counts."""

    made = 0

    def __init__(self, function, inputs, pool, stream):
        FakeRecording.made += 1
        self.function = function

    def replay(self, inputs):
        return self.function(*inputs)


def test_each_shape_is_recorded_once_after_some_calls(monkeypatch):
    monkeypatch.setattr(cuda_graphs, "Recording", FakeRecording)
    monkeypatch.setattr(FakeRecording, "made", 0)
    monkeypatch.setattr(torch.cuda, "Stream", object)
    monkeypatch.setattr(torch.cuda, "graph_pool_handle", tuple)
    monkeypatch.setattr(Replayed, "_eager", lambda self, inputs: self.function(*inputs))
    add = Replayed(torch.add)
    made = []
    for call in range(EAGER_CALLS + 3):
        for n in (2, 3):
            x = torch.full((n,), float(call))
            assert add(x, x).tolist() == [2.0 * call] * n
        made.append(FakeRecording.made)
    assert made == [0] * EAGER_CALLS + [2, 2, 2]


if torch.cuda.is_available():  # a machine without a GPU skips nothing

    def test_a_replayed_step_has_the_loss_and_gradient_of_a_plain_one():
        way = next(way for way in EAGER if way.graphs)._replace(precision=torch.float32)
        work = WORKS["small"]._replace(dropout=0.0)
        device = torch.device("cuda")
        runs = [Training(w, work, device) for w in (way, way._replace(graphs=False))]
        for _ in range(EAGER_CALLS + 2):
            losses = [run.one_epoch() for run in runs]
            torch.testing.assert_close(*losses, rtol=1e-3, atol=1e-3)
        first = next(iter(runs[0].gradient.recordings.values()))
        assert isinstance(first.graph, torch.cuda.CUDAGraph)

    def test_a_seed_set_before_a_replay_decides_its_dropout():
        ones = torch.ones(1000, device="cuda")
        drop = Replayed(lambda x: torch.dropout(x, 0.5, True))
        for _ in range(EAGER_CALLS + 1):
            drop(ones)
        drawn = []
        for seed in (1, 1, 2):
            torch.manual_seed(seed)
            drawn.append(drop(ones))
        assert drawn[0].equal(drawn[1])
        assert not drawn[0].equal(drawn[2])
