"""Lines are split into sentences, and what is no end of one is left alone."""

import pytest

from attnbook.translation.sentences import split_sentences


@pytest.mark.parametrize(
    ("language", "sentences"),
    [
        ("en", ["A dog runs.", "A cat sleeps!", "Why?"]),
        ("en", ["a dog runs.", "a cat sleeps."]),
        (
            "en",
            ["Mr. Smith met Dr. Jones in St. Louis at 3.30 p.m. today.", "They ate."],
        ),
        ("en", ['"Stop!" he said.', "He laughed."]),
        ("en", ["A man with no stop at the end"]),
        ("de", ["Er war am 3. Mai z. B. im Park.", "Sie nicht."]),
        ("fr", ["Un chien court.", "Un chat dort."]),
        ("toy", ["the dog sees a farmer .", "a cat sleeps ."]),  # as in English
        ("en", []),
    ],
)
def test_sentences_are_found_again(language, sentences):
    assert split_sentences(" ".join(sentences), language) == sentences
    assert split_sentences("  ".join(sentences) + " ", language) == sentences
