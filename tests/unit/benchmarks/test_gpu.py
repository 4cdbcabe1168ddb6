"""The script for a GPU, tried on the processor."""

import json
import os
import signal
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from typing import ClassVar

import pytest

import gpu
from attnbook.translation.configs import config
from attnbook.translation.models import model_from_config
from attnbook.translation.train_command import read_config
from gpu import OVER


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


def test_all_parts_run_and_elsewhere_a_second_call_has_nothing_to_do(
    tmp_path, here, capsys
):
    folder, packed = tmp_path / "run", tmp_path / "packed.zip"
    # The recipe and the ablation are of the kind of the ladder, the others of de_en.
    left = ("recipe", "ablation", "distilled", "pre_norm", "published_")
    chosen = [part for part in gpu.PARTS if not part.startswith(left)]
    command = ["--small", "--set", "dropout=0.2", "--part", *chosen, "--out"]
    gpu.main([*command, str(folder), "--pack", str(packed)])
    parts = {part: read(folder / f"{part}.json") for part in chosen}
    assert not any(values["missing"] for values in parts.values())
    assert all(values["machine"] and values["runs"] for values in parts.values())
    run = parts["de_en"]["runs"]["seed_2"]
    assert (run["config"]["source"], run["config"]["seed"]) == ("invented", 2)
    assert run["config"]["dropout"] == 0.2
    assert run["log"][-1]["epoch"] == run["epochs"] == 2
    for entry in ("versions", "weights_sha256", "peak_memory_mb", "tokens_per_second"):
        assert run[entry]
    assert parts["en_de"]["bleu"]["test"]["beam, lowercased"]["n"] == 2
    assert parts["ladder"]["bleu"] == {}  # they differ in more than the seed
    started = len(Here.started)
    capsys.readouterr()
    gpu.main([*command, str(tmp_path / "elsewhere"), "--unpack", str(packed)])
    assert len(Here.started) == started
    assert capsys.readouterr().out.count("there already") == len(chosen)


def test_a_part_of_seeds_may_have_a_config_of_its_own(tmp_path):
    """Each of its runs is the config with the part's changes, and a seed."""
    plan = gpu.Plan(tmp_path, config="multi30k-cpu")
    for part, (own, changes) in gpu.SEEDED.items():
        jobs = plan.jobs(part)
        assert [job.name for job in jobs] == ["seed_0", "seed_1", "seed_2"]
        for seed, job in enumerate(jobs):
            name, *entries = job.command[3 : job.command.index("--out")]
            assert name == (own or "multi30k-cpu")
            run = read_config(name, entries[1:])
            assert run == config(name, seed=seed, **changes)


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
    assert missing == dict.fromkeys(["tiny_eager", "tiny_decoding"], OVER)
    gpu.main(arguments)
    assert read(tmp_path / "speed.json")["missing"] == {}


def program(tmp_path, name, text):
    """A job that runs a module of its own; the module is told where to write."""
    (tmp_path / f"{name}.py").write_text(text)
    result = tmp_path / "out" / f"{name}.json"
    return gpu.Job(name, [name, str(result)], result)


@pytest.mark.parametrize("name", ["attnbook", "speed.report"])
def test_a_job_finds_its_program(tmp_path, name):
    job = gpu.Job(name, [name, "--help"], tmp_path / "job.json")
    assert gpu.start(job).wait() == 0
    assert "usage" in gpu.log_of(job).read_text().lower()


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


class UntilThere:
    """Stands for a clock: the time is over once a program has written a file."""

    def __init__(self, path):
        self.path = path

    @property
    def over(self):
        return self.path.exists()


@pytest.fixture
def sleeper(tmp_path, monkeypatch):
    """A job that never ends, what tells that it has begun, and its programs."""
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    text = "open(sys.argv[1] + '.begun', 'w').close(); time.sleep(600)"
    job = program(tmp_path, "program", f"import sys, time; {text}")
    programs, start = [], gpu.start

    def noted(job):
        programs.append(start(job))
        return programs[-1]

    monkeypatch.setattr(gpu, "start", noted)
    return job, UntilThere(Path(f"{job.result}.begun")), programs


def test_programs_are_ended_when_the_time_is_over(sleeper, monkeypatch):
    job, begun, programs = sleeper
    assert gpu.run_jobs([job], 1, begun) == {"program": OVER}
    assert programs[0].wait() == -signal.SIGTERM
    monkeypatch.setattr(gpu.time, "monotonic", lambda: now)
    now = 1000.0
    clock, endless = gpu.Clock(2), gpu.Clock()
    now = 1119.9
    assert not clock.over
    now = 1120.0
    assert (clock.over, endless.over) == (True, False)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_programs_and_says_how_to_go_on(
    tmp_path, monkeypatch, capsys, sleeper, number
):
    job, begun, programs = sleeper

    class Clock:
        """Nothing is over, but once the program has begun there is a signal."""

        @property
        def over(self):
            return begun.over and signal.raise_signal(number)

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
    lowercased = config(name).lowercase  # so that this is no change of it
    assert len(set(seen)) == len(seen) == (37 if lowercased else 39)


def test_the_ablation_changes_what_the_config_has_not_and_is_repeated(tmp_path):
    plan = gpu.Plan(tmp_path, config="multi30k-cpu")
    first, second = (
        {job.name: job.command for job in plan.jobs(part)}
        for part in ("ablation", "ablation_seed_2")
    )
    assert set(first) - set(second) == {"as_it_is", "seed_2"}
    assert not set(second) - set(first)
    assert "seed=1" in first["heads_1"]
    assert {"seed=2", "n_heads=1"} <= set(second["heads_1"])
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
    val = [{**r, "scores": {}, "validation_scores": r["scores"]["test"]} for r in runs]
    assert gpu.bleu_statistics(val)["val"]["beam"]["mean"] == 32.0
    runs[0]["config"]["d"] = 2
    assert all(gpu.bleu_statistics(some) == {} for some in (runs, runs[:1], []))


def test_a_folder_of_another_plan_is_refused(tmp_path):
    plan, entries = gpu.Plan(tmp_path, small=True), ("dropout=0.2",)
    part = {"plan": plan.facts("en_de"), "missing": {}}
    (tmp_path / "en_de.json").write_text(json.dumps(part))
    for other in (gpu.Plan(tmp_path), plan._replace(entries=entries)):
        with pytest.raises(ValueError, match=r"made with .*'small': True.*--out"):
            gpu.run_part("en_de", other, 1, gpu.Clock())
    assert gpu.run_part("en_de", plan, 1, gpu.Clock())
    assert plan.facts("speed") == plan._replace(entries=entries).facts("speed")


def test_no_run_at_once_is_refused(capsys):
    with pytest.raises(SystemExit):
        gpu.main(["--at-once", "0"])
    assert "it must be 1 or more" in capsys.readouterr().err
