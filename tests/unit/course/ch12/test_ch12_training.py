"""Chapter 12's runs: collected, named, repeated; and its small training experiments."""

import math
from itertools import chain, product

import pytest
import torch
from notebook_cells import printed

from attnbook.core import results
from attnbook.course.ch12 import figures_training as training_run
from attnbook.course.ch12 import lab_training as lab
from attnbook.course.ch12.figures_scores import ABLATION, LADDER, part
from attnbook.models.variants import VARIANTS
from attnbook.nn.losses import label_smoothing_loss
from attnbook.toy.data import held_out_pairs
from attnbook.translation.configs import CONFIGS, config
from experiments import ch12_training as experiments

# The run of the chapter


@pytest.mark.parametrize(
    ("device", "name"), [("cpu", "multi30k-cpu"), ("cuda", "multi30k-tiny")]
)
def test_live_trains_what_suits_the_device_and_adds_the_log(
    monkeypatch, tmp_path, device, name
):
    asked = []

    def train(run, folder):
        asked.append((run, folder))
        (folder / "metrics.jsonl").write_text('{"step": 1}\n')
        return {"updates": 9}

    monkeypatch.setattr(training_run, "train", train)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: device == "cuda")
    monkeypatch.delenv("ATTNBOOK_DEVICE", raising=False)
    found = training_run.run("live", folder=tmp_path)
    assert found == {"updates": 9, "log": [{"step": 1}]}
    assert asked == [(CONFIGS[name], tmp_path)]
    with pytest.raises(ValueError, match="recorded or live"):
        training_run.run("alive")


def test_the_floor_is_the_loss_of_a_model_that_outputs_the_target_distribution():
    v, amount = 50, 0.1
    p = torch.full((v,), amount / v)
    p[7] += 1 - amount
    least = label_smoothing_loss(p.log()[None, None], torch.tensor([[7]]), amount)
    floor = training_run.smoothed_floor
    assert floor(amount, v) == pytest.approx(least.item(), abs=1e-5)
    assert math.isclose(floor(0.1, 37000), 1.377, abs_tol=1e-3)


def test_short_stretches_of_the_log_are_joined():
    losses = {50: 6.0, 96: 4.0, 100: 2.0, 150: 3.0, 192: 1.0}
    log = [{"step": step, "loss": loss} for step, loss in losses.items()]
    log.insert(2, {"step": 96, "validation_loss": 3.0})
    steps, means = training_run.training_losses(log)
    assert steps == [50, 100, 150]
    assert means == pytest.approx([6, (46 * 4 + 4 * 2) / 50, 3])
    assert training_run.training_losses(log, least=1)[0] == [*losses]


@pytest.mark.usefixtures("as_in_the_pages")
def test_learning_rates_are_the_papers():
    """A picture hides the last digits."""
    drawn = [ax.get_lines() for ax in training_run.learning_rates_figure().axes]
    cases = [(128, 4000), (512, 4000), (1024, 4000), (512, 1000), (512, 4000)]
    for line, (d, w) in zip(chain(*drawn), [*cases, (512, 16000)], strict=True):
        for s, found in zip(*line.get_data(), strict=True):
            wanted = min(s**-0.5, s * w**-1.5) / math.sqrt(d)
            assert found == pytest.approx(1000 * wanted)


# Other runs


def test_the_compared_models_have_the_better_learning_rate():
    losses = results.load("multi30k_learning_rates")["losses"]
    trained = part("ladder")["runs"]
    assert set(losses) == set(trained) == set(LADDER)
    for model, rates in losses.items():
        best = min(rates, key=lambda rate: rates[rate][-1])
        assert trained[model]["config"]["peak_learning_rate"] == float(best)


def test_the_shown_rows_are_all_that_was_trained():
    """Runs in fp32 are a part of their own; "as it is" is shown once."""
    shown = {name for kind in ABLATION.values() for name in kind}
    assert shown <= {*part("ablation")["runs"]} <= {*shown, "fp32", "seed_2"}


def test_every_stored_run_is_in_the_table_once():
    runs = [run for kind in lab.all_runs().values() for run in kind.values()]
    weights = [run["weights_sha256"] for run in runs]
    assert len({*weights}) == len(weights)
    for name in results.load("multi30k_runs")["parts"]:
        assert {run["weights_sha256"] for run in part(name)["runs"].values()} <= {
            *weights
        }


def test_the_jump_of_bleu_is_as_the_laboratory_says():
    log = {line["epoch"]: line for line in part("ladder")["runs"]["bahdanau"]["log"]}
    entries = ("bleu", "chrf", "runaway")
    third, fourth = ([log[n][f"validation_{x}"] for x in entries] for n in (3, 4))
    assert [round(x, 3) for x in third] == pytest.approx([12.9, 40.4, 0.042], abs=0.05)
    assert [round(x, 3) for x in fourth] == pytest.approx([26, 48.3, 0.001], abs=0.05)
    assert (round(100 * third[2], 1), round(100 * fourth[2], 1)) == (4.2, 0.1)


# Label smoothing, where the truth is known


