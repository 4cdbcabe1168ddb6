"""Parts of words, found by byte-pair encoding: Sennrich et al. 2016."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from importlib.resources.abc import Traversable
from pathlib import Path

from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers
from tokenizers.trainers import BpeTrainer

from attnbook.core.files import write_whole
from attnbook.core.vocabulary import EOS, SPECIAL


class Subwords:
    """Text to ids of subwords and back; ``▁`` stands for the space before a word.

    Args:
        tokenizer: As :meth:`train` and :meth:`load` make it.
    """

    def __init__(self, tokenizer: Tokenizer):
        self.tokenizer = tokenizer
        # "<eos>" typed in a text is text.
        tokenizer.encode_special_tokens = True

    @classmethod
    def train(cls, text: Iterable[str], size: int, lowercase: bool = False) -> Subwords:
        """Learn the merges from text: the training split alone, of both languages.

        Args:
            text: Sentences.
            size: Number of subwords, the four special ones included. Fewer come out
                if the text has no pair left that occurs twice.
            lowercase: Whether to write everything small first.

        Raises:
            ValueError: If ``size`` leaves no room for a merge.
        """
        text = list(text)
        letters = len(set("".join(text)))
        if size <= letters + len(SPECIAL):
            raise ValueError(
                f"size is {size}, but the text has {letters} different signs already; "
                "take several times as many"
            )
        tokenizer = Tokenizer(models.BPE(unk_token=SPECIAL[3]))
        steps = [normalizers.NFC(), *[normalizers.Lowercase()] * lowercase]
        tokenizer.normalizer = normalizers.Sequence(steps)
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
            [pre_tokenizers.Metaspace(), pre_tokenizers.Punctuation()]
        )
        tokenizer.decoder = decoders.Metaspace()
        trainer = BpeTrainer(
            vocab_size=size,
            min_frequency=2,
            special_tokens=list(SPECIAL),
            show_progress=False,
        )
        tokenizer.train_from_iterator(text, trainer)
        return cls(tokenizer)

    @classmethod
    def load(cls, path: Traversable) -> Subwords:
        """Read what :meth:`save` wrote.

        Raises:
            ValueError: If the file is missing or not of its kind.
        """
        try:
            return cls(Tokenizer.from_str(path.read_text(encoding="utf-8")))
        except Exception as error:  # the library raises plain Exception
            raise ValueError(f"{path} holds no subwords: {error}") from error

    def save(self, path: Path) -> None:
        """Write merges and subwords as JSON; the file appears whole or not at all."""
        write_whole(path, self.tokenizer.to_str())

    def fingerprint(self) -> str:
        """Sixteen characters that, in practice, no other set of subwords has."""
        return hashlib.sha256(self.tokenizer.to_str().encode()).hexdigest()[:16]

    def __len__(self) -> int:
        return self.tokenizer.get_vocab_size()

    def pieces(self, text: str) -> list[str]:
        """Cut a sentence into subwords."""
        return self.tokenizer.encode(text).tokens

    def encode(self, text: str) -> list[int]:
        """Turn a sentence into ids; characters never seen in training become ``UNK``.

        Raises:
            ValueError: If the sentence is empty.
        """
        ids = self.tokenizer.encode(text).ids
        if not text.strip():
            raise ValueError(
                "a sentence is empty; leave it out, or give at least a word"
            )
        return ids

    def decode(self, ids: Iterable[int]) -> str:
        """Turn ids into text, up to the first ``EOS``, without the special ones.

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
