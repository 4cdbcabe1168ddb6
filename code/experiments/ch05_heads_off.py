"""Chapter 5's explorer on the published page: each set of heads, switched off."""

from __future__ import annotations

from itertools import combinations

from attnbook.course.ch05.explorer_heads_off import (
    ALL,
    CAPTIONS,
    HEADS,
    LAYERS,
    cut,
    translated,
)
from attnbook.course.kit.explorers.token_maps import KINDS
from experiments.registry import experiment


@experiment
def heads_off() -> dict:
    """Translate the explorer's captions without each set of heads."""
    sets = [off for n in range(1, HEADS + 1) for off in combinations(range(HEADS), n)]
    layers = [*map(str, range(1, LAYERS + 1)), ALL]
    found = {}
    for caption in CAPTIONS:
        original = translated(caption)
        cuts = {
            kind: {
                layer: {
                    " ".join(map(str, off)): cut(original, kind, layer, off)
                    for off in sets
                }
                for layer in layers
            }
            for kind in KINDS
        }
        about = {"text": original.text, "tokens": original.tokens}
        found[caption] = about | {"cuts": cuts}
        print(f"  {caption}", flush=True)
    return {"captions": found}
