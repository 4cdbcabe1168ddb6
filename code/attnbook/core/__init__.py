"""The foundation of the package: checks, files, stored results, vocabulary.

- ``checks``: validation of arguments, with messages that say what to do
- ``devices``: the device to compute on
- ``files``: atomic file writes
- ``results``: stored results of long experiments
- ``signals``: what happens when a program is asked to end
- ``threads``: the number of threads that PyTorch uses
- ``vocabulary``: words, ids and the special tokens
"""

from attnbook.core import results
from attnbook.core.devices import choose_device, model_device
from attnbook.core.files import write_whole
from attnbook.core.threads import set_threads
from attnbook.core.vocabulary import BOS, EOS, PAD, SPECIAL_TOKENS, UNK, Vocabulary
