"""Texts of a run: from a folder, of the toy language; what cannot be used is named."""

from itertools import pairwise

import pytest
from small_runs import PAIRS, small_config, write_texts

from attnbook.data.batching import IdPair
from attnbook.toy.language import translate_by_rule
from attnbook.translation.configs import config
from attnbook.translation.corpora import cut_updates, holds_out, load_texts
from attnbook.translation.report import test_splits as splits_of


@pytest.fixture
def data(tmp_path):
    return write_texts(tmp_path / "data")


def test_lines_are_cleaned_and_only_newlines_end_them(data):
    (data / "val.en").write_bytes("a\u00a0b  c \r\nd\u2028e\x0bf\n".encode())
    (data / "val.de").write_bytes(b"x\ny")  # no newline at the end
    assert load_texts(small_config(data), "val") == (["a b c", "d e f"], ["x", "y"])


def write_lines(folder, name, lines):
    """Write a file of some bytes, or take it away."""
    (folder / name).unlink(missing_ok=True)
    if lines is not None:
        (folder / name).write_bytes(b"".join(lines))


WORD = [b"word\n"]


@pytest.mark.parametrize(
    ("name", "lines", "message"),
    [
        ("val.de", None, "no .*val.de; .* has val.en: add val.de, or"),
        ("val.de", [b"a\n", b"Stra\xdfe\n"], "line 2 of .*val.de is not"),
        ("val.de", WORD, "val.en has 12 lines and val.de 1; line i mus"),
        ("val.en", [], "val.en is empty; write one sentence"),
        ("val.en", [b"\n", *WORD * 11], "line 1 of val.en is empty; le"),
        ("val.de", [*WORD * 11, "\u00a0".encode()], "line 12 of val.de"),
        ("val.de", [*WORD, "\u200b\n".encode()], "line 2 of val.de is e"),
    ],
)
def test_a_file_that_cannot_be_used_is_named(data, name, lines, message):
    write_lines(data, name, lines)
    with pytest.raises(ValueError, match=message):
        load_texts(small_config(data), "val")


def test_a_language_that_is_not_there_is_named(data):
    with pytest.raises(ValueError, match=r"train.de and .* wants train.it: n"):
        load_texts(small_config(data, target="it"), "train")


def test_a_folder_that_is_not_there_is_named(tmp_path):
    message = "no folder .*nowhere, either: data is multi30k, toy, or a folder with tra"
    with pytest.raises(ValueError, match=message):
        load_texts(small_config(tmp_path / "nowhere"), "train")
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match="empty has no train file, and the run wants"):
        load_texts(small_config(tmp_path / "empty"), "train")


# The updates of an epoch


def pairs_of(number):
    return [IdPair([i] * (1 + i % 7), [i] * (1 + i % 5)) for i in range(number)]


@pytest.mark.parametrize("processes", [1, 2, 3])
def test_an_epoch_has_all_pairs_in_another_order(processes):
    """But for the last batches that don't make an update of all processes."""
    pairs, config = pairs_of(100), small_config("mine", batch_tokens=40)
    one, again, other = (cut_updates(pairs, config, processes, e) for e in (0, 0, 1))
    assert one == again != other
    assert {len(update) for update in one} == {processes}
    flat = [batch for update in one for batch in update]
    every = [batch for (batch,) in cut_updates(pairs, config, 1, 0)]
    assert flat == every[: len(every) // processes * processes]
    assert sorted(pair for batch in every for pair in batch) == sorted(pairs)


def test_too_many_processes_are_refused():
    with pytest.raises(
        ValueError, match="1 batches, fewer than the 2 processes: lower"
    ):
        cut_updates(pairs_of(3), small_config("mine"), 2, 0)


def test_the_toy_language_is_translated_right_and_its_splits_differ():
    splits = {split: load_texts(config("toy"), split) for split in PAIRS}
    assert [len(s.source) for s in splits.values()] == [4000, 200, 200]
    for split, (source, target) in splits.items():
        assert load_texts(config("toy"), split) == (source, target)
        for s, t in zip(source[:50], target[:50], strict=True):
            assert [*translate_by_rule(s.split()).target] == t.split()
        assert {s.split().count("and") for s in source} == {0, 1}
    assert splits["val"].source[:20] != splits["test"].source[:20]
    assert splits["val"].source[:20] != splits["train"].source[:20]
    with pytest.raises(ValueError, match=r"no split 'dev'; .* train, val, test"):
        load_texts(config("toy"), "dev")


def test_the_toy_language_can_be_translated_back():
    source, target = load_texts(config("toy"), "val")
    back = config("toy", source="invented", target="toy")
    assert load_texts(back, "val") == (target, source)
    with pytest.raises(ValueError, match="source is 'en' and target 'de'; the lang"):
        load_texts(config("toy", source="en", target="de"), "val")


# Without files of val


def numbered(folder, lines):
    folder.mkdir(exist_ok=True)
    for language in ("en", "de"):
        text = "".join(f"{language} {i}\n" for i in range(lines))
        (folder / f"train.{language}").write_text(text)
    return small_config(folder)


@pytest.mark.parametrize(
    ("lines", "number"), [(10, 1), (19, 1), (20, 2), (300, 30), (10_999, 1000)]
)
def test_a_tenth_of_train_is_held_out(tmp_path, lines, number):
    run = numbered(tmp_path / "mine", lines)
    train, val = load_texts(run, "train"), load_texts(run, "val")
    assert len(val.source) == number
    assert load_texts(run, "val") == val  # the same ones each time
    both = [int(line.split()[1]) for line in (*train.source, *val.source)]
    assert sorted(both) == list(range(lines))
    for source, target in (train, val):
        assert [s.split()[1] for s in source] == [t.split()[1] for t in target]
    kept = [int(line.split()[1]) for line in val.source]
    steps = {b - a for a, b in pairwise(kept)}
    assert len(steps) <= 1  # from all over the text
    assert kept[-1] >= 0.9 * lines - 1


def test_too_few_lines_to_hold_any_out_are_refused(tmp_path):
    with pytest.raises(ValueError, match="train has 9 lines, and none can be held out"):
        load_texts(numbered(tmp_path / "mine", 9), "val")


def test_what_is_there_is_not_held_out(data):
    run = small_config(data)
    assert not holds_out(run)
    assert not holds_out(config("toy"))
    assert not holds_out(config("multi30k-tiny"))
    assert splits_of(run) == ("test",)
    (data / "test.de").unlink()
    assert splits_of(run) == ("test",)  # half a split is a mistake, to be told
    (data / "test.en").unlink()
    assert splits_of(run) == ()
    (data / "val.de").unlink()
    assert not holds_out(run)
    (data / "val.en").unlink()
    assert holds_out(run)


def test_a_folder_may_be_named_from_home(data, monkeypatch):
    monkeypatch.setenv("HOME", str(data.parent))
    run = small_config(f"~/{data.name}")
    assert load_texts(run, "val") == load_texts(small_config(data), "val")
