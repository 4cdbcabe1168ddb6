"""Write what the live models of the published pages need, from the shipped checkpoints.

    python scripts/export_live.py

The files lie in ``book/_static/live/data`` and are tracked: one a model, its weights as
float16, and the toy language as a table. They are scripts, since a page that is opened
from a file may load nothing else. The same checkpoints give the same bytes. The reader
of appendix A1 has no checkpoint: it is trained here, as on its page, in some seconds.
"""

from __future__ import annotations

import base64
import sys
from pathlib import Path
from typing import Any

import torch
from torch import nn

from attnbook.course.a1.writing import gap_filler
from attnbook.course.kit.page_translator import as_call, split_ties
from attnbook.models.transformer import Transformer
from attnbook.nn.multi_head import MultiHeadAttention
from attnbook.toy import language, models
from attnbook.toy.data import SOURCE, TARGET

FOLDER = Path(__file__).resolve().parents[1] / "book" / "_static" / "live" / "data"
TRAINED_CLAUSES = 4  # the most that a sentence of the training has


def model_spec(name: str, model: nn.Module) -> dict[str, Any]:
    """Describe a model for ``live.receive``.

    Raises:
        ValueError: If the page's engine does not know such a model, or float16 cannot
            hold a weight.
    """
    if isinstance(model, Transformer) and isinstance(model.encoder_norm, nn.Identity):
        raise ValueError(
            f"{name} is post-norm; book/_static/live/transformer.js is pre-norm: "
            "export a model made with norm_first=True"
        )
    weights, tied = split_ties(model)
    for path, tensor in weights.items():
        if not tensor.half().isfinite().all():
            raise ValueError(f"{path} of {name} holds numbers too large for float16")
    raw = b"".join(w.half().numpy().astype("<f2").tobytes() for w in weights.values())
    heads = [m.n_heads for m in model.modules() if isinstance(m, MultiHeadAttention)]
    return {
        "name": name,
        "n_heads": max(heads, default=1),
        "source": SOURCE.words,
        "target": TARGET.words,
        "tensors": [(path, [*tensor.shape]) for path, tensor in weights.items()],
        "tied": tied,
        "data": base64.b64encode(raw).decode(),
    }


def language_table() -> dict[str, Any]:
    """List the words of the toy language, and all its phrases with their translation.

    The page so needs to know no rule but that of the clause.
    """
    determiners, adjectives, nouns = language.PHRASE
    phrases = {}
    for determiner in (*determiners, "an"):
        for adjective in adjectives:
            for noun in nouns:
                phrase = " ".join(filter(None, (determiner, adjective, noun)))
                clause = f"{phrase} sees a dog"
                if language.is_sentence(clause):
                    length = len(phrase.split())
                    target = language.translate_by_rule(clause).target[:length]
                    phrases[phrase] = " ".join(target)
    return {
        "words": [
            (*language.DETERMINERS, "an"),
            [*language.ADJECTIVES],
            [*language.NOUNS],
            [*language.VERBS],
            [language.AND],
        ],
        "phrases": phrases,
        "verbs": language.VERBS,
        "and": (language.AND, language.AND_TARGET),
        "max_clauses": language.MAX_CLAUSES,
        "trained_clauses": TRAINED_CLAUSES,
    }


def scripts() -> dict[str, str]:
    """Make the files of the checkpoints and of the language: name → text."""
    made = {"toy_language.js": as_call("live.learn", language_table())}
    for name in models.TOY_MODELS:
        spec = model_spec(name, models.load_toy_model(name))
        made[f"{name}.js"] = as_call("live.receive", spec)
    return made


def main(folder: Path = FOLDER) -> None:
    """Write them."""
    torch.set_num_threads(1)
    folder.mkdir(parents=True, exist_ok=True)
    reader = model_spec("reader", gap_filler(seed=4))
    made = scripts() | {"reader.js": as_call("live.receive", reader)}
    for name, text in made.items():
        (folder / name).write_text(text, encoding="utf-8", newline="\n")
        print(f"{folder / name}: {len(text) / 1000:.0f} kB")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:2]))
