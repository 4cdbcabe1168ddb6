"""The hours that README.md and the front page promise are those of the pages' boxes."""

import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BOX = re.compile(r"\*\*Time\*\* (\d+) minutes, and (\d+) more for the exercises")


def minutes(*pages: str) -> tuple[int, int]:
    """Reading and exercises of some pages, by their boxes."""
    found = []
    for page in pages:
        (path,) = (ROOT / "book").glob(f"{page}_*.ipynb")
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        text = "".join("".join(cell["source"]) for cell in cells)
        found.append([int(number) for number in BOX.search(text).groups()])
    reading, exercises = zip(*found, strict=True)
    return sum(reading), sum(exercises)


CHAPTERS = [f"ch{number:02}" for number in range(1, 13)]
FRONT = (ROOT / "book" / "intro.ipynb").read_text(encoding="utf-8")
README = (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("text", "promise", "wanted"),
    [
        (FRONT, r"chapters 1 to 5, without the exercises \((\d+) h", CHAPTERS[:5]),
        (FRONT, r"all twelve chapters, without the exercises \((\d+) h", CHAPTERS),
        (FRONT, r"the appendix \((\d+) hours\)", ["a1", "a2", "a3"]),
        (README, r"About (\d+) hours of reading", CHAPTERS),
        (README, r"takes another (\d+) hours", ["a1", "a2", "a3"]),
    ],
)
def test_hours_of_reading(text, promise, wanted):
    (hours,) = re.findall(promise, text.replace("\n", " ").replace("  ", " "))
    assert int(hours) == round(minutes(*wanted)[0] / 60)


@pytest.mark.parametrize(
    ("text", "promise"),
    [
        (FRONT, r"the exercises, too \((\d+) hours\)"),
        (README, r"and (\d+) more for all"),
    ],
)
def test_hours_of_exercises(text, promise):
    (hours,) = re.findall(promise, text)
    assert int(hours) == round(minutes(*CHAPTERS)[1] / 60)


def test_the_cards_of_the_front_page_tell_the_minutes_of_the_boxes():
    told = dict(re.findall(r"<(ch\d\d|a\d)_\w+>` [^\n]*?, (\d+) minutes", FRONT))
    pages = [*CHAPTERS, "a1", "a2", "a3"]
    assert told == {page: f"{minutes(page)[0]}" for page in pages}


LIMITS = {"ch07": (3000, 35), "ch08": (3000, 35), "ch12": (3500, 40)}
"""Words and visible code cells where they are not 2,500 and 30 (CONTRIBUTING.md)."""
UNSEEN = {"remove-cell", "hide-input", "remove-input", "hide-cell"}


def main_path(page: str) -> tuple[int, int]:
    """Count words, captions among them, and visible code cells before the exercises."""
    (path,) = (ROOT / "book").glob(f"{page}_*.ipynb")
    texts, cells = [], 0
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        source, metadata = "".join(cell["source"]), cell["metadata"]
        if cell["cell_type"] == "code":
            cells += not UNSEEN & {*metadata.get("tags", [])}
            texts.append(
                metadata.get("mystnb", {}).get("figure", {}).get("caption", "")
            )
        elif re.search("^## Exercises", source, re.MULTILINE):
            break
        else:
            texts.append(source)
    words = re.sub(r"\$[^$]*\$|`[^`]*`", " x ", "\n".join(texts))  # each counts as one
    return len(words.split()), cells


@pytest.mark.parametrize("page", [*CHAPTERS, "a1", "a2", "a3"])
def test_a_main_path_has_its_length(page):
    most_words, most_cells = LIMITS.get(page, (2500, 30))
    words, cells = main_path(page)
    assert cells <= most_cells
    assert words <= most_words
