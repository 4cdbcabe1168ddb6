"""Texts of a run: from a folder, of the toy language; what cannot be used is named."""

import sys

import pytest
from small_runs import PAIRS, small_config, write_texts

from attnbook.data import multi30k
from attnbook.toy.language import translate_by_rule
from attnbook.translation.configs import config
from attnbook.translation.corpora import load_texts
from attnbook.translation.moses import detokenised, tokenised


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
