"""Each claim of the book is in the ledger, with its evidence; what is stored holds."""

import tomllib
from pathlib import Path

import nbformat
import pytest
from claims import KINDS, claims, holds

ROOT = Path(__file__).resolve().parents[2]
LEDGER = ROOT / "tests" / "ledger"
NOTEBOOKS = {path.stem: path for path in sorted((ROOT / "book").glob("*.ipynb"))}


def rows(name: str) -> list[dict]:
    """The ledger of a page."""
    return tomllib.loads((LEDGER / f"{name}.toml").read_text(encoding="utf-8"))["claim"]


STORED = [
    pytest.param(row["holds"], id=f"{name}: {row['says'][:60]}")
    for name in NOTEBOOKS
    for row in rows(name)
    if "holds" in row
]


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_the_ledger_has_the_claims_of_the_page_word_for_word(name):
    found = [*claims(nbformat.read(NOTEBOOKS[name], as_version=4))]
    told = [row["says"] for row in rows(name)]
    new, gone = (
        [x for x in a if x not in b] for a, b in [(found, told), (told, found)]
    )
    assert told == found, f"tests/ledger/{name}.toml: add {new}, mend or drop {gone}"


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_each_claim_has_evidence(name):
    for row in rows(name):
        assert row["kind"] in KINDS, row
        assert ("holds" in row) == (row["kind"] == "stored"), row
        assert ("over" in row) == (row["kind"] in ("stored", "cell")), row


@pytest.mark.parametrize("expression", STORED)
def test_a_claim_is_true_of_what_is_stored(expression):
    assert holds(expression)


def test_no_ledger_is_left_of_a_page_that_is_gone():
    assert {path.stem for path in LEDGER.iterdir()} == {*NOTEBOOKS}
