"""The commands: what they print, and that a mistake is one line and the code 2."""

import errno
import json
import math
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from small_runs import small_config, write_texts
from torch.distributed.elastic.multiprocessing.errors import (
    ChildFailedError,
    ProcessFailure,
)

from attnbook.core.signals import Ended
from attnbook.translation import command_line
from attnbook.translation import train_command as training_command
from attnbook.translation.configs import (
    CONFIGS,
    Config,
    changed,
    from_stored,
    to_json,
)
from attnbook.translation.corpora import load_texts
from attnbook.translation.trainer import Trainer


@pytest.fixture
def data(tmp_path):
    return write_texts(tmp_path / "data")


def exit_code(arguments):
    """The exit code of the command."""
    try:
        command_line.main(arguments)
    except SystemExit as end:
        return end.code
    return 0


def train(arguments):
    command_line.main(["train", *arguments])


def translate(arguments):
    command_line.main(["translate", *arguments])


@pytest.fixture
def refused(capsys):
    """A function that runs a command and returns what it says as it gives up."""

    def run(main, *arguments):
        with pytest.raises(SystemExit) as end:
            main([str(argument) for argument in arguments])
        shown = capsys.readouterr()
        assert end.value.code == 2
        assert "Traceback" not in shown.err
        return shown.err

    return run


# Help


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["-h"], 0, "Translate a text, a file, or a pipe."),
        ([], 2, "Translate a text, a file, or a pipe."),
        (["tarin"], 2, "No such command 'tarin'. Did you mean 'train'?"),
        (["A dog runs."], 2, "Did you mean: attnbook translate 'A dog runs.'"),
    ],
)
def test_the_command_itself_helps(capsys, arguments, code, message):
    assert exit_code(arguments) == code
    shown = capsys.readouterr()
    assert message in (shown.err if code else shown.out)
    assert not (shown.out if code else shown.err)


# Translating


def test_a_reader_that_goes_away_is_not_an_error():
    """As ``head`` does."""
    arguments = [sys.executable, "-m", "attnbook", "translate"]
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    program = subprocess.Popen(arguments, **pipes)
    program.stdout.close()
    program.stdin.write(b"the dog\n")
    program.stdin.close()
    assert program.stderr.read() == b""
    assert program.wait() == 0
    program.stderr.close()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--file", "nowhere.txt"], "'nowhere.txt': No such file or directory"),
        (["--width", "0", "the dog"], "width is 0; it must be"),
        (["--file", "README.md", "the dog"], "give a text or --file, not both"),
    ],
)
def test_a_wrong_argument_is_named(refused, arguments, message):
    assert message in refused(translate, *arguments)


# Training


@pytest.fixture
def mine(data, tmp_path):
    """Arguments of a small run in the folder ``run``."""
    path = tmp_path / "mine.json"
    path.write_text(to_json(small_config(data)))
    return ["--config", str(path), "--out", str(tmp_path / "run"), "--set", "seed=0"]


