"""Texts for distillation keep their order, and are not translated twice."""

import pytest

from attnbook.data import multi30k
from attnbook.translation import config
from attnbook.translation.corpora import load_texts
from distil import keep_teachers, main, translate_all

SOURCE = [f"caption {i}" for i in range(7)]


class Teacher:
    """Writes in capitals, and counts the chunks."""

    def __init__(self):
        self.chunks = []

    def __call__(self, chunks):
        for chunk in chunks:
            self.chunks.append(list(chunk))
            yield [line.upper() for line in chunk]


def test_what_a_file_has_already_is_not_translated_again(tmp_path):
    path, teacher = tmp_path / "train.de", Teacher()
    path.write_text("as it\nwas\n")
    lines = translate_all(SOURCE, path, teacher, chunk=3)
    assert lines == ["as it", "was", *(line.upper() for line in SOURCE[2:])]
    assert path.read_text() == "\n".join(lines) + "\n"
    assert teacher.chunks == [SOURCE[2:5], SOURCE[5:]]
    assert translate_all(SOURCE, path, teacher, chunk=3) == lines
    assert len(teacher.chunks) == 2


def test_every_chunk_is_kept(tmp_path):
    path = tmp_path / "train.de"

    def stops(chunks):
        yield [line.upper() for line in chunks[0]]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        translate_all(SOURCE, path, stops, chunk=3)
    assert path.read_text().split("\n")[:-1] == ["CAPTION 0", "CAPTION 1", "CAPTION 2"]


def test_a_file_of_another_text_is_refused(tmp_path):
    path = tmp_path / "train.de"
    path.write_text("line\n" * 8)
    with pytest.raises(ValueError, match="8 lines for 7 sentences; name another"):
        translate_all(SOURCE, path, Teacher())


@pytest.mark.parametrize(("source", "target"), [("en", "de"), ("de", "en")])
def test_the_folders_are_data_for_training(tmp_path, monkeypatch, source, target):
    """All is translated already, so that no model is needed."""
    texts = {"en": ["a dog", "a cat"], "de": ["ein Hund", "eine Katze"]}
    monkeypatch.setattr(multi30k, "sentences", lambda _, language: texts[language])
    (tmp_path / f"train.{target}").write_text("THE DOG\nTHE CAT\n")
    pair = {"source": source, "target": target}
    options = [f"--{name}={language}" for name, language in pair.items()]
    command = ["distil.py", str(tmp_path), "1.4", "no/model", *options]
    monkeypatch.setattr("sys.argv", command)
    main()
    inputs, theirs = texts[source], ["THE DOG", "THE CAT"]
    expected = {"only": theirs, "both": texts[target] + theirs}
    for name, outputs in expected.items():
        run = config("multi30k-distilled", data=str(tmp_path / name), **pair)
        repeated = inputs * (len(outputs) // len(inputs))
        assert load_texts(run, "train") == (repeated, outputs)
        assert load_texts(run, "val") == (inputs, texts[target])


def test_two_sets_of_teachers_are_not_mixed(tmp_path):
    keep_teachers(tmp_path, {"models": ["a"], "alpha": 1.4})
    keep_teachers(tmp_path, {"models": ["a"], "alpha": 1.4})
    with pytest.raises(ValueError, match="name another folder, or the same models"):
        keep_teachers(tmp_path, {"models": ["b"], "alpha": 1.4})
