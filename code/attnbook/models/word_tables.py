"""One matrix for source embedding, target embedding and output layer of a model."""

from __future__ import annotations

from torch import nn

from attnbook.models.bahdanau import Bahdanau
from attnbook.models.luong import Luong
from attnbook.models.seq2seq import InitialState, StaticContext


def tie_tables(model: InitialState | StaticContext | Bahdanau | Luong) -> None:
    """Tie the three word tables of a recurrent model: Press and Wolf 2017.

    In place, before training. The table is drawn anew with variance 1/width, so that
    logits of an untrained model are of the order of 1; the same table is the reason why
    the Transformer multiplies its embeddings by √D.

    Args:
        model: One with the same vocabulary on both sides, and embeddings as wide as the
            input of its output layer.

    Raises:
        ValueError: If the three tables do not have the same shape.
    """
    layer = model.out if isinstance(model, Luong) else model.readout.out
    tables = model.encoder.embedding, model.embedding, layer
    shapes = [tuple(table.weight.shape) for table in tables]
    if len({*shapes}) > 1:
        raise ValueError(
            f"source embedding, target embedding and output layer have shapes "
            f"{', '.join(map(str, shapes))}; to be tied they must be equal: give one "
            "vocabulary for both languages, and d_embed equal to d_hidden"
        )
    nn.init.normal_(layer.weight, std=layer.in_features**-0.5)
    for table in tables:
        table.weight = layer.weight


def count_parameters(model: nn.Module) -> dict[str, int]:
    """Count parameters; a matrix with several uses counts once.

    Returns:
        "all", and "without_tables": without the matrices of embeddings and output
        layer; its biases count. The tables must be modules, as those of all models
        for translation are.
    """
    tables = {
        module.weight
        for name, module in model.named_modules()
        if isinstance(module, nn.Embedding) or name in ("out", "readout.out")
    }
    sizes = {p: p.numel() for p in model.parameters()}
    return {
        "all": sum(sizes.values()),
        "without_tables": sum(n for p, n in sizes.items() if p not in tables),
    }
