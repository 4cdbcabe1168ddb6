"""Subwords: text, ids, the same text again; learned from the training split alone."""

import os
import re
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_runs import small_config, write_texts

from attnbook.core.vocabulary import BOS, EOS, PAD, SPECIAL_TOKENS, UNK
from attnbook.data.subwords import Subwords
from attnbook.translation import trainer
from attnbook.translation.corpora import load_texts
from attnbook.translation.trainer import Trainer

SIGNS = (
    "abcdefghijklmnopqrstuvwxyzäöüßABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÜ0123456789.,;:!?'\"()-"
)
SENTENCES = [
    "Ein Mann mit einem orangefarbenen Hut starrt etwas an.",
    "Zwei Männer stehen am Herd und bereiten Essen zu.",
    "A man in an orange hat is staring at something, again.",
    "Two men are at the stove; they prepare food (again).",
] * 3
TRAINED = Subwords.train([*SENTENCES, " ".join(SIGNS)], 300)

words = st.text(st.sampled_from(SIGNS), min_size=1, max_size=8)
clean = st.lists(words, min_size=1, max_size=6).map(" ".join)


@given(clean)
@settings(max_examples=150)
def test_text_comes_back(text):
    """With punctuation within words, after spaces, at either end."""
    ids = TRAINED.encode(text)
    assert TRAINED.decode(ids) == text
    assert not {PAD, BOS, EOS, UNK} & set(ids)
    assert max(ids) < len(TRAINED)
    assert "".join(TRAINED.pieces(text)).replace("▁", " ") == " " + text


def test_punctuation_is_apart():
    assert TRAINED.pieces("food.") == [*TRAINED.pieces("food"), "."]
    assert TRAINED.pieces("(again)") == ["▁", "(", "again", ")"]


@pytest.mark.parametrize("sign", ["漢", "é", "€", "\u200b"])
def test_a_sign_never_seen_is_unknown(sign):
    ids = TRAINED.encode(f"Mann {sign} Hut")
    assert ids.count(UNK) == 1
    assert TRAINED.decode(ids).split() == ["Mann", "Hut"]


@pytest.mark.parametrize("word", SPECIAL_TOKENS)
def test_a_special_word_in_a_text_is_text(word):
    """Else a sentence could end, or vanish, in its middle."""
    assert not {PAD, BOS, EOS} & set(TRAINED.encode(f"Ein {word} Mann"))


def test_decoding_ends_at_eos_and_leaves_specials_out():
    ids = TRAINED.encode("Ein Mann")
    assert TRAINED.decode([BOS, *ids, EOS, *TRAINED.encode("Hut")]) == "Ein Mann"
    assert TRAINED.decode([*ids, PAD, PAD]) == "Ein Mann"
    assert TRAINED.decode([EOS]) == TRAINED.decode([]) == ""


def test_one_letter_in_two_ways_of_writing_is_one():
    """ä as one sign, and as a with two dots of its own: NFC."""
    assert TRAINED.encode("Ma\u0308nner") == TRAINED.encode("Männer")


def test_the_same_text_gives_the_same_subwords():
    again = Subwords.train([*SENTENCES, " ".join(SIGNS)], 300)
    assert again.fingerprint() == TRAINED.fingerprint()
    other = Subwords.train([*SENTENCES, " ".join(SIGNS)], 150)
    assert other.fingerprint() != TRAINED.fingerprint()
    assert re.fullmatch("[0-9a-f]{16}", TRAINED.fingerprint())
    assert len(Subwords.train(SENTENCES, 60)) == 60
    assert len(TRAINED) < 300  # an upper bound


def test_a_pair_that_occurs_once_is_not_merged():
    once = Subwords.train(["xyxy ab ab"], 50)
    assert "xy" in "".join(once.pieces("xy"))
    assert len(Subwords.train(["qr st uv"], 50)) == len(SPECIAL_TOKENS) + 7
    assert Subwords.train(["ab ab"], 50).pieces("ab") == ["▁ab"]


def test_saved_and_read_they_are_the_same(tmp_path):
    TRAINED.save(tmp_path / "subwords.json")
    assert [p.name for p in tmp_path.iterdir()] == ["subwords.json"]
    again = Subwords.load(tmp_path / "subwords.json")
    assert again.fingerprint() == TRAINED.fingerprint()
    text = "Ein <eos> Männerhut, wahrlich."
    assert again.encode(text) == TRAINED.encode(text)
    assert len(again) == len(TRAINED)


@pytest.mark.parametrize("content", [None, b"hello", b'{"a": 1}', b"\xff\xfe\x00"])
def test_a_file_without_subwords_is_named(tmp_path, content):
    path = tmp_path / "subwords.json"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ValueError, match=r"subwords.json holds no subwords:"):
        Subwords.load(path)


def test_they_are_learned_from_the_training_split_alone(tmp_path, monkeypatch):
    """No other split is so much as read before the file is there."""
    data = write_texts(tmp_path / "data", {"train": 60, "val": 5})
    asked, out = [], tmp_path / "run"

    def spy(config, split):
        if not (out / "subwords.json").exists():
            asked.append(split)
        return load_texts(config, split)

    monkeypatch.setattr(trainer, "load_texts", spy)
    Trainer(small_config(data), out)
    assert set(asked) == {"train"}


EVERYWHERE = """
from collections import Counter
from attnbook.data import Subwords, learn_merges
ties = ["no on to ot so os", "ab ba, xab xba. (ab) ba? Éa aé"]
learned = Subwords.train(ties * 2, 60).fingerprint(), learn_merges(
    Counter(" ".join(ties).split()), 20
)
print(learned)
"""


def test_what_is_learned_is_the_same_in_every_process():
    """Of many equally frequent pairs, too, however the process orders its tables."""
    names = {}
    exec(EVERYWHERE, names)
    seed = {"PYTHONHASHSEED": "1"}
    told = subprocess.check_output(
        [sys.executable, "-c", EVERYWHERE], env=os.environ | seed, encoding="utf-8"
    )
    assert told == f"{names['learned']}\n"
