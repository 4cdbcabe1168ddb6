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
