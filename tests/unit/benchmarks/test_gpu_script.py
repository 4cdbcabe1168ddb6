"""The script for a GPU, tried on the processor; and the speeds that it measures."""

import json
import os
import runpy
import signal
import sys
from dataclasses import asdict
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import ClassVar

import pytest
import torch
from compare import close, make_transformer, randomise, sentences

import gpu
from attnbook.core.vocabulary import EOS, PAD
from attnbook.models.transformer import Transformer
from attnbook.nn.layers import TransformerConfig
from attnbook.translation.configs import config
from attnbook.translation.models import model_from_config
from speed import decoding_speed, training_speed
from speed.baselines import TorchTransformer, has_marian, marian
from speed.decoding_speed import WithoutEos, decoding_speeds, generate
from speed.training_speed import COMPILED, EAGER, ON_CPU, WORKS, Training

CPU = torch.device("cpu")
RATES = {torch.float32: 1e9, torch.bfloat16: 1e9}
SMALL = WORKS["small"]
OVER = "the time was over"


class Here:
    """Stands for a program: runs it in this process, at once."""

    started: ClassVar[list[str]] = []

    def __init__(self, job):
        Here.started.append(job.name)
        job.result.parent.mkdir(parents=True, exist_ok=True)
        gpu.log_of(job).write_text("")
        module, *arguments = job.command
        module = {"attnbook": "attnbook.translation.command_line"}.get(module, module)
        import_module(module).main(arguments)

    def poll(self):
        return 0


@pytest.fixture
def here(monkeypatch):
    monkeypatch.setattr(gpu, "start", Here)
    monkeypatch.setattr(Here, "started", [])


def read(path):
    return json.loads(path.read_text(encoding="utf-8"))


def test_all_parts_run_and_a_second_call_has_nothing_to_do(tmp_path, here, capsys):
    gpu.main(["--out", str(tmp_path), "--small"])
    parts = {part: read(tmp_path / f"{part}.json") for part in gpu.PARTS}
    assert not any(values["missing"] for values in parts.values())
    assert all(values["machine"] and values["runs"] for values in parts.values())
    run = parts["de_en"]["runs"]["seed_2"]
    assert (run["config"]["source"], run["config"]["seed"]) == ("invented", 2)
    assert run["log"][-1]["epoch"] == run["epochs"] == 2
    for entry in ("versions", "weights_sha256", "peak_memory_mb", "tokens_per_second"):
        assert run[entry]
    assert parts["en_de"]["bleu"]["test"]["beam, lowercased"]["n"] == 2
    assert parts["ladder"]["bleu"] == {}  # they differ in more than the seed
    started = len(Here.started)
    capsys.readouterr()
    gpu.main(["--out", str(tmp_path), "--small"])
    assert len(Here.started) == started
    assert capsys.readouterr().out.count("there already") == len(gpu.PARTS)


def test_parts_can_be_chosen_and_come_in_their_order(tmp_path, monkeypatch):
    done = []
    monkeypatch.setattr(gpu, "run_part", lambda part, *_: done.append(part) or True)
    gpu.main(["--out", str(tmp_path), "--small", "--part", "base", "de_en", "en_de"])
    assert done == ["en_de", "de_en", "base"]
    gpu.main(["--out", str(tmp_path), "--small"])
    assert done[3:] == list(gpu.PARTS)


def test_when_the_time_is_over_the_next_call_goes_on(tmp_path, here):
    arguments = ["--out", str(tmp_path), "--small", "--part", "speed"]
    with pytest.raises(SystemExit) as stop:
        gpu.main([*arguments, "--minutes", "0"])
    assert stop.value.code == 1
    missing = read(tmp_path / "speed.json")["missing"]
    assert missing == dict.fromkeys(["tiny_eager", "tiny_compiled_peers"], OVER)
    gpu.main(arguments)
    assert read(tmp_path / "speed.json")["missing"] == {}


def program(tmp_path, name, text):
    """A job that runs a module of its own; the module is told where to write."""
    (tmp_path / f"{name}.py").write_text(text)
    result = tmp_path / "out" / f"{name}.json"
    return gpu.Job(name, [name, str(result)], result)


def test_programs_run_at_once_and_one_that_fails_leaves_the_others(
    tmp_path, monkeypatch
):
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    writes = "import sys; open(sys.argv[1], 'w').write('{}')"
    jobs = [
        program(tmp_path, "works", writes),
        program(tmp_path, "fails", "raise ValueError('no such thing')"),
    ]
    missing = gpu.run_jobs(jobs, 2, gpu.Clock())
    assert list(missing) == ["fails"]
    assert missing["fails"].endswith("ValueError: no such thing\n")


def test_the_time_is_over_after_so_many_minutes(monkeypatch):
    now = 1000.0
    monkeypatch.setattr(gpu.time, "monotonic", lambda: now)
    clock, endless = gpu.Clock(2), gpu.Clock()
    now += 119.9
    assert not clock.over
    now += 0.1
    assert clock.over
    now = 1e9
    assert not endless.over


