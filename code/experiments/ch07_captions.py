"""The shipped translator without positions: who bites whom?"""

from __future__ import annotations

from itertools import combinations

from torch import Tensor

from attnbook.nn.positions import SinusoidalPositions
from attnbook.translation.bleu_score import corpus_bleu
from attnbook.translation.corpora import load_texts
from attnbook.translation.translator import Translator
from experiments.registry import experiment

HUMANS = {"man": "Mann", "woman": "Frau", "boy": "Junge", "girl": "Mädchen"}
ANIMALS = {"dog": "Hund", "cat": "Katze", "horse": "Pferd", "bird": "Vogel"}
NOUNS = HUMANS | ANIMALS
VERBS = (
    *("bites", "carries", "chases", "follows", "holds"),
    *("hugs", "kisses", "licks", "pushes", "watches"),
)
N_CAPTIONS = 300
KEPT = {
    "encoder and decoder": ("encoder", "decoder"),
    "decoder": ("decoder",),
    "encoder": ("encoder",),
    "neither": (),
}
"""Where the translator keeps its positions."""


class PartlyPositions(SinusoidalPositions):
    """Sinusoids for the parts of a Transformer that are named in ``kept``."""

    def __init__(self, d_model: int, kept: tuple[str, ...]):
        super().__init__(d_model)
        self.kept = kept

    def forward(self, x: Tensor, offset: int | None = None) -> Tensor:
        """Add positions, or nothing. Only a decoder that writes passes an offset."""
        part = "encoder" if offset is None else "decoder"
        return super().forward(x, offset or 0) if part in self.kept else x


class OnePosition(SinusoidalPositions):
    """All words of the source are at the same position; those of the target aren't."""

    def forward(self, x: Tensor, offset: int | None = None) -> Tensor:
        """Add the encoding of position 5 to each word of the source."""
        if offset is not None:
            return super().forward(x, offset)
        return super().forward(x.flatten(0, 1)[:, None], offset=5).view_as(x)


@experiment
def captions_without_order() -> dict:
    """Translate sentences and their reversals, and captions, without positions.

    Returns:
        "sentences" and "captions": their numbers; "runs": for each choice of parts
        where positions are "kept" how many sentences are "right" (the German nouns
        stand in the order of the English ones), how many pairs are the "same" (a
        sentence and its reversal have one translation), how many of these are "mixed"
        (a human and an animal), in how many of the mixed ones the "human" comes
        first, and the "bleu" of the captions.
    """
    translator = Translator()
    val = load_texts(translator.config, "val")
    english, german = val.source[:N_CAPTIONS], val.target[:N_CAPTIONS]
    d = translator.config.d_model
    kinds = {name: PartlyPositions(d, kept) for name, kept in KEPT.items()}
    kinds["decoder; one position in the encoder"] = OnePosition(d)
    runs = []
    for name, positions in kinds.items():
        translator.model.positions = positions
        bleu = corpus_bleu(translator(english, width=1), german).bleu
        runs.append({"kept": name, **who_does_what(translator), "bleu": round(bleu, 2)})
        print(f"  {runs[-1]}", flush=True)
    numbers = {"sentences": 56 * len(VERBS), "captions": N_CAPTIONS}
    return {**numbers, "runs": runs}


def who_does_what(translator: Translator) -> dict:
    """Count what happens to who acts and who is acted on; see the experiment."""
    found = {"right": 0, "same": 0, "mixed": 0, "human": 0}
    for verb in VERBS:
        pairs = [*combinations(NOUNS, 2)]  # a human first, if there are both
        there = translator([f"A {a} {verb} a {b}." for a, b in pairs], width=1)
        back = translator([f"A {b} {verb} a {a}." for a, b in pairs], width=1)
        for (a, b), one, other in zip(pairs, there, back, strict=True):
            found["right"] += in_order(one, a, b) + in_order(other, b, a)
            found["same"] += one == other
            if one == other and a in HUMANS and b in ANIMALS:
                found["mixed"] += 1
                found["human"] += in_order(one, a, b)
    return found


def in_order(german: str, first: str, second: str) -> bool:
    """Whether the German for two English nouns stands in this order."""
    at = [german.find(NOUNS[noun]) for noun in (first, second)]
    return -1 < at[0] < at[1]
