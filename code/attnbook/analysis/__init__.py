"""Looking into models: what attends where, what matters, what it costs.

- ``maps``: the weights of every attention in a model
- ``leaks``: which outputs react to which inputs
- ``occlusion``: what a prediction loses without a source word
- ``probes``: what can be read off the hidden states
- ``ibm_model1``: word alignment from sentence pairs alone
- ``complexity``: operations by formula and counted
- ``cost``: time and memory, measured
- ``bug_zoo``: mistakes of widely copied code
"""

from attnbook.analysis.bug_zoo import (
    CausalInTraining,
    DroppedStream,
    OneCache,
    SharedAttention,
    SoftmaxInside,
    UnbiasedNorm,
    Uncounted,
    WrongSplit,
    scale_wrongly,
    split_wrongly,
)
from attnbook.analysis.complexity import (
    attention_work,
    convolution_work,
    count,
    forward_flops,
    longest_chain,
    recurrent_work,
    separable_work,
    training_flops,
    windowed_work,
)
from attnbook.analysis.cost import matmul_rate, most_bytes, typical_seconds, wait
from attnbook.analysis.ibm_model1 import NOTHING, align, learn_table
from attnbook.analysis.leaks import influence, moved_by
from attnbook.analysis.maps import attention_maps, cross_weights
from attnbook.analysis.occlusion import (
    agreement,
    bahdanau_hiding_effects,
    encoder_effects,
    encoder_weights,
    rank_correlation,
    removal_effects,
    replacing_effects,
    swaps,
    transformer_hiding_effects,
)
from attnbook.analysis.probes import Probe, fit_probe, layer_states, probe_accuracy

__all__ = [
    "NOTHING",
    "CausalInTraining",
    "DroppedStream",
    "OneCache",
    "Probe",
    "SharedAttention",
    "SoftmaxInside",
    "UnbiasedNorm",
    "Uncounted",
    "WrongSplit",
    "agreement",
    "align",
    "attention_maps",
    "attention_work",
    "bahdanau_hiding_effects",
    "convolution_work",
    "count",
    "cross_weights",
    "encoder_effects",
    "encoder_weights",
    "fit_probe",
    "forward_flops",
    "influence",
    "layer_states",
    "learn_table",
    "longest_chain",
    "matmul_rate",
    "most_bytes",
    "moved_by",
    "probe_accuracy",
    "rank_correlation",
    "recurrent_work",
    "removal_effects",
    "replacing_effects",
    "scale_wrongly",
    "separable_work",
    "split_wrongly",
    "swaps",
    "training_flops",
    "transformer_hiding_effects",
    "typical_seconds",
    "wait",
    "windowed_work",
]
