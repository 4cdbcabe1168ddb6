"""From text to batches, for any language.

- ``batching``: padding, and batches of sentence pairs grouped by length
- ``subwords``: subword tokenisation by byte-pair encoding, at full speed
- ``bpe_from_scratch``: byte-pair encoding in a few lines
- ``multi30k``: the Multi30k captions, downloaded and verified
"""

from attnbook.data.batching import (
    Batch,
    IdPair,
    id_batch,
    pad,
    padding_share,
    pooled,
    target_tokens,
    token_batches,
)
from attnbook.data.bpe_from_scratch import (
    apply_merges,
    count_pairs,
    learn_merges,
    merge_pair,
)
from attnbook.data.multi30k import available, clean, sentences
from attnbook.data.subwords import Subwords
