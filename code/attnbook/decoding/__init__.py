"""From a trained model to an output sentence: greedy decoding, beam search, sampling.

- ``greedy_search``: token by token, and the most probable one at each step
- ``beam``: beam search with a length penalty
- ``sampling``: sampling with temperature, top-k and top-p
- ``scoring``: the log-probability of a given translation
- ``steps``: limits, allowed tokens and rows of a state, shared by all of them
"""

from attnbook.decoding.beam import Hypotheses, beam_search, length_penalty
from attnbook.decoding.greedy_search import generate, greedy
from attnbook.decoding.sampling import sample, token_probabilities
from attnbook.decoding.scoring import log_probability
from attnbook.decoding.steps import select_rows, token_log_probs
