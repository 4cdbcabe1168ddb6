"""What chapter 11's experiments measure, at small size."""

import pytest
import torch
from compare import close
from small_runs import small_config, write_texts

from attnbook.core import results
from attnbook.toy.data import held_out_pairs
from attnbook.toy.language import translate_by_rule
from attnbook.toy.models import load_toy_model
from attnbook.translation.run_folder import LOG, append_metrics
from attnbook.translation.trainer import Trainer
from experiments import ch11, ch11_minutes


@pytest.mark.parametrize("kind", ch11.LAYERS)
def test_every_kind_of_layer_sees_the_whole_sequence(kind):
    torch.manual_seed(0)
    x = torch.randn(1, ch11.N, ch11.WIDTH, requires_grad=True)
    last = ch11.LAYERS[kind](ch11.WIDTH)(x)[0, -1].square().sum()
    (gradient,) = torch.autograd.grad(last, x)
    assert (gradient[0] != 0).any(-1).all()


def test_induction_is_measured_again_and_again(monkeypatch):
    monkeypatch.setattr(ch11, "EVERY", 2)
    assert len(ch11.accuracy_over_updates("GRU", 8, seed=0, steps=5)) == 2


def test_the_symbol_to_look_for_is_moved_to_the_front():
    ids, targets = torch.tensor([[3, 1, 2, 3], [5, 6, 4, 6]]), torch.tensor([[1], [4]])
    moved, same = ch11.query_first((ids, targets))
    assert moved.tolist() == [[3, 3, 1, 2], [6, 5, 6, 4]]
    assert torch.equal(same, targets)


def test_the_others_are_all_but_the_word_that_is_rendered():
    pair, weights = translate_by_rule("the old farmer sees a bird"), torch.rand(7, 7)
    found = ch11.word_tables(weights, weights + 1, weights + 2, pair)
    rows = [i for i, j in enumerate(pair.alignment) if j is not None]
    for name, more in (("hidden", 1), ("replaced", 2)):
        kept, others = found[name][1], found[f"{name}_others"][1]
        close(kept, weights[rows] + more)
        missing = others.isnan().nonzero().tolist()
        assert missing == [[k, pair.alignment[i]] for k, i in enumerate(rows)]


def test_stored_weights_are_of_the_model_that_is_shipped():
    model = load_toy_model("transformer").double()
    run = results.load("weights_tell")["runs"][0]
    assert (run["model"], run["seed"]) == ("transformer", 0)
    assert run["parameters"] == sum(p.numel() for p in model.parameters())
    pairs = held_out_pairs(ch11.CLAUSES, 5)
    found = ch11.mean_agreement([ch11.transformer_tables(model, p) for p in pairs])
    for test, numbers in found.items():
        wanted = run[test]["correlation"]
        assert numbers["correlation"] == pytest.approx(wanted, abs=0.15)


@pytest.fixture
def trainer(tmp_path):
    """A training run that hasn't begun."""
    run = small_config(write_texts(tmp_path / "texts"), seed=3)
    trainer = Trainer(run, tmp_path / "run", "cpu")
    yield trainer
    trainer.close()


def test_a_run_is_read_by_epoch_finished_or_not(trainer, monkeypatch):
    lines = [{"loss": 5.0}, {"validation_loss": 2.00004, "validation_bleu": 3.333}]
    for step, line in enumerate(lines):
        append_metrics(trainer.folder / LOG, {"step": step} | line)
    monkeypatch.setenv("ATTNBOOK_RUN", str(trainer.folder))
    found = ch11_minutes.five_by_epoch()
    [run] = found["runs"]
    assert (run["model"], run["seed"]) == ("transformer", 3)
    assert (run["loss"], run["bleu"]) == ([2.0], [3.33])
    assert found["tokens"] == sum(len(p.target) + 1 for p in trainer.train_pairs)


def test_without_a_run_nothing_is_read(monkeypatch):
    monkeypatch.delenv("ATTNBOOK_RUN", raising=False)
    with pytest.raises(ValueError, match="set ATTNBOOK_RUN to folders of runs"):
        ch11_minutes.five_by_epoch()


def test_updates_are_timed_but_the_first(trainer):
    updates = trainer.updates_of(0)[:3]
    assert ch11_minutes.speed(trainer, updates) > 0
    assert trainer.step == 3