def test_what_ended_a_run_early_is_said(data, mine, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(Config, "patience", 1)
    monkeypatch.setattr(Trainer, "validation_loss", lambda trainer: 3.0)
    monkeypatch.setattr(training_command, "write_results", lambda trainer: None)
    monkeypatch.setattr(training_command, "summary", lambda results: "")
    train([*mine, "max_epochs=4"])
    said = "stopped after 26 updates: no lower validation loss for 1 epochs\n"
    assert said in capsys.readouterr().out


def test_names_become_folders(monkeypatch):
    taken = []
    monkeypatch.setattr(training_command, "train", lambda *given: taken.append(given))
    train(["--config", "toy", "--set", "seed=4", "dropout=0.3"])
    train(["--config", "toy", "--out", "there"])
    train(["--config", "toy", "--set", "seed=2", "--set", "d_ff=9", "--device", "cpu"])
    assert [str(folder) for _, folder, _ in taken] == [
        *("runs/toy-4", "there", "runs/toy-2"),
    ]
    assert (taken[0][0].seed, taken[0][0].dropout) == (4, 0.3)
    assert (taken[2][0].d_ff, taken[2][2]) == (9, "cpu")


@pytest.mark.parametrize(
    ("device", "name"), [("cpu", "multi30k-quick"), ("cuda", "multi30k-tiny")]
)
def test_the_config_suits_the_device(monkeypatch, device, name):
    taken, asked = [], []

    def choose(wanted):
        asked.append(wanted)
        return torch.device(device)

    monkeypatch.setattr(training_command, "train", lambda *given: taken.append(given))
    monkeypatch.setattr(training_command, "choose_device", choose)
    train([])
    train(["--device", device])
    folder = Path(f"runs/{name}-0")
    assert taken == [(CONFIGS[name], folder, x) for x in ("auto", device)]
    assert asked == ["auto", device]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--config", "huge"], "Error: there is no config 'huge'; there are toy, "),
        (["--config", "toy", "--set", "seed"], "Error: seed: write ENTRY=VALUE"),
        (["toy"], "Error: toy: write ENTRY=VALUE, such as seed=1, or --config toy"),
        (["--config", "toy", "--set", "data=no"], "Error: there is no no/train.toy; "),
        (["--config", "toy", "--set", "vocab_size=9"], "Error: vocab_size is 9, but"),
    ],
)
def test_a_wrong_setting_is_named(tmp_path, monkeypatch, refused, arguments, message):
    monkeypatch.chdir(tmp_path)
    assert message in refused(train, *arguments)
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize("split", ["train", "val", "test"])
def test_a_missing_split_is_named_before_training(
    data, mine, monkeypatch, refused, split
):
    """One that is asked for in the end too: then training has taken hours."""
    (data / f"{split}.de").unlink()
    monkeypatch.setattr(Trainer, "train", None)
    assert f"there is no {data / split}.de" in refused(train, *mine)


@pytest.mark.parametrize("kept", [False, True])
def test_a_refused_run_leaves_nothing(mine, tmp_path, refused, kept):
    """Nor a folder around it; but what was there before stays."""
    run = tmp_path / "runs" / "new" / "run"
    if kept:
        run.mkdir(parents=True)
        (run / "notes.txt").write_text("mine")
    refused(train, *mine[:2], "--out", run, "--set", "n_heads=3")
    left = [p.name for p in (tmp_path / "runs").glob("**/*")]
    assert left == (["new", "run", "notes.txt"] if kept else [])
    assert (tmp_path / "runs").exists() == kept


# Errors on the way


def fails(error):
    """A function that raises the error, whatever it is given."""

    def fail(*_):
        raise error

    return fail


def too_much_memory(*_):
    """Ask the processor for more than any has, as a batch too large would."""
    return torch.empty(2**56, dtype=torch.uint8)