class UntilThere:
    """Stands for a clock: the time is over once a program has written a file."""

    def __init__(self, path):
        self.path = path

    @property
    def over(self):
        return self.path.exists()


SLEEP = "open(sys.argv[1] + '.begun', 'w').close(); time.sleep(600)"
DEAF = "signal.signal(signal.SIGTERM, signal.SIG_IGN)"


@pytest.mark.parametrize(
    ("text", "ended_by"),
    [(SLEEP, "SIGTERM"), (f"{DEAF}; {SLEEP}", "SIGKILL")],
    ids=["sleeps", "deaf"],
)
def test_programs_are_ended_when_the_time_is_over(
    tmp_path, monkeypatch, text, ended_by
):
    """One that does not listen is killed."""
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    seconds = 600 if ended_by == "SIGTERM" else 0.1
    end = gpu.children.end
    monkeypatch.setattr(gpu.children, "end", lambda some: end(some, seconds))
    programs, start = [], gpu.start

    def noted(job):
        programs.append(start(job))
        return programs[-1]

    monkeypatch.setattr(gpu, "start", noted)
    job = program(tmp_path, "program", f"import signal, sys, time; {text}")
    begun = UntilThere(Path(f"{job.result}.begun"))
    assert gpu.run_jobs([job], 1, begun) == {"program": OVER}
    assert programs[0].wait() == -getattr(signal, ended_by)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_programs_and_says_how_to_go_on(
    tmp_path, monkeypatch, capsys, number
):
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    job = program(tmp_path, "program", f"import signal, sys, time; {SLEEP}")
    programs, start, begun = [], gpu.start, UntilThere(Path(f"{job.result}.begun"))

    def noted(job):
        programs.append(start(job))
        return programs[-1]

    class Clock:
        """Nothing is over, but once the program has begun there is a signal."""

        @property
        def over(self):
            return begun.over and signal.raise_signal(number)

    monkeypatch.setattr(gpu, "start", noted)
    monkeypatch.setattr(gpu, "Clock", lambda _: Clock())
    monkeypatch.setattr(gpu.Plan, "jobs", lambda *_: [job])
    with pytest.raises(SystemExit) as end:
        gpu.main(["--out", str(tmp_path), "--small", "--part", "en_de"])
    assert end.value.code == 128 + number
    assert capsys.readouterr().err == "stopped; the same command resumes\n"
    assert [p.poll() for p in programs] == [-signal.SIGTERM]
    assert not (tmp_path / "en_de.json").exists()


@pytest.mark.parametrize("name", gpu.EQUAL)
def test_every_run_has_a_config_that_can_be_built(tmp_path, name):
    plan, seen = gpu.Plan(tmp_path, config=name), []
    for part in ("en_de", "de_en", *gpu.COMPARISONS):
        for job in plan.jobs(part):
            entries = job.command[job.command.index("--set") + 1 : -2]
            assert job.command[job.command.index("--config") + 1] == name
            run = config(name, **dict(entry.split("=") for entry in entries))
            model_from_config(run, 100)
            seen.append((part, *asdict(run).values()))
            assert (run.source == "de") == (part == "de_en")
            short = part in gpu.COMPARISONS
            assert (run.max_epochs == gpu.EQUAL[name]["max_epochs"]) == short
    assert len(set(seen)) == len(seen) == 39


def test_the_second_seed_repeats_every_change_but_the_seed_s_own(tmp_path):
    plan = gpu.Plan(tmp_path, config="multi30k-cpu")
    first, second = (
        {job.name: job.command for job in plan.jobs(part)}
        for part in ("ablation", "ablation_seed_2")
    )
    assert set(first) - set(second) == {"as_it_is", "seed_2"}
    assert not set(second) - set(first)
    assert "seed=1" in first["heads_1"]
    assert "seed=2" in second["heads_1"]
    assert "n_heads=1" in second["heads_1"]


def test_the_ablation_takes_the_order_of_the_norm_that_the_config_has_not(tmp_path):
    for name, other in (("multi30k-tiny", "pre_norm"), ("multi30k-cpu", "post_norm")):
        names = [job.name for job in gpu.Plan(tmp_path, config=name).jobs("ablation")]
        assert [n for n in names if n.endswith("norm")] == [other]


def test_mean_and_deviation_are_over_seeds_alone():
    runs = [
        {"config": {"seed": s, "d": 1}, "scores": {"test": {"beam": {"bleu": b}}}}
        for s, b in enumerate((30.0, 32.0, 34.0))
    ]
    assert gpu.bleu_statistics(runs) == {
        "test": {"beam": {"mean": 32.0, "sd": 2.0, "n": 3}}
    }
    runs[0]["config"]["d"] = 2
    assert (
        gpu.bleu_statistics(runs)
        == gpu.bleu_statistics(runs[:1])
        == gpu.bleu_statistics([])
        == {}
    )


