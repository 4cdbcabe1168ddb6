"""The role of each word in its clause: a tagging task of the toy language."""

from collections.abc import Sequence

from torch import Tensor

from attnbook.data.batching import pad
from attnbook.toy.data import SOURCE
from attnbook.toy.language import AND, VERBS, Pair

ROLES = ("<pad>", "subject", "verb", "object", "connective")
"""The tags by their ids; 0 is that of padding."""


def roles_of(words: Sequence[str]) -> list[str]:
    """The role of each word: what stands before the verb belongs to the subject.

    Args:
        words: A sentence of the toy language.
    """
    found, before = [], True
    for word in words:
        if word == AND:
            found.append("connective")
            before = True
        elif word in VERBS:
            found.append("verb")
            before = False
        else:
            found.append("subject" if before else "object")
    return found


def role_batch(pairs: Sequence[Pair]) -> tuple[Tensor, Tensor]:
    """Encode and pad the sources of B pairs, and their roles.

    Returns:
        Ids of words, (B, T), and of roles, (B, T).
    """
    ids = pad([SOURCE.encode(pair.source) for pair in pairs])
    tags = pad([[*map(ROLES.index, roles_of(pair.source))] for pair in pairs])
    return ids, tags
