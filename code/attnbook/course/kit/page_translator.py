"""Translators as scripts, so that a published page can run them.

They are the shipped one and one back into English.

A page that is opened from a file may load nothing but scripts. So the weights stand in
several of them, each a call with a text. They are in 8 bits, with a scale for each row
of a matrix; :func:`rounded_translator` has the same weights in PyTorch.
"""

import base64
import gzip
import json
from functools import cache
from pathlib import Path
from typing import Any

from torch import Tensor, nn

from attnbook.core import results
from attnbook.core.vocabulary import SPECIAL_TOKENS
from attnbook.data.subwords import Subwords
from attnbook.models.checkpoints import SCALE, dequantize, quantize
from attnbook.translation.plain_text import AND, INVISIBLE, PLAIN
from attnbook.translation.translator import OTHERS, SHIPPED, Translator

PARTS = 8
"""The matrices come in so many files: as each arrives, the reader sees progress."""
FOLDERS = {"translator": SHIPPED, "back": OTHERS["german-english"]}
"""The models, by their names in a page: ``attnbook.translator``, ``attnbook.back``."""


def rounded_translator(name: str = "translator") -> Translator:
    """A translator with the weights that a page has, by its name there."""
    translator = Translator(FOLDERS[name])
    weights, _ = split_ties(translator.model)
    rounded = dequantize(quantize(weights))
    translator.model.load_state_dict(rounded, strict=False)
    return translator


def split_ties(model: nn.Module) -> tuple[dict[str, Tensor], list[tuple[str, str]]]:
    """Return each weight once, by name, and pairs (other name, name) of the tied."""
    weights = {name: w.detach() for name, w in sorted(model.named_parameters())}
    first = {w.data_ptr(): name for name, w in weights.items()}
    every = model.named_parameters(remove_duplicate=False)
    return weights, [(n, first[w.data_ptr()]) for n, w in every if n not in weights]


def as_call(function: str, *values: Any) -> str:
    """Write a script that hands values to a function."""
    texts = (json.dumps(v, ensure_ascii=False, separators=(",", ":")) for v in values)
    return f"{function}({','.join(texts)});\n"


@cache
def translator_scripts(name: str = "translator") -> dict[str, str]:
    """Make all files of a model: path → text. The same checkpoint gives the same bytes.

    Args:
        name: One of :data:`FOLDERS`.
    """
    translator = Translator(FOLDERS[name])
    weights, tied = split_ties(translator.model)
    small = quantize(weights)
    matrices = [key for key, w in weights.items() if w.dim() == 2]
    raw = b"".join(small[key].numpy().tobytes() for key in matrices)
    scales = b"".join(small[key + SCALE].numpy().tobytes() for key in matrices)
    vectors = [key for key in weights if key not in matrices]
    head = {
        "n_heads": translator.config.n_heads,
        "matrices": [(key, [*weights[key].shape]) for key in matrices],
        "scales": base64.b64encode(scales).decode(),
        "vectors": [(key, [*weights[key].shape]) for key in vectors],
        "halves": base64.b64encode(
            b"".join(small[key].numpy().tobytes() for key in vectors)
        ).decode(),
        "tied": tied,
        "usual": translator.usual,
        "plain": {"signs": PLAIN, "and": AND, "invisible": INVISIBLE},
        **({"glosses": glosses()} if name == "translator" else {}),
        **subword_table(translator.subwords),
    }
    size = -(-len(raw) // (3 * PARTS)) * 3  # whole groups of base64
    receive = f"attnbook.{name}.receive"
    files = {f"{name}/head.js": as_call(receive, "head", head)}
    for part in range(PARTS):
        text = base64.b64encode(raw[part * size : (part + 1) * size]).decode()
        files[f"{name}/part-{part}.js"] = as_call(receive, part, text)
    return files


def write_scripts(folder: Path) -> None:
    """Write the files of all models, each model's in a folder of its own."""
    for name in FOLDERS:
        (folder / name).mkdir(parents=True, exist_ok=True)
        for path, text in translator_scripts(name).items():
            (folder / path).write_text(text, encoding="utf-8", newline="\n")


CONTRACTIONS = {
    **{"am": "at the", "beim": "at the", "im": "in the", "ins": "into the"},
    **{"vom": "from the", "zum": "to the", "zur": "to the"},
}
"""A preposition with its article: no single English word is aligned with it."""


def glosses() -> dict[str, str]:
    """German words, in lower case, with an English one: what figures say below them."""
    return results.load("german_glosses")["glosses"] | CONTRACTIONS


def subword_table(subwords: Subwords) -> dict[str, Any]:
    """The characters and the merges; the subwords are these, in this order."""
    model = json.loads(subwords.tokenizer.to_str())["model"]
    pieces = sorted(model["vocab"], key=model["vocab"].get)
    characters = pieces[len(SPECIAL_TOKENS) : len(pieces) - len(model["merges"])]
    return {
        "special": SPECIAL_TOKENS,
        "characters": "".join(characters),
        "merges": "\n".join(f"{a} {b}" for a, b in model["merges"]),
    }


@cache
def bytes_to_load(name: str = "translator") -> int:
    """What a reader's browser loads for a model from a server that compresses."""
    texts = translator_scripts(name).values()
    return sum(len(gzip.compress(text.encode(), 6)) for text in texts)
