"""Beams without a length penalty: what the page tells of them, and short outputs."""

import math
from itertools import pairwise

import pytest

from attnbook.core import results
from attnbook.core.vocabulary import EOS
from attnbook.course.ch10 import figures, lab
from attnbook.course.kit.explorers.shipped import shipped_translator
from experiments import ch10_exact_search as exact
from experiments import ch10_waiting_for as waiting
from experiments import ch10_without_penalty as without

STORED = results.load("without_penalty")


def test_half_as_long_costs_a_factor_of_e():
    translator = shipped_translator()
    ids = [*translator.subwords.encode("Leute warten"), EOS]
    found = without.scores(translator, [(-1.0, ids)], ["Leute warten am Bahnhof"])
    assert found["brevity"] == pytest.approx(math.exp(1 - 2), abs=1e-4)
    assert found["empty"] == 0


def test_wider_beams_find_more_probable_and_shorter_translations():
    runs = STORED["runs"]
    for narrow, wide in pairwise(runs):
        assert wide["log_p"] > narrow["log_p"]
        assert wide["length"] < narrow["length"]
    assert max(runs, key=lambda run: run["bleu"])["width"] == 2
    assert runs[-1]["bleu"] < runs[0]["bleu"]


def test_the_exact_search_loses_by_its_brevity_alone():
    greedy, best = (STORED["ways"][name] for name in ("greedy", exact.EXACT))
    assert best["bleu"] < greedy["bleu"]
    assert best["bleu"] / best["brevity"] > greedy["bleu"] / greedy["brevity"]
    bleu = [row[2] for row in lab.brevity_table().rows()]
    assert bleu == sorted(bleu)


def test_greedy_decoding_is_the_same_with_and_without_a_penalty():
    _, without_it, with_it = figures.penalty_table().rows()[0]
    assert without_it == with_it


def test_no_caption_has_a_beekeeper():
    stored = results.load("waiting_for")
    assert stored["english"]["beekeeper"] == stored["german"]["Imker"] == 0
    assert stored["empty"] == 0


def test_rooms_and_areas_do_not_wait():
    texts = ["Wartezimmer auf dem Land", "Der Wartende wartet auf Kunden"]
    assert waiting.count(texts, {"auf": waiting.GERMAN["warten auf"]}) == {"auf": 1}
