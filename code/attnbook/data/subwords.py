"""Subword tokenisation by byte-pair encoding: Sennrich et al. 2016."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from importlib.resources.abc import Traversable
from pathlib import Path

from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers
from tokenizers.trainers import BpeTrainer

from attnbook.core.checks import check_text, check_texts
from attnbook.core.files import write_whole
from attnbook.core.vocabulary import EOS, SPECIAL_TOKENS


class Subwords:
    """Converts text to subword ids and back.

    As in SentencePiece, ``▁`` stands for the space before a word.

    Args:
        tokenizer: Made by :meth:`train` or :meth:`load`.

    Examples:
        >>> subwords = Subwords.train(["low lower lowest", "new newer newest"] * 9, 30)
        >>> subwords.pieces("newer lows")
        ['▁newer', '▁low', 's']
        >>> subwords.decode(subwords.encode("newest low"))
        'newest low'
    """

    def __init__(self, tokenizer: Tokenizer):
        self.tokenizer = tokenizer
        # "<eos>" typed in a text is text, not the special token.
        tokenizer.encode_special_tokens = True

    @classmethod
    def train(cls, text: Iterable[str], vocab_size: int) -> Subwords:
        """Learn the merges from text: both languages of the training split alone.

        Args:
            text: Sentences.
            vocab_size: Number of subwords, the four special tokens included. There are
                fewer if no pair that occurs twice is left to merge.

        Raises:
            ValueError: If ``vocab_size`` leaves no room for a merge, or there is one
                text instead of several.
        """
        check_texts(text=text)
        text = list(text)
        normalizer = normalizers.Sequence([normalizers.NFC()])
        normal = "".join(map(normalizer.normalize_str, text))
        characters = len({"▁", *normal.replace(" ", "▁")})
        if vocab_size <= characters + len(SPECIAL_TOKENS):
            raise ValueError(
                f"vocab_size is {vocab_size}, but the text already has {characters} "
                "different characters; take several times as many"
            )
        tokenizer = Tokenizer(models.BPE(unk_token=SPECIAL_TOKENS[3]))
        tokenizer.normalizer = normalizer
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
            [pre_tokenizers.Metaspace(), pre_tokenizers.Punctuation()]
        )
        tokenizer.decoder = decoders.Metaspace()
        trainer = BpeTrainer(
            vocab_size=vocab_size,
            min_frequency=2,
            special_tokens=list(SPECIAL_TOKENS),
            show_progress=False,
        )
        tokenizer.train_from_iterator(text, trainer)
        return cls(tokenizer)

    @classmethod
    def load(cls, path: Traversable) -> Subwords:
        """Read what :meth:`save` wrote.

        Raises:
            ValueError: If the file is missing or is no tokenizer.
        """
        try:
            return cls(Tokenizer.from_str(path.read_text(encoding="utf-8")))
        except Exception as error:  # the library raises plain Exception
            raise ValueError(f"{path} holds no subwords: {error}") from error

    def save(self, path: Path) -> None:
        """Write merges and subwords as JSON, atomically."""
        write_whole(path, self.tokenizer.to_str())

    def fingerprint(self) -> str:
        """A hash of 16 characters that identifies this set of subwords."""
        return hashlib.sha256(self.tokenizer.to_str().encode()).hexdigest()[:16]

    def __len__(self) -> int:
        return self.tokenizer.get_vocab_size()

    def pieces(self, text: str) -> list[str]:
        """Split a sentence into subwords."""
        check_text(text)
        return self.tokenizer.encode(text).tokens

    def encode(self, text: str) -> list[int]:
        """Convert a sentence to ids; characters unseen in training become ``UNK``.

        Raises:
            ValueError: If the sentence is empty or no text.
        """
        check_text(text)
        ids = self.tokenizer.encode(text).ids
        if not text.strip():
            raise ValueError(
                "a sentence is empty; leave it out, or give at least a word"
            )
        return ids

    def decode(self, ids: Iterable[int]) -> str:
        """Convert ids to text, up to the first ``EOS``, without special tokens.

        Raises:
            ValueError: If an id is out of range.
        """
        kept = []
        for i in ids:
            if not 0 <= i < len(self):
                raise ValueError(f"id {i} is not in 0 … {len(self) - 1}")
            if i == EOS:
                break
            kept.append(i)
        return self.tokenizer.decode(kept)