def small_language():
    p = experiments.sample_language()[:3, :5]
    return p / p.sum(-1, keepdim=True)


def test_the_language_is_the_stored_one():
    p, stored = experiments.sample_language(), results.load("smoothing_known")
    torch.testing.assert_close(p.sum(-1), torch.ones(len(p), dtype=p.dtype))
    assert experiments.evaluate_distribution(p, p.log()) == pytest.approx(
        stored["best"]
    )
    seeds = {(run["smoothing"], run["seed"]) for run in stored["runs"]}
    assert seeds == {*product(experiments.AMOUNTS, experiments.SEEDS)}


def test_a_model_is_judged_by_what_is_true():
    p = torch.tensor([[0.5, 0.25, 0.25, 0.0], [0.0, 1.0, 0.0, 0.0]])
    q = torch.tensor([[0.25, 0.5, 0.25, 0.0], [0.5, 0.5, 0.0, 0.0]])
    found = experiments.evaluate_distribution(p, q.log())
    nats = (0.75 * math.log(4) + 0.25 * math.log(2) + math.log(2)) / 2
    assert found["perplexity"] == pytest.approx(math.exp(nats))
    assert found["accuracy"] == pytest.approx((0.25 + 0.0) / 2)


def test_samples_follow_the_language():
    p = torch.tensor([[0.2, 0.8, 0.0], [0.0, 0.5, 0.5]])
    g = torch.Generator().manual_seed(0)
    contexts, words = experiments.sample_words(p, 20_000, g)
    for context in (0, 1):
        drawn = words[contexts == context].bincount(minlength=3)
        assert 9_500 < drawn.sum() < 10_500
        torch.testing.assert_close(drawn / drawn.sum(), p[context], atol=0.02, rtol=0)


@pytest.mark.parametrize("amount", [0.0, 0.2])
def test_training_reaches_what_the_formula_says(monkeypatch, amount):
    monkeypatch.setattr(experiments, "STEPS", 600)
    p = small_language()
    learned = experiments.train_logits(p, amount, seed=0, n_samples=None).exp()
    best = (1 - amount) * p + amount / 5
    torch.testing.assert_close(learned, best, atol=0.03, rtol=0)
    torch.testing.assert_close(experiments.smoothed(p, amount), best)


def test_few_samples_are_used_again(monkeypatch):
    monkeypatch.setattr(experiments, "STEPS", 1000)
    monkeypatch.setattr(experiments, "BATCH", 16)
    p = small_language()
    learned = experiments.train_logits(p, 0.0, seed=0, n_samples=30).exp()
    known = experiments.sample_words(p, 30, torch.Generator().manual_seed(0))
    counts = torch.zeros_like(p)
    counts.index_put_(known, torch.ones(30, dtype=p.dtype), accumulate=True)
    found = counts / counts.sum(-1, keepdim=True)
    torch.testing.assert_close(learned, found, atol=0.1, rtol=0)


# The ablation on the toy language


def test_each_change_is_one_of_the_config_or_a_part_left_out():
    stored = results.load("toy_ablation")["runs"]
    runs = {(run["change"], run["seed"]) for run in stored}
    assert runs == {*product(experiments.CHANGES, experiments.TOY_SEEDS)}
    for change in experiments.CHANGES.values():
        if "without" in change:
            assert change["without"] in VARIANTS
            continue
        run = config("toy", max_epochs=experiments.EPOCHS, **change)
        assert (run == CONFIGS["toy"]) == (not change)


def test_exact_match_is_the_share_of_equal_sentences(monkeypatch):
    pairs = held_out_pairs(2, 4)

    def translate(model, subwords, sources, width):
        assert sources == [" ".join(pair.source) for pair in pairs]
        assert width == 1
        right = [" ".join(pair.target) for pair in pairs]
        return [*right[:3], right[3] + " ek"]

    class AsTrained:
        model, subwords = torch.nn.Identity(), None

    monkeypatch.setattr(experiments, "beam_translate", translate)
    assert experiments.greedy_exact_match(AsTrained(), 2, number=4) == 0.75


# The page's own code, at its edges


@pytest.mark.parametrize("name", ["smoothed_loss", "label_smoothing_loss"])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("lowest", [-3.0, -math.inf])
def test_losses_of_the_page_are_pytorchs(name, smoothing, lowest):
    loss = printed("ch12", name, solution=name.startswith("label"))
    logits = torch.tensor([[[0.0, 0, lowest, 1], [1, lowest, 0, 2]]]).double()
    targets = torch.tensor([[3, 0]])
    logits.requires_grad_()
    wanted = torch.nn.functional.cross_entropy(
        logits[0], targets[0], reduction="none", label_smoothing=smoothing,
        ignore_index=0,
    )  # fmt: skip
    found = loss(logits, targets, smoothing)[0]
    assert torch.allclose(found, wanted, 1e-12, 1e-12)
    if smoothing == 0:
        both = [torch.autograd.grad(x.sum(), logits)[0] for x in (found, wanted)]
        assert torch.allclose(*both, 1e-12, 1e-12)
