"""What the speeds measure: the same work for all, and the same model."""

import json
import runpy
import sys

import pytest
import torch
from compare import close, make_transformer, randomise, sentences

from attnbook.core.vocabulary import EOS, PAD
from attnbook.models.transformer import Transformer
from attnbook.nn.layers import TransformerConfig
from speed import training_speed
from speed.baselines import TorchTransformer, has_marian, marian
from speed.decoding_speed import WithoutEos, generate
from speed.training_speed import ON_CPU, WORKS, Training

CPU = torch.device("cpu")
RATES = {torch.float32: 1e9, torch.bfloat16: 1e9}
SMALL = WORKS["small"]


def test_the_benchmark_prints_and_writes_its_table(tmp_path, monkeypatch, capsys):
    """Where transformers isn't installed, Marian's rows say so."""
    file = tmp_path / "speed.json"
    arguments = ["--device", "cpu", "--small", "--json", str(file)]
    monkeypatch.setattr(sys, "argv", ["train_speed.py", *arguments])
    runpy.run_path("benchmarks/train_speed.py", run_name="__main__")
    values, output = json.loads(file.read_text()), capsys.readouterr().out
    rows = {row["name"]: row for row in values["eager"]}
    assert set(rows) == {way.name for way in ON_CPU}
    assert all(name in output for name in rows)
    assert all(row.get("share", 1) > 0 for row in rows.values())
    assert rows["+ fixed shapes"]["shapes"] <= rows["+ fixed shapes"]["batches"]
    assert {row["failed"] for row in values["compiled"]} == {"measured on a GPU only"}
    assert [row["width"] for row in values["decoding"]] == [1, 5]
    assert all(row["ours"] > 0 for row in values["decoding"])


def test_all_ways_train_on_the_same_words():
    found = []
    for way in ON_CPU[:4]:
        batches = training_speed.make_batches(way, SMALL, CPU)
        words = torch.cat([ids[ids > EOS] for b in batches for ids in (b[0], b[2])])
        found.append(words.sort()[0].tolist())
    assert all(words == found[0] for words in found)


def test_drawn_pairs_are_as_long_as_asked_for():
    pairs = training_speed.sample_token_pairs(WORKS["tiny"])
    lengths = torch.tensor([[len(p.source) + 1.0, len(p.target) + 1.0] for p in pairs])
    close(lengths.mean(0).float(), torch.tensor([15.5, 15.5]), atol=0.7)
    close(lengths.std(0).float(), torch.tensor([5.1, 5.6]), atol=0.7)


def test_a_way_that_fails_is_told_and_costs_the_others_nothing(monkeypatch):
    make = training_speed.build_model

    def build(way, work):
        if way.model == "torch":
            raise RuntimeError("does not fit")
        return make(way, work)

    monkeypatch.setattr(training_speed, "build_model", build)
    ways = [ON_CPU[0], next(way for way in ON_CPU if way.model == "torch")]
    rows = list(training_speed.training_speeds(ways, SMALL, CPU, RATES, rounds=3))
    assert [[row.get("timings") for row in some] for some in rows] == [
        *([1], [1, None], [2, None], [3, None])
    ]
    assert rows[-1][0]["tokens_per_second"] > 0
    failed = {"name": "nn.Transformer", "failed": "RuntimeError: does not fit"}
    assert rows[-1][1] == failed
    known = [failed, {"name": ways[0].name, "timings": 1}]
    again = training_speed.training_speeds(ways, SMALL, CPU, RATES, 3, known)
    assert all(rows == known for rows in again)  # none is measured again


def test_a_loss_that_is_no_number_is_a_failure():
    run = Training(ON_CPU[0], SMALL, CPU)
    run.model.source_embedding.weight.data.fill_(torch.nan)
    with pytest.raises(ValueError, match="the loss is nan"):
        run.warm_up()


def test_speed_and_share_follow_from_the_time():
    run = Training(ON_CPU[0], SMALL, CPU)
    work = SMALL._replace(batches=1)
    one, two = (
        training_speed.speed_row(run, work, seconds, 1e9) for seconds in (0.5, 1.0)
    )
    assert one["tokens_per_second"] == pytest.approx(2 * two["tokens_per_second"], 1e-2)
    assert one["share"] == pytest.approx(2 * two["share"], 1e-2)
    tokens = sum(
        len(pair.target) + 1 for pair in training_speed.sample_token_pairs(work)
    )
    assert two["tokens_per_second"] == tokens


@pytest.mark.filterwarnings("ignore:enable_nested_tensor")  # said of pre-norm
@pytest.mark.parametrize("norm_first", [False, True])
def test_the_peer_of_pytorch_sees_no_later_word_and_no_pad(norm_first):
    torch.manual_seed(0)
    sizes = TransformerConfig(20, None, 8, 2, 1, 12, 0.5, norm_first=norm_first)
    peer = TorchTransformer(sizes).double()
    dropped = [m for m in peer.modules() if getattr(m, "dropout", 0) == 0.5]
    assert dropped == []  # attention weights are not dropped
    randomise(peer).eval()
    src, tgt = sentences(0, (5, 3), 20), sentences(1, (4, 4), 20)
    wider = torch.nn.functional.pad(src, (0, 2), value=PAD)
    close(peer(wider, tgt), peer(src, tgt))
    close(peer(src, tgt)[:, :2], peer(src, tgt[:, :2]))


def test_the_peers_are_as_large_as_ours():
    sizes = TransformerConfig(100, d_model=16, n_heads=4, n_layers=2, d_ff=24)
    count = sum(p.numel() for p in Transformer(sizes).parameters())
    theirs = TorchTransformer(sizes)
    assert sum(p.numel() for p in theirs.parameters()) == count + 2 * 2 * 16
    if has_marian():
        assert sum(p.numel() for p in marian(sizes).parameters()) >= count
    else:
        with pytest.raises(ValueError, match="pip install transformers"):
            marian(sizes)


@pytest.fixture
def model():
    torch.manual_seed(0)
    sizes = {"d_model": 8, "n_heads": 2, "n_layers": 1, "d_ff": 12}
    return randomise(make_transformer(20, **sizes)).eval()


@pytest.mark.parametrize("width", [1, 3])
def test_forced_translations_are_all_of_one_length(model, width):
    ids = generate(model, sentences(0, (5, 3), 20), 7, width)
    if width > 1:
        ids = ids[:, 0, :-1]  # the best; a beam's last word can only be EOS
        assert PAD not in ids
    assert ids.shape[1] == (7 if width == 1 else 6)
    assert EOS not in ids


def test_an_endless_model_changes_nothing_else(model):
    src, token = sentences(0, (5, 3), 20), torch.tensor([1, 1])
    plain, _ = model.step(token, model.start(src))
    endless = WithoutEos(model)
    found, _ = endless.step(token, endless.start(src))
    others = torch.arange(20) != EOS
    close(found[:, others], plain[:, others])
    assert (found[:, EOS] < plain.min()).all()
