"""Tables of laboratory page 9."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import deepcopy

import torch
from torch import Tensor
from torch.autograd import gradcheck

from attnbook.course.ch09.suspect import planted, reversals
from attnbook.course.kit.html_tables import Column, Table, table
from attnbook.course.kit.names import name_of
from attnbook.course.kit.tables import Value, pivot, stored_runs
from attnbook.models.transformer import Transformer
from attnbook.nn.masks import key_mask
from attnbook.nn.multi_head import MultiHeadAttention
from attnbook.toy.language import Pair
from attnbook.toy.metrics import alignment_accuracy

GROUP = "largest weight on the aligned word"


def five_clauses_table(*names: str) -> Table:
    """Show the exact match of stored results at four and five clauses."""
    clauses = {"4": "4 clauses", "5": "5 clauses"}
    return by_clauses(names, "exact", "exact match", clauses)


def alignment_table(*names: str) -> Table:
    """Show alignment accuracies of stored results: mean and range over seeds."""
    clauses = {"1": "1 clause", "4": "4 clauses"}
    return by_clauses(names, "align", GROUP, clauses)


def by_clauses(
    names: Iterable[str], entry: str, group: str, clauses: dict[str, str]
) -> Table:
    """One row a stored result, one column a number of clauses."""
    runs = [
        {"model": name_of(name), **run} for name in names for run in stored_runs(name)
    ]
    values = [
        Value(lambda run, n=n: run[entry][n], "%", 100, 1, head, group)
        for n, head in clauses.items()
    ]
    return pivot(runs, "model", None, *values)


def heads_table(maps: dict[str, Tensor], pairs: Sequence[Pair]) -> Table:
    """Show the alignment accuracy of every head."""
    rows = [
        (
            str(layer),
            *(100 * alignment_accuracy(w, pairs) for w in weights.unbind(dim=1)),
        )
        for layer, weights in enumerate(maps.values(), start=1)
    ]
    heads = [Column(f"head {head}", "%", GROUP) for head in range(1, len(rows[0]))]
    return table(["layer", *heads], rows)


def differences_table() -> Table:
    """Compare untrained models with one bug with the right model."""
    right = planted((), seed=0).eval()
    larger = planted((), seed=0).eval()
    for module in larger.modules():
        if isinstance(module, MultiHeadAttention):
            module.W_Q.weight.data *= module.n_heads**0.5
    src, read, _ = next(reversals(seed=1))
    with torch.no_grad():
        outputs = [model(src, read) for model in (right, larger)]
    rows = []
    for bug in ("none", "heads", "scale", "softmax"):
        build = with_parameters_of(right, bug)
        count = sum(p.numel() for p in build.parameters())
        agree = "yes" if gradients_agree(build) else "no"
        with torch.no_grad():
            moved = [(build(src, read) - of).abs().max().item() for of in outputs]
        rows.append((bug, count, agree, *moved))
    group = "difference from the right model's outputs"
    return table(
        [
            "bug",
            Column("parameters"),
            "gradients agree",
            Column("same parameters", group=group, digits=2),
            Column("its queries doubled", group=group, digits=2),
        ],
        rows,
    )


def just_read_table() -> Table:
    """What untrained models make of the word just read, by their initial weights."""
    values = (
        Value("probability", "%", 100, 1, "probability"),
        Value("cosine", digits=2, name="cosine"),
        Value("loss", "nats", digits=1, name="loss"),
    )
    norms = {True: "pre-norm", False: "post-norm"}
    runs = [
        {**run, "kind": f"tables {run['tables']}, {norms[run['norm_first']]}"}
        for run in stored_runs("word_just_read")
    ]
    return pivot(runs, "layers", None, *values, groups="kind", head="layers' weights")


def with_parameters_of(right: Transformer, bug: str) -> Transformer:
    """A model with a bug and the parameters of the right one."""
    build = planted([bug], seed=1).eval()
    pairs = zip(build.parameters(), right.parameters(), strict=True)
    with torch.no_grad():
        for own, other in pairs:
            own.copy_(other)
    return build


def gradients_agree(model: Transformer) -> bool:
    """Compare the gradients of a decoder with finite differences, in float64."""
    src, read, _ = next(reversals(seed=1, batch_size=1))
    exact = deepcopy(model).double()
    memory = exact.encode(src).detach().requires_grad_()

    def decoded(memory: Tensor) -> Tensor:
        return exact.decode(read, memory, key_mask(src))

    return gradcheck(decoded, memory, raise_exception=False)
