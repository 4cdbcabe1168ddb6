"""Words, their ids, and the four special tokens."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

PAD, BOS, EOS, UNK = 0, 1, 2, 3
SPECIAL_TOKENS = ("<pad>", "<bos>", "<eos>", "<unk>")


class Vocabulary:
    """A word-level vocabulary: a list of words, each with its id.

    The ids 0 to 3 belong to the special tokens: ``PAD`` pads a batch, ``BOS`` begins
    and ``EOS`` ends a target sentence, ``UNK`` stands for an unknown word.

    Args:
        words: The words, without repetition; the first gets id 4.

    Raises:
        ValueError: If a word occurs twice or is a special token, or if there is one
            text instead of words.
    """

    def __init__(self, words: Iterable[str]):
        _check_words(words)
        self.words = (*SPECIAL_TOKENS, *words)
        self.ids = {word: i for i, word in enumerate(self.words)}
        if len(self.ids) < len(self.words):
            twice = next(w for w in self.words if self.words.count(w) > 1)
            raise ValueError(f"{twice!r} occurs twice; give each word once")

    def __len__(self) -> int:
        return len(self.words)

    def encode(self, words: Sequence[str]) -> list[int]:
        """Convert words to ids.

        Raises:
            ValueError: If there is no word, or one that is not in the vocabulary.
        """
        _check_words(words)
        if not words:
            raise ValueError("there is no word to encode; give at least one")
        for word in words:
            if word not in self.ids:
                raise ValueError(
                    f"{word!r} is not among the {len(self)} words of this vocabulary; "
                    "its attribute `words` lists them"
                )
        return [self.ids[word] for word in words]

    def decode(self, ids: Iterable[int]) -> list[str]:
        """Convert ids to words, up to the first ``EOS``, without ``BOS`` and ``PAD``.

        Raises:
            ValueError: If an id is out of range.
        """
        words = []
        for i in ids:
            if not 0 <= i < len(self):
                raise ValueError(f"id {i} is not in 0 … {len(self) - 1}")
            if i == EOS:
                break
            if i not in (PAD, BOS):
                words.append(self.words[i])
        return words


def _check_words(words: Iterable[str]) -> None:
    """Raise a ValueError if a single text stands where words are meant."""
    if isinstance(words, str):
        raise ValueError(
            f"words is the text {words[:40]!r}; give a list: text.split() of words, "
            "list(text) of characters"
        )
