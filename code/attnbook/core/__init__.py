"""The foundation of the package: checks, files, stored results, vocabulary.

- ``vocabulary``: words, ids and the special tokens
- ``results``: stored results of long experiments
- ``files``: atomic file writes
- ``devices``: the device to compute on
- ``checks``: validation of arguments, with messages that say what to do
- ``divergence``: training whose numbers are no longer finite
- ``threads``: the number of threads that PyTorch uses
- ``signals``: what happens when a program is asked to end
"""

from attnbook.core import results
from attnbook.core.devices import choose_device, model_device
from attnbook.core.divergence import DivergedError
from attnbook.core.vocabulary import BOS, EOS, PAD, UNK, Vocabulary
