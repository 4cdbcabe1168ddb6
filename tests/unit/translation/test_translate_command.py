"""`attnbook translate`: what it reads, how it divides it, and what it warns of."""

import io
import signal
import sys

import pytest

from attnbook.data.subwords import Subwords
from attnbook.translation import command_line, translate_command
from attnbook.translation.configs import CONFIGS
from attnbook.translation.translator import SHIPPED


class Echo:
    """In the place of a translator: gives each sentence in brackets."""

    def __init__(self, folder=None, device="cpu"):
        self.config = CONFIGS["multi30k-cpu"]
        self.subwords = Subwords.load(SHIPPED / "subwords.json")
        self.usual = {}
        self.calls, self.named = [], []
        self.form, self.log_prob = "[{}]", 0.0

    def __call__(self, sentences, width, scored):
        assert scored
        self.calls.append(list(sentences))
        return [(self.form.format(text), self.log_prob) for text in sentences]


@pytest.fixture
def echo(monkeypatch):
    made = Echo()
    monkeypatch.setattr(
        translate_command, "Translator", lambda *named: made.named.append(named) or made
    )
    return made


class Terminal(io.BytesIO):
    """Bytes that someone types."""

    def isatty(self):
        return True


def read(monkeypatch, stream):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(stream))


def translate(*arguments):
    command_line.main(["translate", *map(str, arguments)])


def test_each_sentence_is_translated_by_itself_and_lines_stay_lines(
    echo, monkeypatch, capsys
):
    text = b"A dog runs. A cat sleeps.\n\nTwo men, Mr. Smith and his son, walk.\n"
    read(monkeypatch, io.BytesIO(text))
    translate()
    assert capsys.readouterr().out == (
        "[A dog runs.] [A cat sleeps.]\n\n[Two men, Mr. Smith and his son, walk.]\n"
    )
    assert len(echo.calls) == 1
    assert len(echo.calls[0]) == 3
    translate("A dog", "runs. A cat sleeps.")
    assert capsys.readouterr().out == "[A dog runs.] [A cat sleeps.]\n"
    assert echo.named == [(SHIPPED, "cpu")] * 2


EMPTY = "warning: the text is empty; nothing was translated\n"
INVISIBLE = ["\xad", "\u200b", "\u200f", "\ufeff", "\u2028", "\u2800", "\0"]


@pytest.mark.parametrize(
    ("text", "out", "told"),
    [
        ("", "", EMPTY),
        ("A dog.\n\n  \nA cat.", "[A dog.]\n\n\n[A cat.]\n", ""),
        ("A dog.\r\n\r\nA cat.\r\n", "[A dog.]\n\n[A cat.]\n", ""),
        ("\ufeffA dog runs.\n\ufeff\n", "[A dog runs.]\n\n", ""),  # by Windows
        *((f"{x}\nA {x}dog.\n", "\n[A dog.]\n", "") for x in INVISIBLE),
    ],
)
def test_lines_stay_lines(echo, monkeypatch, capsys, text, out, told):
    read(monkeypatch, io.BytesIO(text.encode()))
    translate()
    assert capsys.readouterr() == (out, told)


@pytest.mark.parametrize("terminal", [False, True])
def test_a_file_is_read_in_batches_wherever_the_command_is_typed(
    echo, monkeypatch, tmp_path, terminal
):
    """Also where the standard input, which is not read, is a terminal."""
    path = tmp_path / "some.txt"
    path.write_text("A dog runs.\n" * 100)
    read(monkeypatch, (Terminal if terminal else io.BytesIO)(b""))
    translate("--file", path)
    assert [len(call) for call in echo.calls] == [64, 36]


def test_what_is_not_shown_but_stored_is_utf_8(echo, monkeypatch):
    stored = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(stored, encoding="cp1252"))
    translate("A dog runs down the Straße.")
    sys.stdout.flush()
    assert stored.getvalue().decode().rstrip() == "[A dog runs down the Straße.]"


@pytest.mark.parametrize("arguments", [[], ["--file", "-"]])
def test_at_a_terminal_it_prompts_and_answers_each_line(
    echo, monkeypatch, capsys, arguments
):
    read(monkeypatch, Terminal(b"A dog runs.\nA cat sleeps.\n"))
    translate(*arguments)
    shown = capsys.readouterr()
    assert shown.out == "[A dog runs.]\n[A cat sleeps.]\n"
    assert shown.err.startswith("Type a sentence in English and press Enter; Ctrl-")
    assert shown.err.endswith("end.\n> > > \n") or shown.err.endswith("ends.\n> > > \n")
    assert [len(call) for call in echo.calls] == [1, 1]


