"""Text as papers on Multi30k prepare it: normalised and tokenised by Moses' rules.

The captions that Wu et al. 2021 trained on are lowercased, their punctuation is
normalised, and their words are divided by spaces, with the scripts of the Moses
toolkit. sacremoses is its translation into Python; its text differs from theirs in 9 of
60,028 captions of the training and validation splits.

One difference is ours: they write an apostrophe as ``&apos;`` and quotation marks as
``&quot;``, which BLEU would count as several words. We keep the marks.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from types import ModuleType

from attnbook.core.checks import check_texts


def tokenised(
    sentences: Sequence[str], language: str, lowercase: bool = False
) -> list[str]:
    """Normalise punctuation, and put spaces between words and punctuation marks.

    Args:
        sentences: Plain text.
        language: Its code, such as "en"; it decides about abbreviations and quotation.
        lowercase: Whether to lowercase the text first.

    Raises:
        ValueError: If sacremoses isn't installed.
    """
    check_texts(sentences=sentences)
    moses = _sacremoses()
    normalizer = moses.MosesPunctNormalizer(language)
    tokenizer = moses.MosesTokenizer(language)
    found = []
    for sentence in sentences:
        text = normalizer.normalize(sentence.lower() if lowercase else sentence)
        found.append(" ".join(tokenizer.tokenize(text, escape=False)))
    return found


def detokenised(sentences: Sequence[str], language: str) -> list[str]:
    """Take those spaces out again, as far as rules can tell.

    Args:
        sentences: Tokenised text.
        language: Its code.

    Raises:
        ValueError: If sacremoses isn't installed.
    """
    check_texts(sentences=sentences)
    detokenizer = _sacremoses().MosesDetokenizer(language)
    return [detokenizer.detokenize(text.split(), unescape=False) for text in sentences]


def _sacremoses() -> ModuleType:
    try:
        return import_module("sacremoses")
    except ImportError as error:
        raise ValueError(
            f"moses=true needs the library sacremoses ({error}); install it with `pip "
            "install sacremoses`, or choose a config for plain text"
        ) from error
