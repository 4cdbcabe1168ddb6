"""Chapter 12: how good the translations are: BLEU and chrF on the test sets."""

from __future__ import annotations

from attnbook.core import results
from attnbook.course.ch12.figures_comparisons import BEAM, part
from attnbook.course.kit.html_tables import Column, Table, spread, table
from attnbook.translation.report import TEST_SPLITS

PUBLISHED = {"test_2016_flickr": 41.02}
"""BLEU, English to German, text alone, trained on Multi30k alone, lowercased: Wu et al.
2021, from README-baseline.md of LividWo/Revisit-MMT. Its tokenisation and sacreBLEU's
13a agree in 991 of the 1,000 lowercased references."""

RULES = {
    "sacreBLEU's own, cased": "sacreBLEU's default: rule 13a, cased",
    "lowercased": "rule 13a, lowercased",
    "words between spaces": "split at spaces, cased",
    "words between spaces, lowercased": "split at spaces, lowercased",
    "letter by letter": "every character a token",
}
"""The stored rules, as a reader calls them."""


def scorings_table() -> Table:
    """Show one output's BLEU by several rules: ``multi30k_scores``."""
    rows = [
        (RULES[row["rule"]], row["bleu"])
        for row in results.load("multi30k_scores")["scorings"]
    ]
    return table(["tokenisation", Column("BLEU", digits=1)], rows)


def scores_table() -> Table:
    """Show the shipped model's scores, those of three seeds, and a published one.

    All with the beam; BLEU and chrF of the shipped model: ``multi30k_headline``.
    """
    shipped = results.load("multi30k_headline")["scores"]
    seeds = part("en_de")["runs"].values()
    rows = []
    for split in TEST_SPLITS["multi30k"]:
        cased = shipped[split]["beam, cased"]
        lowercased = shipped[split][BEAM]["bleu"]
        over_seeds = spread(run["scores"][split][BEAM]["bleu"] for run in seeds)
        row = (split[5:9], cased["bleu"], cased["chrf"], lowercased, over_seeds)
        rows.append((*row, PUBLISHED.get(split)))
    heads = [
        Column("BLEU", "", "shipped model, cased", 1),
        Column("chrF", "", "shipped model, cased", 1),
        Column("shipped model", "", "BLEU, lowercased", 1),
        Column("three seeds", "", "BLEU, lowercased", 1),
        Column("published", "", "BLEU, lowercased", 1),
    ]
    return table(["test set", *heads], rows)
