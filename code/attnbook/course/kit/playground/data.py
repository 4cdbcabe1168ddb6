"""The playground's data, ``presets.toml``: the page gets the same from here."""

import tomllib
from importlib.resources import files

DATA = tomllib.loads((files(__package__) / "presets.toml").read_text(encoding="utf-8"))
OPTIONS: dict[str, dict] = DATA["options"]
PRESETS: dict[str, dict] = DATA["presets"]
DARES: list[dict] = DATA["dares"]

WORDS: list[str] = [word for kind in DATA["kinds"].values() for word in kind]
KINDS: dict[str, list[int]] = {
    kind: [WORDS.index(word) for word in words] for kind, words in DATA["kinds"].items()
}
"""The ids of each kind of words."""
GRAMMAR: list[list[tuple[str, int]]] = [
    [(kind, after) for kind, after in options.items()] for options in DATA["grammar"]
]
"""For each state the kinds of words that may follow, equally often, and the states
that they lead to. A sentence begins in state 0 and ends there."""
