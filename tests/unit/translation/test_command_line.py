"""The commands: what they print, and that a mistake is one line and the code 2."""

import errno
import io
import json
import math
import re
import shlex
import subprocess
import sys
from importlib.metadata import version

import pytest
import torch
from small_runs import command, small_config, without, write_texts
from torch.distributed.elastic.multiprocessing.errors import (
    ChildFailedError,
    ProcessFailure,
)

from attnbook.data import multi30k
from attnbook.data.subwords import Subwords
from attnbook.translation import command_line, training_state, translate_command
from attnbook.translation import train_command as training_command
from attnbook.translation.configs import CONFIGS, to_json
from attnbook.translation.trainer import Trainer
from attnbook.translation.translator import SHIPPED

SENTENCES = ["the dog sees a farmer", "", "a cat sees the small dog", "  ", "this dog"]


@pytest.fixture
def model(finished_run):
    return str(finished_run.folder / "model")


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


def read(monkeypatch, content):
    """Let a command read these bytes as its standard input."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))


# Help


@pytest.mark.parametrize("name", ["train", "translate"])
def test_help_names_every_option(name, capsys):
    assert exit_code([name, "--help"]) == 0
    shown = capsys.readouterr().out
    wanted = {
        "train": ["--config", "--set", "--out", "--device", *CONFIGS],
        "translate": ["--file", "--model", "--width", "--device", "TEXT"],
    }[name]
    for option in wanted:
        assert option in shown
    assert f"  attnbook {name} " in shown  # an example


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--help"], 0, "Train a translation model, or resume a run."),
        (["-h"], 0, "Translate a text, a file, or a pipe."),
        ([], 2, "Translate a text, a file, or a pipe."),
        (["--version"], 0, f"attnbook, version {version('attnbook')}"),
        (
            ["tranlsate", "x"],
            2,
            "No such command 'tranlsate'. Did you mean 'translate'?",
        ),
        (["tarin"], 2, "No such command 'tarin'. Did you mean 'train'?"),
        (["translate", "--modl", "x"], 2, "--model"),
        (["A dog runs."], 2, "Did you mean: attnbook translate 'A dog runs.'"),
    ],
)
def test_the_command_itself_helps(capsys, arguments, code, message):
    assert exit_code(arguments) == code
    shown = capsys.readouterr()
    assert message in (shown.err if code else shown.out)
    assert not (shown.out if code else shown.err)


# Translating


def test_a_sentence_is_translated(finished_run, model, capsys):
    translate(["--model", model, "the", "dog", "sees", "a", "farmer"])
    one = capsys.readouterr().out
    translate(["--model", model, "the dog sees a farmer"])
    assert capsys.readouterr().out == one
    assert one.endswith("\n")
    assert one.count("\n") == 1


class Loud:
    """In the place of a translator: gives a sentence in capitals."""

    def __init__(self, folder, device="auto"):
        self.config = CONFIGS["multi30k-cpu"]
        self.subwords = Subwords.train(SENTENCES, 30)
        self.usual = {"many_subwords": 9.0}

    def __call__(self, sentences, width, scored):
        return [(sentence.upper(), 0.0) for sentence in sentences]


@pytest.mark.parametrize(
    ("newline", "end", "at_once"), [("\n", "", 1), ("\n", "\n", 3), ("\r\n", "\n", 64)]
)
def test_a_file_and_standard_input_are_translated_line_by_line(
    tmp_path, monkeypatch, capsys, newline, end, at_once
):
    """In their order; empty lines stay, and a last line needs no end."""
    monkeypatch.setattr(translate_command, "Translator", Loud)
    monkeypatch.setattr(translate_command, "LINES_PER_CHUNK", at_once)
    content = (newline.join(SENTENCES) + end.replace("\n", newline)).encode()
    wanted = "".join(sentence.strip().upper() + "\n" for sentence in SENTENCES)
    path = tmp_path / "some.txt"
    path.write_bytes(content)
    translate(["--file", str(path)])
    assert capsys.readouterr().out == wanted
    read(monkeypatch, content)
    translate([])
    assert capsys.readouterr().out == wanted
    read(monkeypatch, b"")
    translate([])
    assert capsys.readouterr() == (
        "",
        "warning: the text is empty; nothing was translated\n",
    )


def test_the_shipped_model_is_used_unless_another_is_named(monkeypatch, capsys):
    taken = []
    monkeypatch.setattr(
        translate_command, "Translator", lambda *f: taken.append(f[0]) or Loud(*f)
    )
    translate(["a"])
    translate(["--model", "distilled", "a"])
    assert taken == [SHIPPED, "distilled"]
    assert capsys.readouterr().out == "A\nA\n"


def test_a_reader_that_goes_away_is_not_an_error(model):
    """As ``head`` does."""
    program = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "attnbook",
            "translate",
            "--model",
            model,
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    program.stdout.close()
    program.stdin.write(b"the dog\n")
    program.stdin.close()
    assert program.stderr.read() == b""
    assert program.wait() == 0
    program.stderr.close()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("the dog\nStraße\n".encode("latin-1"), "line 2 is not UTF-8"),
        (
            b"the dog\n\n" + b"dog " * 2000,
            r"line 3 holds a sentence that has \d{4} subwords; at most 200",
        ),
    ],
    ids=["latin-1", "2000 words"],
)
def test_a_line_that_cannot_be_translated_is_named(
    model, tmp_path, monkeypatch, refused, content, message
):
    path = tmp_path / "some.txt"
    path.write_bytes(content)
    for arguments in (["--file", path], []):
        read(monkeypatch, content)
        output = refused(translate, "--model", model, *arguments)
        assert re.search(message, output)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--file", "nowhere.txt"], "'nowhere.txt': No such file or directory"),
        (["--width", "0", "the dog"], "width is 0; it must be"),
        (["--width", "wide", "the dog"], "'wide' is not a valid integer"),
        (["--beam", "3"], "No such option '--beam'"),
        (["--device", "tpu", "a"], "'tpu' is not one of"),
        ([""], "the text is empty; give at least a word"),
        (["", " "], "the text is empty; give at least a word"),
        (["--file", "README.md", "the dog"], "give a text or --file, not both"),
    ],
)
def test_a_wrong_argument_is_named(model, refused, arguments, message):
    assert message in refused(translate, "--model", model, *arguments)


def test_a_model_that_is_not_there_is_named(tmp_path, refused):
    output = refused(translate, "--model", tmp_path / "nowhere", "the dog")
    assert "Error: there is no folder" in output
    assert "nowhere" in output


# Training


def test_the_command_trains_and_reports(data, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "mine.json"
    path.write_text(to_json(small_config(data)))
    train(["--config", str(path), "--set", "max_epochs=1", "seed=3"])
    (folder,) = (tmp_path / "runs").iterdir()
    assert folder.name == "mine-3"
    results = json.loads((folder / "results.json").read_text())
    assert (results["config"]["seed"], results["config"]["max_epochs"]) == (3, 1)
    shown = capsys.readouterr()
    bleu = results["scores"]["test"]["beam, lowercased"]["bleu"]
    assert f"test, beam, lowercased: BLEU {bleu:.1f}\n" in shown.out
    assert f"{results['parameters']:,} parameters" in shown.out
    assert shown.out.startswith("runs/mine-3: begins, cpu, torch.float32, at most 1 ")
    sentence = (data / "test.en").read_text().split("\n")[0]
    last = shown.out.strip().split("\n")[-1]
    assert last == f"try it: attnbook translate --model runs/mine-3 '{sentence}'"
    assert re.search(r"\nabout \d+ seconds? for \d\d updates, judging by", shown.out)
    assert "tokens/s" in shown.err  # the progress bar


def test_names_become_folders(monkeypatch):
    taken = []
    monkeypatch.setattr(training_command, "train", lambda *pair: taken.append(pair))
    train(["--config", "toy", "--set", "seed=4", "dropout=0.3"])
    train(["--config", "toy", "--out", "there"])
    train(["--config", "toy", "--set", "seed=2", "--set", "clip=2", "--device", "cpu"])
    assert [str(folder) for _, folder in taken] == ["runs/toy-4", "there", "runs/toy-2"]
    assert (taken[0][0].seed, taken[0][0].dropout) == (4, 0.3)
    assert (taken[2][0].clip, taken[2][0].device) == (2, "cpu")


@pytest.mark.parametrize(
    ("device", "name"), [("cpu", "multi30k-cpu"), ("cuda", "multi30k-tiny")]
)
def test_the_config_suits_the_device(monkeypatch, device, name):
    taken, asked = [], []

    def choose(wanted):
        asked.append(wanted)
        return torch.device(device)

    monkeypatch.setattr(training_command, "train", lambda *pair: taken.append(pair))
    monkeypatch.setattr(training_command, "choose_device", choose)
    train([])
    assert str(taken[0][1]) == f"runs/{name}-0"
    assert taken[0][0] == CONFIGS[name]
    train(["--device", device])
    assert asked == ["auto", device]
    assert taken[1][0].device == device


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--config", "toy", "--device", "gpu"], "'gpu' is not one of 'auto'"),
        (["--config", "huge"], "Error: there is no config 'huge'; there are toy, "),
        (["--config", "no.json"], "Error: no.json cannot be read as a config: "),
        (
            ["--config", "toy", "--set", "layers=3"],
            "Error: no entry 'layers'; did you mean 'n_layers'?",
        ),
        (["--config", "toy", "--set", "seed"], "Error: seed: write ENTRY=VALUE"),
        (["toy"], "Error: toy: write ENTRY=VALUE, such as seed=1, or --config toy"),
        (["--config", "toy", "--set", "seed=x"], "Error: seed is 'x'; it must be of"),
        (["--config", "toy", "--set", "dropout=1"], "Error: dropout is 1; it must be "),
        (["--config", "toy", "--set", "n_heads=3"], "Error: d_model = 64 cannot be"),
        (["--config", "toy", "--set", "model=gpt"], "Error: there is no model 'gpt'"),
        (["--config", "toy", "--set", "data=no"], "Error: no/train.toy cannot be read"),
        (
            ["--config", "toy", "--set", "vocab_size=9"],
            "Error: vocab_size is 9, but the text",
        ),
        (["--sett", "seed=1", "x"], "No such option '--sett'"),
    ],
)
def test_a_wrong_setting_is_named(tmp_path, monkeypatch, refused, arguments, message):
    monkeypatch.chdir(tmp_path)
    assert message in refused(train, *arguments)


def test_a_missing_copy_of_the_data_is_named(tmp_path, monkeypatch, refused):
    monkeypatch.setenv("ATTNBOOK_DATA", str(tmp_path / "nowhere"))
    output = refused(train, "--out", tmp_path / "run")
    assert "ATTNBOOK_DATA is" in output
    assert "nowhere" in output
    assert "train.en.gz" in output


def run_small(data, tmp_path, refused, *changes):
    path = tmp_path / "mine.json"
    path.write_text(to_json(small_config(data)))
    return refused(
        train, "--config", path, "--out", tmp_path / "run", "--set", "seed=0", *changes
    )


def test_a_run_of_another_config_is_named(data, tmp_path, refused):
    run = tmp_path / "run"
    Trainer(small_config(data), run)
    output = run_small(data, tmp_path, refused, "dropout=0.5")
    assert "holds a run with dropout 0.1, not 0.5; name another folder" in output


@pytest.mark.parametrize("split", ["train", "val", "test"])
def test_a_missing_split_is_named_before_training(
    data, tmp_path, monkeypatch, refused, split
):
    """One that is asked for in the end too: then training has taken hours."""
    file = data / f"{split}.de"
    content = file.read_bytes()
    file.unlink()
    with monkeypatch.context() as patch:
        patch.setattr(Trainer, "train", None)
        output = run_small(data, tmp_path, refused)
    assert f"{split}.de cannot be read as UTF-8" in output
    file.write_bytes(content)
    Trainer(small_config(data, seed=7), tmp_path / "run")  # the folder is still free


def test_every_split_of_multi30k_is_read_first(tmp_path, monkeypatch):
    read = []
    monkeypatch.setattr(
        training_command, "load_texts", lambda _, split: read.append(split)
    )
    training_command.check_splits(CONFIGS["multi30k-cpu"])
    assert sorted(read) == sorted(multi30k.SPLITS)


def too_much_memory():
    """Ask the processor for more than any has, as a batch too large would."""
    return torch.empty(2**56, dtype=torch.uint8)


def fails(error):
    """A function that raises the error, whatever it is given."""

    def fail(*_):
        raise error

    return fail


@pytest.mark.parametrize(
    "fail",
    [
        fails(torch.OutOfMemoryError("tried to allocate 20 GiB")),
        fails(MemoryError("tried to allocate 20 GiB")),
        fails(RuntimeError("MPS backend out of memory (tried to allocate 20 GiB)")),
        fails(RuntimeError("not enough memory: you tried to allocate 9 bytes")),
        fails(
            RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED (tried to allocate")
        ),
        lambda *_: too_much_memory(),
    ],
    ids=["CUDA", "Python", "Apple", "Windows", "cuBLAS", "processor"],
)
@pytest.mark.parametrize("where", ["_backward", "_make_model"])
def test_out_of_memory_says_what_to_lower(
    data, tmp_path, monkeypatch, refused, fail, where
):
    monkeypatch.setattr(Trainer, where, fail)
    output = run_small(data, tmp_path, refused)
    assert "out of memory: lower batch_tokens (now 384)" in output
    assert "batches_per_update (now 1)" in output
    assert "precision=bf16" in output
    assert "tried to allocate" in output


def test_after_an_update_that_memory_did_not_suffice_for_it_goes_on(
    data, tmp_path, monkeypatch, refused, capsys
):
    """From the state that was saved before."""
    backward = Trainer._backward

    def full(trainer, *batch):
        if trainer.step == 10:
            raise torch.OutOfMemoryError("CUDA out of memory. tried to allocate 9 GiB")
        return backward(trainer, *batch)

    with monkeypatch.context() as patch:
        patch.setattr(Trainer, "_backward", full)
        output = run_small(data, tmp_path, refused)
    assert f"the same command resumes the run in {tmp_path / 'run'}" in output
    train(["--config", str(tmp_path / "mine.json"), "--out", str(tmp_path / "run")])
    assert f"{tmp_path / 'run'}: resumes after update 8" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("precision", "more"), [("fp32", "nothing since."), ("bf16", "fp32 may help, and")]
)
def test_when_training_diverges_it_says_what_to_try(
    data, tmp_path, refused, precision, more
):
    changes = ("peak_learning_rate=1e29", "warmup=1", f"precision={precision}")
    output = run_small(data, tmp_path, refused, *changes)
    assert "training diverged: the loss of update 2 is nan; lower the learn" in output
    assert "This run has peak_learning_rate=1e+29, warmup=1 and clip=1.0" in output
    assert f"In {tmp_path / 'run'} no state was saved yet" in output
    assert (more in output) == (precision == "bf16")
    assert not (tmp_path / "run" / "model").exists()
    assert not (tmp_path / "run" / "results.json").exists()


def test_what_was_saved_before_it_diverged_is_named(
    data, tmp_path, monkeypatch, refused
):
    backward = Trainer._backward
    monkeypatch.setattr(
        Trainer,
        "_backward",
        lambda t, *batch: backward(t, *batch) * (math.inf if t.step == 10 else 1),
    )
    output = run_small(data, tmp_path, refused)
    assert "the loss of update 10 is inf" in output
    assert "the state after update 8 is kept, and nothing since." in output


# A text of one's own


def two_files(folder, lines=60):
    """Nothing but train in two languages."""
    write_texts(folder, {"train": lines})
    (folder / "train.de").rename(folder / "train.it")
    return folder


def test_two_files_are_enough(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    two_files(tmp_path / "mine")
    small = [f"{name}={value}" for name, value in SMALL.items()]
    train(["--set", "data=mine", "source=en", "target=it", *small])
    shown = capsys.readouterr().out
    assert shown.startswith("runs/small-data-0: begins")
    assert "mine has no val.en and val.it: 6 pairs of train are held out" in shown
    assert "warning: " in shown
    assert "val, beam, cased: BLEU" in shown
    command = shlex.split(re.search(r"try it: attnbook (.*)\n", shown)[1])
    command_line.main(command)
    assert capsys.readouterr().out.endswith("\n")


SMALL = {
    **{"max_epochs": 2, "d_model": 32, "d_ff": 32, "n_layers": 1, "vocab_size": 120},
    **{"average": 1, "precision": "fp32"},
}


@pytest.mark.parametrize("lines", [9_999, 10_000])
def test_little_text_has_a_config_of_its_own(tmp_path, lines):
    (tmp_path / "train.en").write_text("a dog\n" * lines)
    found = training_command.default_config("cpu", str(tmp_path))
    assert found == ("small-data" if lines < 10_000 else "multi30k-cpu")


@pytest.mark.parametrize("changes", [(), ("max_epochs=2", "warmup=14")])
def test_a_run_too_short_to_learn_is_told_how_long(
    data, tmp_path, capsys, monkeypatch, changes
):
    """Fewer updates than twice the warm-up; enough of them are five times."""
    monkeypatch.setattr(training_command, "train_until_asked", lambda trainer: None)
    monkeypatch.setattr(training_command, "report", lambda trainer: None)
    (tmp_path / "mine.json").write_text(to_json(small_config(data)))
    name = ["--config", str(tmp_path / "mine.json"), "--out", str(tmp_path / "run")]
    train([*name, "--set", "seed=0", *changes])
    shown = capsys.readouterr().out
    assert ("warning: 26 updates are too few" in shown) == bool(changes)
    assert ("add max_epochs=6" in shown) == bool(changes)


@pytest.mark.parametrize(
    "change",
    ["vocab_size=9", "n_heads=3", "model=gpt", "batches_per_update=999", "r_drop=NaN"],
)
@pytest.mark.parametrize("kept", [False, True])
def test_a_refused_run_leaves_nothing(data, tmp_path, refused, change, kept):
    """Nor a folder around it; but what was there before stays."""
    (tmp_path / "mine.json").write_text(to_json(small_config(data)))
    run = tmp_path / "runs" / "new" / "run"
    if kept:
        run.mkdir(parents=True)
        (run / "notes.txt").write_text("mine")
    refused(train, "--config", tmp_path / "mine.json", "--out", run, "--set", change)
    left = [p.name for p in (tmp_path / "runs").glob("**/*")]
    assert left == (["new", "run", "notes.txt"] if kept else [])
    assert (tmp_path / "runs").exists() == kept


def test_an_error_of_another_kind_is_not_taken_for_memory(data, tmp_path, monkeypatch):
    monkeypatch.setattr(Trainer, "_backward", fails(RuntimeError("a bug")))
    with pytest.raises(RuntimeError, match="a bug"):
        training_command.train(small_config(data), tmp_path / "run")


@pytest.mark.parametrize(
    "error",
    [
        RuntimeError("[pair.cc:553] Connection closed by peer [127.0.0.1]:30375"),
        torch.distributed.DistBackendError("NCCL error: remote process exited"),
    ],
)
def test_a_process_whose_others_have_ended_says_so(
    data, tmp_path, monkeypatch, refused, error
):
    monkeypatch.setattr(Trainer, "_backward", fails(error))
    output = run_small(data, tmp_path, refused)
    assert "another process of this run has ended; its own message says why" in output


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


def test_on_a_full_disk_the_run_can_go_on_later(data, tmp_path, monkeypatch, refused):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(training_state, "write_whole", full)
        output = run_small(data, tmp_path, refused)
    assert "No space left on device" in output
    assert str(tmp_path / "run") in output
    Trainer(small_config(data), tmp_path / "run").train()


def test_a_file_in_the_position_of_the_folder_is_named(data, tmp_path, refused):
    (tmp_path / "run").write_text("mine")
    assert "run cannot be written" in run_small(data, tmp_path, refused)
    assert (tmp_path / "run").read_text() == "mine"


def test_the_command_says_it_in_one_line():
    """As a process: the code, and nothing but the message on stderr."""
    shown = command(
        "attnbook",
        "train",
        "--config",
        "huge",
        env=without("ATTNBOOK_DATA"),
    )
    assert shown.returncode == 2
    assert shown.stderr.startswith("Error: there is no config 'huge'")
    assert shown.stderr.count("\n") == 1
    assert shown.stdout == ""
