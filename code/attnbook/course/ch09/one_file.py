"""The listing ``transformer.py`` with the weights of the package's model."""

from attnbook.course.ch09 import transformer
from attnbook.models.transformer import Transformer

NAMES = {
    "self_attention": "attention",
    "cross_attention": "cross",
    "feed_forward.W_1": "network.0",
    "feed_forward.W_2": "network.2",
    "norm_1": "norms.0",
    "norm_2": "norms.1",
    "norm_3": "norms.2",
}
"""Names in the package, and in the listing."""


def with_weights_of(model: Transformer) -> transformer.Transformer:
    """The listing's model; it shares the parameters of one of the package.

    That one has pre-norm and two vocabularies.
    """
    vocabularies = ("source_vocab_size", "target_vocab_size")
    sizes = (*vocabularies, "d_model", "n_heads", "n_layers", "d_ff", "dropout")
    found = transformer.Transformer(*(getattr(model.config, size) for size in sizes))
    for name, weight in model.named_parameters():
        for theirs, ours in NAMES.items():
            name = name.replace(theirs, ours)
        at, _, last = name.rpartition(".")
        setattr(found.get_submodule(at), last, weight)
    return found.train(model.training)
