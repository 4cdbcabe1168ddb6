"""What everything else stands on: checks, files, stored results, vocabulary.

- ``checks``: bad input is refused with a message that says what to do
- ``files``: files that appear whole or not at all
- ``results``: stored results of long experiments
- ``threads``: how many threads PyTorch may use
- ``vocabulary``: words, ids and the special tokens
"""

from attnbook.core import results
from attnbook.core.files import write_whole
from attnbook.core.threads import set_threads
from attnbook.core.vocabulary import BOS, EOS, PAD, SPECIAL, UNK, Vocabulary

__all__ = [
    "BOS",
    "EOS",
    "PAD",
    "SPECIAL",
    "UNK",
    "Vocabulary",
    "results",
    "set_threads",
    "write_whole",
]
