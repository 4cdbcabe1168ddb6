"""Dictionaries of captions, and encoders that stay as they are."""

import torch

from attnbook.toy.data import SOURCE, TARGET, toy_batches
from attnbook.toy.training import fit
from experiments import ch03_caption_dictionaries as dictionaries
from experiments import ch03_frozen_encoders as frozen


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
    weights = torch.zeros(1, 2, 4, 3)  # one layer, a head and the mean; EOS in both
    predicts, reads = [0, 0, 1, 2], [2, 0, 0, 1]
    for head, places in enumerate((predicts, reads)):
        weights[0, head, range(4), places] = 1.0
    monkeypatch.setattr(dictionaries, "cross_maps", lambda *_: weights)
    rows = dictionaries.compare(Said, Both, "en", "de")
    assert [row["output"].tolist() for row in rows] == [[[True, True]], [[True, False]]]
    assert [row["input"].tolist() for row in rows] == [[[True, True]], [[False, True]]]
    assert [row["diagonal"] for row in rows] == [True, True]


def test_a_frozen_encoder_stays_as_it_is_and_the_rest_learns():
    torch.manual_seed(0)
    encoder = frozen.one_position(len(SOURCE), len(TARGET)).encoder
    model = frozen.with_frozen_encoder(encoder, 1)
    before = {name: w.clone() for name, w in model.state_dict().items()}
    fit(model, toy_batches(0), 1, 1e-2)
    for name, w in model.state_dict().items():
        if not name.startswith("score."):  # one position needs no score
            assert torch.equal(w, before[name]) == name.startswith("encoder."), name
    for own, given in zip(
        model.encoder.parameters(), encoder.parameters(), strict=True
    ):
        assert own is not given
        assert torch.equal(own, given)
