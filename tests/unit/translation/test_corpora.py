"""Texts of a run: from a folder, of the toy language; what cannot be used is named."""

import sys
from itertools import pairwise

import pytest
from small_runs import PAIRS, small_config, write_texts

from attnbook.data import multi30k
from attnbook.toy.language import translate_by_rule
from attnbook.translation.configs import config
from attnbook.translation.corpora import holds_out, load_texts
from attnbook.translation.moses import detokenised, tokenised
from attnbook.translation.report import test_splits as splits_of


@pytest.fixture
def data(tmp_path):
    return write_texts(tmp_path / "data")


@pytest.mark.parametrize("split", PAIRS)
def test_a_folder_is_read_line_by_line(data, split):
    source, target = load_texts(small_config(data), split)
    assert len(source) == len(target) == PAIRS[split]
    assert source == (data / f"{split}.en").read_text().splitlines()
    assert target == (data / f"{split}.de").read_text().splitlines()


def test_the_config_names_the_languages(data):
    there = load_texts(small_config(data), "val")
    back = load_texts(small_config(data, source="de", target="en"), "val")
    assert (back.source, back.target) == (there.target, there.source)


def test_lines_are_cleaned_and_only_newlines_end_them(data):
    (data / "val.en").write_bytes("a\u00a0b  c \r\nd\u2028e\x0bf\n".encode())
    (data / "val.de").write_bytes(b"x\ny")  # no newline at the end
    assert load_texts(small_config(data), "val") == (["a b c", "d e f"], ["x", "y"])


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("val.en", None, r"val\.en cannot be read as UTF-8 text: .*No such file"),
        ("val.de", None, r"val\.de cannot be read as UTF-8 text: .*No such file"),
        ("val.de", b"Stra\xdfe\n", r"val\.de cannot be read as UTF-8 text: .*0xdf"),
        ("val.de", b"eins\nzwei\n", "val.en has 12 lines and val.de 2; line i must"),
        ("val.en", b"", "val.en is empty; write one sentence"),
    ],
)
def test_a_file_that_cannot_be_used_is_named(data, name, content, message):
    (data / name).unlink()
    if content is not None:
        (data / name).write_bytes(content)
    with pytest.raises(ValueError, match=message):
        load_texts(small_config(data), "val")


@pytest.mark.parametrize(
    ("language", "line", "number"),
    [("en", "", 1), ("de", "  ", 5), ("de", "\u00a0", 12)],
)
def test_an_empty_line_is_named(data, language, line, number):
    path = data / f"val.{language}"
    lines = path.read_text().split("\n")
    lines[number - 1] = line
    path.write_text("\n".join(lines))
    message = (
        rf"line {number} of val\.{language} is empty; leave the pair out on both sides"
    )
    with pytest.raises(ValueError, match=message):
        load_texts(small_config(data), "val")


def test_text_is_lowercased_normalised_and_tokenised(data):
    """By Moses' rules for the language, in the order of the dataset's own scripts."""
    pytest.importorskip("sacremoses")
    (data / "val.en").write_text("Mr. Smith’s dog (brown) can't run, can it?\n")
    (data / "val.de").write_text("Der „Hund“ von z.B. Max’ Frau…\n")
    plain = small_config(data, moses=True)
    assert load_texts(plain, "val") == (
        ["Mr. Smith 's dog ( brown ) can 't run , can it ?"],
        ['Der " Hund " von z.B. Max \' Frau ...'],
    )
    lowered = load_texts(small_config(data, moses=True, lowercase=True), "val")
    assert lowered.target == ['der " hund " von z.b. max \' frau ...']


def test_spaces_between_words_and_marks_go_again():
    pytest.importorskip("sacremoses")
    plain = ["ein hund (braun) rennt, oder?", 'er ruft "hallo".', "mike's hund 1 & 2"]
    apart = tokenised(plain, "de")
    assert apart[0] == "ein hund ( braun ) rennt , oder ?"
    assert detokenised(apart, "de") == [*plain[:2], "mike 's hund 1 & 2"]


def test_without_sacremoses_the_remedy_is_named(data, monkeypatch):
    monkeypatch.setitem(sys.modules, "sacremoses", None)
    with pytest.raises(
        ValueError, match=r"moses=true needs .*`pip install sacremoses`"
    ):
        load_texts(small_config(data, moses=True), "val")


def test_multi30k_is_asked_for_split_and_language(monkeypatch):
    asked = []

    def sentences(split, language):
        asked.append((split, language))
        return [language]

    monkeypatch.setattr(multi30k, "sentences", sentences)
    assert load_texts(config("multi30k-tiny"), "val") == (["en"], ["de"])
    assert asked == [("val", "en"), ("val", "de")]


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


def test_a_language_that_is_not_there_is_answered_with_those_that_are(data):
    run = small_config(data, target="it")
    message = r"train\.it cannot be .* has train\.de and train\.en, and .* train\.it:"
    with pytest.raises(ValueError, match=message):
        load_texts(run, "train")
    with pytest.raises(ValueError, match="nowhere has no train file"):
        load_texts(small_config(data / "nowhere"), "train")


def test_a_folder_may_be_named_from_home(data, monkeypatch):
    monkeypatch.setenv("HOME", str(data.parent))
    run = small_config(f"~/{data.name}")
    assert load_texts(run, "val") == load_texts(small_config(data), "val")
