import pytest
import torch

from attnbook.core.threads import set_threads


@pytest.fixture(autouse=True)
def _same_threads_afterwards():
    threads = torch.get_num_threads()
    yield
    torch.set_num_threads(threads)


def test_the_environment_decides(monkeypatch):
    monkeypatch.setenv("ATTNBOOK_THREADS", "2")
    set_threads()
    assert torch.get_num_threads() == 2


@pytest.mark.parametrize("text", ["0", "-1", "two", "1.5", "", "²"])
def test_a_bad_number_is_named(monkeypatch, text):
    monkeypatch.setenv("ATTNBOOK_THREADS", text)
    with pytest.raises(ValueError, match="whole number from 1 upwards: set") as error:
        set_threads()
    assert repr(text) in str(error.value)


def test_one_thread_unless_told_otherwise(monkeypatch):
    monkeypatch.delenv("ATTNBOOK_THREADS", raising=False)
    torch.set_num_threads(2)
    set_threads()
    assert torch.get_num_threads() == 1
