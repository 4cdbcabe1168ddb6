"""Linear probes, by formula."""

import torch

from attnbook.analysis.probes import LinearProbe, fit_probe, probe_accuracy


def test_a_probe_is_bayes_rule_for_normal_classes():
    g = torch.Generator().manual_seed(0)
    means = torch.tensor([[0.0, 0.0], [2.0, 0.0], [0.0, 3.0]])
    labels = torch.randint(3, (6000,), generator=g)
    stretch = torch.tensor([[1.0, 0.5], [0.0, 0.5]])
    noise = torch.randn(6000, 2, generator=g) @ stretch
    probe = fit_probe(means[labels] + noise, labels * 10, shrinkage=0.0)
    normal = torch.distributions.MultivariateNormal(means, stretch.T @ stretch)
    points = torch.randn(200, 2, generator=g) * 2
    wanted = normal.log_prob(points[:, None]).softmax(-1)
    found = (points.double() @ probe.weight + probe.bias).softmax(-1)
    assert (found - wanted).abs().max() < 0.05
    assert probe.classes.tolist() == [0, 10, 20]


def test_accuracy_is_of_correct_answers():
    probe = LinearProbe(torch.eye(2).double(), torch.zeros(2), torch.tensor([7, 9]))
    x = torch.tensor([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])
    assert probe_accuracy(probe, x, torch.tensor([7, 9, 9, 8])) == 0.5


def test_frequent_classes_are_preferred():
    frequent, rare = torch.linspace(-1, 1, 90), torch.linspace(-0.8, 1.2, 10)
    x = torch.cat([frequent, rare])[:, None]
    probe = fit_probe(x, torch.tensor([4] * 90 + [3] * 10))
    nearer_to_the_rare = torch.tensor([[0.15]]).double()
    assert probe.predict(nearer_to_the_rare).tolist() == [4]