def test_what_is_doubted_is_told_on_stderr_with_its_line(echo, monkeypatch, capsys):
    lines = ["A dog runs.", "A DOG RUNS FAST.", "A 🐶 runs.", "A &dogs; runs."]
    read(monkeypatch, io.BytesIO("\n".join(lines).encode()))
    translate()
    shown = capsys.readouterr()
    assert shown.out == "".join(f"[{line}]\n" for line in lines)
    warnings = shown.err.splitlines()
    assert [warning[:17] for warning in warnings] == [
        f"warning: line {n}: " for n in (2, 3, 4)
    ]
    for warning, reason in zip(warnings, ("capitals", "🐶", "&dogs;"), strict=True):
        assert reason in warning
    translate(lines[1])
    assert capsys.readouterr().err.startswith("warning: it is in capitals")
    echo.usual, echo.log_prob = {"unsure": {"greedy": -0.9, "beam": -0.7}}, -0.8
    translate("A dog runs.")
    assert capsys.readouterr().err.startswith("warning: the model is less sure")
    translate("--width", 1, "A dog runs.")
    assert capsys.readouterr().err == ""
    echo.form = "{0}{0}{0}"
    translate("A dog runs.")
    assert capsys.readouterr().err.startswith("warning: the translation repeats itself")


def test_other_models_of_the_package_are_known_by_name(capsys):
    translate("--model", "german-english", "Ein Hund rennt durch den Schnee.")
    assert capsys.readouterr().out == "A dog runs through the snow.\n"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_is_one_line_and_whole_lines_are_printed(
    echo, monkeypatch, capsys, number
):
    class Interrupted(io.BytesIO):
        def __next__(self):
            if self.tell() > 64 * 12:
                signal.raise_signal(number)
            return super().__next__()

    read(monkeypatch, Interrupted(b"A dog runs.\n" * 100))
    with pytest.raises(SystemExit) as end:
        translate()
    assert end.value.code == 128 + number
    shown = capsys.readouterr()
    assert shown.out == "[A dog runs.]\n" * 64
    assert shown.err == (
        "stopped after line 64; for the others, give the text from there on\n"
    )


def test_ctrl_c_at_the_prompt(echo, monkeypatch, capsys):
    class Interrupted(Terminal):
        def readline(self):
            signal.raise_signal(signal.SIGINT)

    read(monkeypatch, Interrupted())
    with pytest.raises(SystemExit) as end:
        translate()
    assert end.value.code == 130
    assert capsys.readouterr().err.endswith("> \nstopped\n")


def fails(*arguments):
    with pytest.raises(SystemExit) as end:
        translate(*arguments)
    assert end.value.code == 2


LATIN = "Zwei Männer.".encode("latin-1")
LONG = b"dog " * 390


@pytest.mark.parametrize("place", [1, 64, 65])
@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (LATIN, "is not UTF-8 (invalid continuation byte); convert the text"),
        (LONG, "holds a sentence that has 390 subwords; at most 200 can be"),
    ],
)
def test_a_line_that_cannot_be_translated_takes_no_other_along(
    echo, monkeypatch, tmp_path, capsys, place, line, reason
):
    """Its own line is blank, so that line n still translates line n."""
    lines = [b"A dog %d." % n for n in range(1, 101)]
    lines[place - 1] = line
    path = tmp_path / "some.txt"
    path.write_bytes(b"\n".join(lines))
    wanted = [f"[A dog {n}.]" if n != place else "" for n in range(1, 101)]
    for arguments in (["--file", path], ["--file", "-"], []):
        read(monkeypatch, io.BytesIO(path.read_bytes()))
        fails(*arguments)
        shown = capsys.readouterr()
        assert shown.out.split("\n") == [*wanted, ""]
        errors = shown.err.splitlines()
        assert errors[0].startswith(f"error: line {place} {reason}")
        assert errors[1:] == [
            "Error: 1 of 100 lines could not be translated; see above"
        ]


def test_a_bad_line_at_the_prompt_is_told_and_the_next_one_asked_for(
    echo, monkeypatch, capsys
):
    read(monkeypatch, Terminal(LATIN + b"\nA dog.\n"))
    translate()
    shown = capsys.readouterr()
    assert shown.out == "\n[A dog.]\n"
    assert "error: line 1 is not UTF-8" in shown.err


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("\udcff", "the text is not UTF-8 ("),
        ("A dog \ud83d runs.", "the text is not UTF-8 ("),
        ("\u200b", "the text is empty; give at least a word"),
    ],
)
def test_an_argument_that_is_no_text_is_told_in_a_sentence(echo, capsys, text, told):
    fails(text)
    assert capsys.readouterr().err.startswith(f"Error: {told}")


@pytest.mark.parametrize(
    ("name", "told"),
    [("german_english", "did you mean 'german-english'?"), ("x", "distilled")],
)
def test_a_model_that_is_not_there_names_those_that_are(capsys, name, told):
    fails("--model", name, "A dog.")
    error = capsys.readouterr().err
    assert error.startswith(f"Error: there is no folder {name!r}")
    assert told in error


def test_a_beam_that_would_fill_the_memory_is_refused(capsys):
    fails("--width", 99999, "A dog.")
    told = "Error: width is 99999; a beam may be 100 wide at most: take 4 or 5\n"
    assert capsys.readouterr().err == told
