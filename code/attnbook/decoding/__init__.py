"""From a trained model to a sentence: greedy, beam search, sampling.

- ``greedy_search``: the most probable word at each step
- ``beam``: beam search with a length penalty
- ``sampling``: temperature, top-k and top-p
- ``scoring``: the log-probability of a given translation
- ``steps``: what all of them share
"""

from attnbook.decoding.beam import Hypotheses, beam_search, length_penalty
from attnbook.decoding.greedy_search import greedy
from attnbook.decoding.sampling import sample, word_probabilities
from attnbook.decoding.scoring import log_probability
from attnbook.decoding.steps import select_rows, token_log_probs

__all__ = [
    "Hypotheses",
    "beam_search",
    "greedy",
    "length_penalty",
    "log_probability",
    "sample",
    "select_rows",
    "token_log_probs",
    "word_probabilities",
]
