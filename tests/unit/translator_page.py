"""A page that has nothing but the translator's engine, and what PyTorch computes."""

import json
import random
import shutil
from collections.abc import Sequence
from pathlib import Path

import torch
from playwright.sync_api import Page

from attnbook.core.vocabulary import EOS, UNK
from attnbook.course.kit.page_translator import PARTS, bytes_to_load, write_scripts
from attnbook.decoding.beam import beam_search
from attnbook.decoding.greedy_search import greedy
from attnbook.translation.evaluation import max_output_len
from attnbook.translation.translator import Translator

LIVE = Path(__file__).resolve().parents[2] / "book" / "_static" / "live"
ENGINE = (
    *("numbers", "transformer"),
    *(f"translator/{name}" for name in ("subwords", "search", "engine")),
)

WHO = (
    "a man|a woman|two boys|three girls|an old farmer|a young lady|several people|"
    "a brown dog|two dogs|a small child|a group of men|a bride|a cyclist|a clown"
)
LOOK = "|in a red hat|wearing a blue shirt|with long hair|in green|with a beard"
DOES = (
    "is standing|are sitting|runs|is waiting|walks|is reading a book|plays the guitar|"
    "is eating a sandwich|jumps|is holding a camera|throws a ball|is singing"
)
WHERE = (
    "on a bench|in the park|at the station|near a river|in front of a large building|"
    "on the beach|under a tree|at a table in a restaurant|on a busy street|in the snow"
)
MORE = "|while others watch|and smiles|during a parade|at night|with a friend"


def captions(count: int, seed: int = 0) -> list[str]:
    """Sentences like captions, from templates."""
    draw = random.Random(seed)
    parts = [part.split("|") for part in (WHO, LOOK, DOES, WHERE, MORE)]
    made = []
    for _ in range(count):
        words = " ".join(filter(None, map(draw.choice, parts)))
        made.append(words.capitalize() + ".")
    return made


def random_sources(count: int, size: int, seed: int = 0) -> list[list[int]]:
    """Ids of subwords at random, three to twelve of them."""
    draw = random.Random(seed)
    return [
        [*draw.choices(range(UNK, size), k=draw.randint(3, 12)), EOS]
        for _ in range(count)
    ]


def by_pytorch(
    translator: Translator,
    sources: Sequence[list[int]],
    width: int = 1,
    alpha: float = 0.6,
) -> list[list[int]]:
    """What PyTorch outputs: ids, the end included."""
    found = []
    for source in sources:
        src, longest = torch.tensor([source]), max_output_len(len(source))
        if width == 1:
            row = greedy(translator.model, src, longest)[0]
        else:
            row = beam_search(translator.model, src, longest, width, alpha).ids[0, 0]
        ids = row.tolist()
        found.append(ids[: ids.index(EOS) + 1] if EOS in ids else ids)
    return found


def write_page(folder: Path) -> Path:
    """Write a page that has nothing but the engine, and the weights next to it."""
    shutil.copytree(LIVE, folder, dirs_exist_ok=True)
    shutil.copy(LIVE.parent / "book.js", folder)
    write_scripts(folder / "translator" / "data")
    given = f'data-parts="{PARTS}" data-bytes="{bytes_to_load()}" data-version="0"'
    tags = "".join(
        f'<script {given} src="{name}.js"></script>' for name in ("book", *ENGINE)
    )
    page = folder / "index.html"
    page.write_text(f'<!doctype html><meta charset="utf-8">{tags}', encoding="utf-8")
    return page


def load(page: Page, at: Path) -> None:
    """Open the page and let it load the weights."""
    page.goto(at.as_uri())
    page.evaluate("window.attnbook.translator.load()")


def by_page(
    page: Page, sources: Sequence[str | list[int]], **options: object
) -> list[list[int]]:
    """What the page outputs: ids, the end included."""
    text = page.evaluate(
        """([sources, options]) => JSON.stringify(sources.map((source) =>
            live.atOnce(window.attnbook.translator.work(source, options)).tokens))""",
        [list(sources), options],
    )
    return json.loads(text)