MEMORY = "out of memory: lower batch_tokens (now 384)"
OTHER_ENDED = "another process of this run has ended; its own message says why"
FAILURES = {
    "CUDA": (fails(torch.OutOfMemoryError("tried to allocate 20 GiB")), MEMORY),
    "Python": (fails(MemoryError("tried to allocate 20 GiB")), MEMORY),
    "Apple": (fails(RuntimeError("MPS backend out of memory (tried")), MEMORY),
    "Windows": (fails(RuntimeError("not enough memory: you tried to")), MEMORY),
    "cuBLAS": (fails(RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED")), MEMORY),
    "processor": (too_much_memory, MEMORY),
    "gloo": (
        fails(RuntimeError("closed by peer")),
        OTHER_ENDED,
    ),
    "NCCL": (fails(torch.distributed.DistBackendError("NCCL error")), OTHER_ENDED),
    "disk": (fails(OSError(errno.ENOSPC, "No space left on device")), "No space left"),
}


@pytest.mark.parametrize("name", FAILURES)
def test_what_fails_is_told_with_what_to_do(mine, tmp_path, monkeypatch, refused, name):
    fail, message = FAILURES[name]
    monkeypatch.setattr(Trainer, "_update", fail)
    output = refused(train, *mine)
    assert message in output
    assert str(tmp_path / "run") in output


def test_a_run_that_failed_goes_on(mine, tmp_path, monkeypatch, refused, capsys):
    update = Trainer._update

    def failing(trainer, batches):
        return too_much_memory() if trainer.step == 9 else update(trainer, batches)

    with monkeypatch.context() as patch:
        patch.setattr(Trainer, "_update", failing)
        refused(train, *mine)
    monkeypatch.setattr(Trainer, "train", lambda trainer: None)
    monkeypatch.setattr(training_command, "report", lambda trainer: None)
    train(mine)
    assert f"{tmp_path / 'run'}: resumes after update 8" in capsys.readouterr().out


def test_an_error_of_another_kind_is_not_taken_for_memory(mine, monkeypatch):
    monkeypatch.setattr(Trainer, "_update", fails(RuntimeError("a bug")))
    with pytest.raises(RuntimeError, match="a bug"):
        train(mine)


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_when_training_diverges_it_says_what_to_try(
    mine, tmp_path, monkeypatch, refused, precision
):
    changes = ("peak_learning_rate=1e29", "warmup=1", f"precision={precision}")
    output = refused(train, *mine, *changes)
    assert "training diverged: the loss of update 2 is nan; lower the learn" in output
    assert "This run has peak_learning_rate=1e+29 and warmup=1" in output
    assert f"In {tmp_path / 'run'} no state was saved yet" in output
    assert ("fp32 may help, and goes on" in output) == (precision == "bf16")
    assert not (tmp_path / "run" / "model").exists()
    update = Trainer._update
    monkeypatch.setattr(
        Trainer,
        "_update",
        lambda t, b: update(t, b) * (math.inf if t.step == 10 else 1),
    )
    output = refused(train, *mine[:2], "--out", tmp_path / "other")
    assert "the loss of update 10 is inf" in output
    assert "the state after update 8 is kept, and nothing since." in output


def test_a_mistake_of_several_processes_is_told_once(tmp_path, monkeypatch, capsys):
    """Torchrun tells again what stands in its error files."""
    for rank in (0, 1):
        monkeypatch.setenv("RANK", str(rank))
        monkeypatch.setenv("TORCHELASTIC_ERROR_FILE", str(tmp_path / f"{rank}.json"))
        assert exit_code(["train", "--config", "toy", "--set", "sed=1"]) == 2
        told = capsys.readouterr().err
        assert ("did you mean 'seed'" in told) == (rank == 0)
        failure = ProcessFailure(rank, 7, 2, str(tmp_path / f"{rank}.json"))
        report = ChildFailedError("attnbook", {rank: failure}).format_msg()
        assert "traceback : no entry 'sed'; did you mean 'seed'?" in report


# A text of one's own


SMALL = {
    **{"max_epochs": 1, "d_model": 32, "d_ff": 32, "n_layers": 1, "vocab_size": 120},
    **{"average": 1, "precision": "fp32"},
}


def test_two_files_are_enough(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write_texts(tmp_path / "mine", {"train": 60})
    (tmp_path / "mine" / "train.de").rename(tmp_path / "mine" / "train.it")
    small = [f"{name}={value}" for name, value in SMALL.items()]
    train(["--set", "data=mine", "source=en", "target=it", "seed=3", *small])
    shown = capsys.readouterr()
    assert shown.out.startswith("runs/small-data-3: begins, cpu, torch.float32, at mo")
    assert "mine has no val.en and val.it: 6 pairs of train are held out" in shown.out
    assert "tokens/s" in shown.err  # the progress bar
    results = json.loads((tmp_path / "runs/small-data-3/results.json").read_text())
    assert (results["config"]["seed"], results["config"]["max_epochs"]) == (3, 1)
    bleu = results["validation_scores"]["beam, lowercased"]["bleu"]
    assert f"val, beam, lowercased: BLEU {bleu:.1f}\n" in shown.out
    assert f"{results['parameters']:,} parameters" in shown.out
    command = shlex.split(re.search(r"try it: attnbook (.*)\n$", shown.out)[1])
    assert command[-1] == load_texts(from_stored(results["config"]), "val").source[0]
    command_line.main(command)
    assert capsys.readouterr().out.endswith("\n")


@pytest.mark.parametrize("lines", [9_999, 10_000])
def test_little_text_has_a_config_of_its_own(tmp_path, lines):
    (tmp_path / "train.en").write_text("a dog\n" * lines)
    found = training_command.default_config("cpu", str(tmp_path))
    assert found == ("small-data" if lines < 10_000 else "multi30k-quick")


@pytest.mark.parametrize("warmup", [25, 26])
def test_a_run_that_ends_before_its_rate_is_highest_is_told_how_long(
    mine, monkeypatch, capsys, warmup
):
    """Of 26 updates; enough of them are five times the warm-up."""
    monkeypatch.setattr(training_command, "train_until_asked", lambda trainer: None)
    monkeypatch.setattr(training_command, "report", lambda trainer: None)
    train([*mine, f"warmup={warmup}"])
    warning = "warning: the learning rate rises over 26 updates, and the run has 26: "
    assert (f"{warning}add max_epochs=10, or" in capsys.readouterr().out) == (
        warmup == 26
    )


def test_a_recipe_that_is_not_tested_is_told(monkeypatch):
    run = changed(CONFIGS["multi30k-cpu"], n_heads=8)
    trainer = SimpleNamespace(config=run, updates=10_000)
    assert "compared on validation data" in training_command.remarks(trainer)[0]
    trainer.config = CONFIGS["multi30k-cpu"]
    assert training_command.remarks(trainer) == []


# Signals


def signals(*names):
    """A training that gets signals, and ends when it is asked to."""

    def training(trainer):
        for name in names:
            signal.raise_signal(getattr(signal, name))
        trainer.stopped = trainer.stop_requested or not names

    return training


def test_a_stopped_command_says_how_to_go_on(mine, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(Trainer, "train", signals("SIGINT"))
    assert exit_code(["train", *mine]) == 128 + signal.SIGINT
    words = f"stopped; the same command resumes the run in {tmp_path / 'run'}\n"
    assert capsys.readouterr().err == words


@pytest.mark.parametrize(
    ("names", "world", "number", "stopped"),
    [
        ((), 1, "SIGTERM", True),  # another process was stopped
        (("SIGINT",), 1, "SIGINT", True),
        (("SIGINT", "SIGTERM"), 1, "SIGTERM", False),  # the second one at once
        (("SIGINT", "SIGINT"), 2, "SIGINT", True),  # torchrun sends it on
    ],
)
def test_a_signal_stops_and_a_second_one_ends_at_once(
    data, tmp_path, monkeypatch, names, world, number, stopped
):
    trainer = Trainer(small_config(data), tmp_path / "run")
    trainer.world = world
    monkeypatch.setattr(Trainer, "train", signals(*names))
    with pytest.raises(Ended) as end:
        training_command.train_until_asked(trainer)
    assert end.value.number == getattr(signal, number)
    assert isinstance(end.value, KeyboardInterrupt)  # as a notebook expects it
    assert trainer.stopped == stopped


def test_a_stop_leaves_the_folder(mine, monkeypatch):
    closed = []
    monkeypatch.setattr(Trainer, "train", signals())
    monkeypatch.setattr(Trainer, "close", lambda trainer: closed.append(trainer.step))
    assert exit_code(["train", *mine]) == 128 + signal.SIGTERM
    assert closed == [0]


@pytest.mark.parametrize(("system", "quote"), [("posix", "'"), ("nt", '"')])
def test_an_example_can_be_pasted_into_the_shell(monkeypatch, system, quote):
    sentence = "It costs $5."
    texts = SimpleNamespace(source=[sentence])
    monkeypatch.setattr(training_command, "load_texts", lambda *_: texts)
    monkeypatch.setattr(training_command, "os", SimpleNamespace(name=system))
    command = training_command.example_command(CONFIGS["multi30k-cpu"], Path("run"))
    assert command == f"attnbook translate --model run {quote}{sentence}{quote}"
