"""What a decoder reaches that knows the grammar, but not the source or not all of it.

Both are computed from the grammar of :mod:`attnbook.toy.language`, with no model: what
is unknown is guessed as well as possible.
"""

import math

from attnbook.toy.language import ADJECTIVES, DETERMINERS, NOUNS, VERBS

ADJECTIVE_SHARE = len(ADJECTIVES) / (len(ADJECTIVES) + 1)
"""Share of phrases with an adjective."""


def loss_knowing(clauses: int) -> float:
    """Loss of a decoder that knows the grammar and the first clauses of the source.

    The mean over sentences of 1 to 4 clauses, in nats per token. An unknown clause
    costs two phrases and a verb, each word guessed among those that may follow; whether
    the sentence ends or goes on is guessed as well.

    Args:
        clauses: Number of known clauses; 0 is a decoder without a source.
    """
    phrase = math.log(len(NOUNS) * (len(ADJECTIVES) + 1) * len(DETERMINERS))
    clause = 2 * phrase + math.log(len(VERBS))
    tokens = 2 * (2 + ADJECTIVE_SHARE) + 2  # with the connective or EOS
    losses = [
        (max(n - clauses, 0) * clause + math.log(4)) / (n * tokens)
        for n in (1, 2, 3, 4)
    ]
    return sum(losses) / len(losses)


def accuracy_without_source() -> float:
    """Token accuracy of a decoder that knows the previous tokens, but no source.

    It knows the kind of each word from its position and guesses: a noun, one of 12;
    after a noun an adjective or none, one of 7; after an adjective a determiner, one
    of 3; a verb, one of 8.
    """
    after_noun = 1 / (len(ADJECTIVES) + 1)
    phrase = 1 / len(NOUNS) + after_noun + ADJECTIVE_SHARE / len(DETERMINERS)
    correct = 2 * phrase + 1 / len(VERBS)
    words = 2 * (2 + ADJECTIVE_SHARE) + 1
    return correct / words