def test_each_of_our_ways_has_one_thing_more_than_the_one_before():
    ours = [way for way in EAGER if way.model == "ours"]
    for one, other in pairwise(ours):
        pairs = zip(one[1:], other[1:], strict=True)
        assert sum(a != b for a, b in pairs) == 1
    peers = [way for way in EAGER if way.model != "ours"]
    assert {(way.precision, way.fused, way.padded) for way in peers} == {
        (torch.bfloat16, True, True)
    }
    assert all(way.needs_gpu for way in COMPILED)
    assert not any(way.needs_gpu for way in ON_CPU)


def test_the_benchmark_prints_and_writes_its_table(tmp_path, monkeypatch, capsys):
    file = tmp_path / "speed.json"
    arguments = ["--device", "cpu", "--small", "--json", str(file)]
    monkeypatch.setattr(sys, "argv", ["train_speed.py", *arguments])
    runpy.run_path("benchmarks/train_speed.py", run_name="__main__")
    values, output = read(file), capsys.readouterr().out
    rows = {row["name"]: row for row in values["eager"]}
    assert set(rows) == {way.name for way in ON_CPU}
    assert not values["tf32"]
    assert not values["cudnn_attention"]
    for name, row in rows.items():
        assert name in output
        assert row.get("share", 1) > 0  # one that failed has none
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
    plain, fixed = (
        len(training_speed.make_batches(EAGER[0]._replace(fixed=f), WORKS["tiny"], CPU))
        for f in (False, True)
    )
    assert 20 <= min(plain, fixed) <= max(plain, fixed) <= 32


def test_a_way_that_fails_is_told_and_costs_the_others_nothing(monkeypatch):
    make = training_speed.build_model

    def build(way, work):
        if way.model == "torch":
            raise RuntimeError("does not fit")
        return make(way, work)

    monkeypatch.setattr(training_speed, "build_model", build)
    ways = [ON_CPU[0], next(way for way in ON_CPU if way.model == "torch")]
    rows = training_speed.training_speeds(ways, SMALL, CPU, RATES, rounds=1)
    assert rows[0]["tokens_per_second"] > 0
    assert rows[1] == {"name": "nn.Transformer", "failed": "RuntimeError: does not fit"}


def test_a_loss_that_is_no_number_is_a_failure():
    run = Training(ON_CPU[0], SMALL, CPU)
    run.model.source_embedding.weight.data.fill_(torch.nan)
    with pytest.raises(ValueError, match="the loss is nan"):
        run.warm_up()


def test_training_lowers_the_loss():
    run = Training(ON_CPU[3], SMALL, CPU)
    run.optimizer.param_groups[0]["lr"] = 1e-2
    first, *_, last = [run.one_epoch().item() for _ in range(6)]
    assert last < first - 0.5


def test_the_vocabulary_is_rounded_up():
    assert [training_speed.round_up(n) for n in (1, 64, 65, 8000)] == [
        64,
        64,
        128,
        8000,
    ]


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


@pytest.mark.parametrize("width", [1, 3])
def test_forced_translations_are_all_of_one_length(width):
    torch.manual_seed(0)
    model = randomise(
        make_transformer(20, d_model=8, n_heads=2, n_layers=1, d_ff=12)
    ).eval()
    ids = generate(model, sentences(0, (5, 3), 20), 7, width)
    if width > 1:
        ids = ids[:, 0, :-1]  # the best; a beam's last word can only be EOS
        assert PAD not in ids
    assert ids.shape[1] == (7 if width == 1 else 6)
    assert EOS not in ids


def test_decoding_is_measured_without_marian_too(monkeypatch):
    monkeypatch.setattr(decoding_speed, "has_marian", lambda: False)
    rows = decoding_speeds(SMALL, CPU, sentences=2, rounds=1)
    assert [set(row) for row in rows] == [{"width", "precision", "ours"}] * 2


def test_an_endless_model_changes_nothing_else():
    torch.manual_seed(0)
    model = randomise(
        make_transformer(20, d_model=8, n_heads=2, n_layers=1, d_ff=12)
    ).eval()
    src, token = sentences(0, (5, 3), 20), torch.tensor([1, 1])
    plain, _ = model.step(token, model.start(src))
    endless = WithoutEos(model)
    found, _ = endless.step(token, endless.start(src))
    others = torch.arange(20) != EOS
    close(found[:, others], plain[:, others])
    assert (found[:, EOS] < plain.min()).all()


def test_a_folder_of_another_plan_is_refused(tmp_path):
    part = {"plan": gpu.Plan(tmp_path, small=True).facts(), "missing": {}}
    (tmp_path / "en_de.json").write_text(json.dumps(part))
    with pytest.raises(ValueError, match=r"made with .*'small': True.*--out"):
        gpu.run_part("en_de", gpu.Plan(tmp_path), 1, gpu.Clock())
    assert gpu.run_part("en_de", gpu.Plan(tmp_path, small=True), 1, gpu.Clock())


def test_no_run_at_once_is_refused(capsys):
    with pytest.raises(SystemExit):
        gpu.main(["--at-once", "0"])
    assert "it must be 1 or more" in capsys.readouterr().err
