"""What a program does when it is asked to end."""

import signal
import threading

import pytest

from attnbook.core.signals import Ended, last_words, on_signal

NUMBERS = [
    getattr(signal, name)
    for name in ("SIGINT", "SIGTERM", "SIGHUP")
    if hasattr(signal, name)
]


@pytest.fixture
def heard(number):
    """A signal that isn't ignored, even if the tests run under nohup."""
    before = signal.getsignal(number)
    if before is signal.SIG_IGN:
        signal.signal(number, signal.SIG_DFL)
    yield
    signal.signal(number, before)


@pytest.mark.usefixtures("heard")
@pytest.mark.parametrize("number", NUMBERS)
def test_a_function_is_called_instead_and_then_all_is_as_before(number):
    before, got = signal.getsignal(number), []
    with on_signal(got.append):
        signal.raise_signal(number)
        signal.raise_signal(number)
    assert got == [number, number]
    assert signal.getsignal(number) is before


@pytest.mark.parametrize("number", NUMBERS)
def test_an_ignored_signal_stays_ignored(number):
    """As under nohup, or in the background of a shell."""
    before, got = signal.signal(number, signal.SIG_IGN), []
    try:
        with on_signal(got.append):
            signal.raise_signal(number)
        assert got == []
        assert signal.getsignal(number) is signal.SIG_IGN
    finally:
        signal.signal(number, before)


def test_in_another_thread_nothing_changes():
    seen = []

    def work():
        with on_signal(seen.append):
            seen.append(signal.getsignal(signal.SIGTERM))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [signal.getsignal(signal.SIGTERM)]


@pytest.mark.usefixtures("heard")
@pytest.mark.parametrize("number", NUMBERS)
def test_last_words_come_after_tidying_up(capsys, number):
    order = []

    def work():
        try:
            signal.raise_signal(number)
        except Exception:  # it must not be caught here
            order.append("caught")
        finally:
            order.append("tidied")

    with pytest.raises(SystemExit) as end, last_words(lambda: f"after {order}"):
        work()
    assert end.value.code == 128 + number
    assert capsys.readouterr().err == "after ['tidied']\n"


def test_without_a_signal_nothing_is_said(capsys):
    with last_words(lambda: "never"):
        pass
    with pytest.raises(ValueError, match="mine"), last_words(lambda: "never"):
        raise ValueError("mine")
    assert capsys.readouterr().err == ""
    assert not issubclass(Ended, Exception)
