"""The explorer of the German dictionary shows what the chapter's cells compute."""

import pytest
import torch

from attnbook.analysis.maps import attention_maps
from attnbook.course.ch03 import explorer_german_dictionary as german
from attnbook.course.kit.explorers.packed import settings_of
from attnbook.data.batching import IdPair, id_batch
from attnbook.translation.translator import Translator

pytestmark = pytest.mark.usefixtures("as_in_the_pages")


def test_the_sentence_is_translated_as_the_explorer_says():
    assert Translator()([german.ENGLISH], width=1) == [german.GERMAN]
    source, target = german.tokens()
    assert source == (*german.ENGLISH.replace(".", " . <eos>").split(),)
    assert target == (*german.MEANINGS, ".")
    assert {*german.MEANINGS.values()} == {*source} - {"is", ".", "<eos>"}


@torch.no_grad()
def test_all_settings_show_the_weights_and_the_dictionaries_that_they_make():
    translator = Translator()
    ids = [translator.subwords.encode(t) for t in (german.ENGLISH, german.GERMAN)]
    batch = id_batch([IdPair(*ids)])
    maps = attention_maps(translator.model, batch.src, batch.tgt_in)
    assert len([*settings_of(german.CONTROLS)]) == 32
    for setting in settings_of(german.CONTROLS):
        view = german.dictionary_view(**setting)
        name = f"decoder.{int(setting['layer']) - 1}.cross_attention"
        weights = maps[name][0, int(setting["head"]) - 1]  # (T, S)
        [chart] = view.drawn
        torch.testing.assert_close(
            torch.tensor(chart.cells), weights, atol=0.00501, rtol=0
        )
        right = 0
        entries = zip(view.table.rows(), german.MEANINGS.items(), strict=True)
        for t, (row, (word, meaning)) in enumerate(entries):
            best = weights[t + setting["by_read"], :-1].argmax()
            english = chart.columns[best]
            verdict = "right" if english == meaning else "wrong"
            assert row == (word, english, verdict)
            right += english == meaning
            i, j = chart.frames[t]
            read, written = chart.rows[i].split(" → ")
            assert (read if setting["by_read"] else written) == word
            assert chart.columns[j] == meaning
        assert f" {right} of 8 entries" in view.said
