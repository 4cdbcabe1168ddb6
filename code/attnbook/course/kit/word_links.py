"""Words that are each other's translation, linked by IBM Model 1 in both directions.

Brown et al. 1993. What experiments measure alignments of captions by.
"""

from collections import defaultdict
from collections.abc import Sequence

from attnbook.core.checks import check_sizes, check_texts
from attnbook.data.batching import IdPair

NULL_WORD = -1
"""Added to every source sentence, for target words that render none of its words."""

SURE = 0.3
"""The least probability of a link, in both directions."""

TranslationTable = dict[tuple[int, int], float]


def train_ibm_model1(pairs: Sequence[IdPair], iterations: int = 5) -> TranslationTable:
    """Estimate t(target word | source word) by expectation maximisation.

    Every target word is rendered by one word of its source sentence; initially all are
    equally likely. Each iteration distributes every target word over the source words
    in proportion to the table, and re-estimates the table from these expected counts.

    Args:
        pairs: Sentences and translations.
        iterations: Number of iterations.

    Returns:
        The probabilities, by (source word, target word).

    Raises:
        ValueError: If ``iterations`` is less than 1.
    """
    check_sizes(iterations=iterations)
    table: TranslationTable = defaultdict(lambda: 1.0)
    for _ in range(iterations):
        pair_counts: TranslationTable = defaultdict(float)
        source_counts: dict[int, float] = defaultdict(float)
        for pair in pairs:
            source = [NULL_WORD, *pair.source]
            for target in pair.target:
                shares = [table[s, target] for s in source]
                total = sum(shares)
                for s, share in zip(source, shares, strict=True):
                    pair_counts[s, target] += share / total
                    source_counts[s] += share / total
        table = {(s, t): x / source_counts[s] for (s, t), x in pair_counts.items()}
    return table


class WordLinks:
    """Links the words of a sentence to those of its translation.

    Two words are linked if each is the most probable origin of the other, with a
    probability of at least ``sure``, and both consist of letters. So there are few
    links, but most of them are right.

    Args:
        pairs: Words of sentences and of their translations, to learn from.
        sure: The least probability.
    """

    def __init__(self, pairs: Sequence[Sequence[Sequence[str]]], sure: float = SURE):
        self.sure = sure
        self.ids: dict[str, int] = {}
        known = [IdPair(*map(self._encode, pair)) for pair in pairs]
        self.there = train_ibm_model1(known)
        self.back = train_ibm_model1([IdPair(*pair[::-1]) for pair in known])

    def between(self, source: Sequence[str], target: Sequence[str]) -> dict[int, int]:
        """The linked positions of the target, each with its position in the source."""
        s, t = self._encode(source), self._encode(target)
        origins = [self._origin(self.there, s, word) for word in t]
        renderings = [self._origin(self.back, t, word) for word in s]
        return {
            i: j
            for i, j in enumerate(origins)
            if j is not None
            and renderings[j] == i
            and target[i].isalpha()
            and source[j].isalpha()
        }

    def _encode(self, words: Sequence[str]) -> list[int]:
        check_texts(words=words)
        return [self.ids.setdefault(word.lower(), len(self.ids)) for word in words]

    def _origin(
        self, table: TranslationTable, candidates: Sequence[int], word: int
    ) -> int | None:
        """The position of a word's most probable origin, if it is sure enough."""
        scores = [table.get((candidate, word), 0.0) for candidate in candidates]
        best = max(range(len(scores)), key=scores.__getitem__, default=None)
        return best if best is not None and scores[best] >= self.sure else None


def diagonal(pair: IdPair) -> list[int]:
    """For each target position, the source position at the same relative position."""
    last, end = len(pair.source) - 1, max(len(pair.target) - 1, 1)
    return [round(i * last / end) for i in range(len(pair.target))]
