"""What chapter 3's experiments measure, at small size."""

import torch

from experiments import ch03

# Dictionaries of captions


class Said:
    """A translator of two words, the first of which has two subwords."""

    class subwords:  # noqa: N801
        @staticmethod
        def pieces(text):
            return {"en": ["▁big", "▁dog"], "de": ["▁gro", "ß", "▁Hund"]}[text]


class Both:
    """Links big with groß and dog with Hund."""

    @staticmethod
    def between(source, target):
        assert (source, target) == (["big", "dog"], ["groß", "Hund"])
        return {0: 0, 1: 1}


def test_the_step_that_reads_a_word_comes_after_the_one_that_predicts_it(monkeypatch):
    """Step i predicts subword i and has read subword i - 1."""
    weights = torch.zeros(1, 2, 4, 3)  # one layer of two heads; EOS in both
    predicts, reads = [0, 0, 1, 2], [2, 0, 0, 1]
    for head, places in enumerate((predicts, reads)):
        weights[0, head, range(4), places] = 1.0
    monkeypatch.setattr(ch03, "cross_maps", lambda *_: weights)
    rows = ch03.compare(Said, Both, "en", "de")
    assert [row["output"].tolist() for row in rows] == [[[True, True]], [[True, False]]]
    assert [row["input"].tolist() for row in rows] == [[[True, True]], [[False, True]]]
    assert [row["diagonal"] for row in rows] == [True, True]
