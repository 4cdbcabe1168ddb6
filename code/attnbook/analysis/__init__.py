"""Looking into models: attention maps, influence, occlusion, probes, and costs.

- ``maps``: the weights of every attention in a model
- ``head_ablation``: attention with some of its heads removed
- ``word_maps``: attention between words, from attention between subwords
- ``leaks``: which outputs depend on which inputs
- ``occlusion``: how much a prediction depends on a source word
- ``probes``: linear probes of vectors, such as an encoder's
- ``complexity``: number of operations, by formula and counted
- ``cost``: time and memory, measured
- ``bug_zoo``: mistakes of widely copied code
- ``model_checks``: questions that find such mistakes in any implementation
"""

from attnbook.analysis.complexity import attention_work, count, longest_chain
from attnbook.analysis.cost import median_seconds, peak_bytes
from attnbook.analysis.head_ablation import without_heads
from attnbook.analysis.leaks import influence
from attnbook.analysis.maps import attention_maps
from attnbook.analysis.model_checks import (
    check_attention,
    check_loss,
    check_model,
    check_norm,
)
from attnbook.analysis.occlusion import bahdanau_hiding_effects, replacing_effects
from attnbook.analysis.probes import LinearProbe, fit_probe, probe_accuracy
from attnbook.analysis.word_maps import word_groups, word_weights, words
