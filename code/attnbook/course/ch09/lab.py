"""Tables of laboratory page 9."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import deepcopy
from statistics import fmean

import torch
from torch import Tensor, nn
from torch.autograd import gradcheck

from attnbook.analysis.leaks import influence
from attnbook.course.ch09.figures import BUGS
from attnbook.course.ch09.suspect import planted, reversals
from attnbook.course.kit.html_tables import Column, Table, spread, table
from attnbook.course.kit.names import name_of
from attnbook.course.kit.tables import Value, pivot, stored_runs
from attnbook.models.transformer import Transformer
from attnbook.nn.masks import key_mask
from attnbook.nn.multi_head import MultiHeadAttention
from attnbook.toy.language import Pair
from attnbook.toy.metrics import alignment_accuracy

GROUP = "largest weight on the aligned word"
SRC = torch.tensor([[3, 5, 6, 4, 3, 9, 5, 2, 0], [3, 8, 7, 3, 4, 5, 6, 7, 2]])
READ = torch.tensor([[1, 7, 4, 3, 5, 9, 2], [1, 5, 6, 8, 4, 7, 6]])
CHANGES = (
    "later target tokens",
    "target tokens up to here",
    "last target token taken away",
    "more padding",
    "order of the source",
    "order of the memory",
)
"""What is changed in SRC and READ, or between them."""


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


def builds_table() -> Table:
    """Show what each of the broken builds learned: mean and range of seeds."""
    four = {
        bugs: stored_runs("broken_builds", build=build) for bugs, build in BUGS.items()
    }
    four["softmax, 900 batches"] = stored_runs("broken_builds_longer", bug="softmax")
    sixteen = {
        "none": stored_runs("sixteen_heads", bugs=[]),
        "scale": stored_runs("sixteen_heads", bugs=["scale"]),
        "scale, 900 batches": stored_runs("broken_builds_longer", bug="scale"),
    }
    rows = {
        heading: [
            (
                bugs,
                fmean(run["loss"] for run in runs),
                spread(100 * run["right"] for run in runs),
            )
            for bugs, runs in builds.items()
        ]
        for heading, builds in {"4 heads": four, "16 heads": sixteen}.items()
    }
    loss = Column("loss", "nats per token", digits=3)
    return table(["bugs", loss, Column("token accuracy", "%", digits=1)], rows)


def questions_table() -> Table:
    """What untrained models with one bug answer to questions that need no other model.

    The bugs of :func:`planted`, one after the other.
    """
    changes = [Column(name, group="changed", digits=2) for name in CHANGES]
    sizes = [Column("sum of a row", digits=2), Column("spread of scores", digits=2)]
    rows = []
    for bug in ("none", "heads", "scale", "softmax"):
        build = planted([bug], seed=0).eval()
        with torch.no_grad():
            total = build(SRC, READ)[0, 0].sum().item()
            rows.append((bug, *answers(build), total, spread_of_scores(build)))
    return table(["bug", *changes, *sizes], rows)


def answers(model: Transformer) -> list[float]:
    """How far the logits move with each of :data:`CHANGES`."""
    later = torch.where(READ == 5, 6, 5)  # differs from READ everywhere
    longer = nn.functional.pad(SRC, (0, 3))  # three padding tokens more
    g = torch.Generator().manual_seed(0)
    order = [*torch.randperm(8, generator=g).tolist(), 8]  # padding stays last
    memory, mask = model.encode(SRC)[:, order], key_mask(SRC)[..., order]
    logits = model(SRC, READ)  # (B, T, V)
    moved = influence(lambda ids: model(SRC, ids), READ, later)  # (T, T)
    changed = (
        moved.triu(1),
        moved.tril(),
        model(SRC, READ[:, :-1]) - logits[:, :-1],
        model(longer, READ) - logits,
        model(SRC[:, order], READ) - logits,
        model.decode(READ, memory, mask) - logits,
    )
    return [change.abs().max().item() for change in changed]


def spread_of_scores(model: Transformer) -> float:
    """The standard deviation of the scores for inputs of variance 1, a mean."""
    g = torch.Generator().manual_seed(0)
    x = torch.randn(8, 64, model.config.d_model, generator=g)  # (B, S, D)
    spreads = []
    for module in model.modules():
        if isinstance(module, MultiHeadAttention):
            _, weights = module(x, x, x, need_weights=True)  # (B, H, S, S)
            scores = weights.log()  # up to a constant in each row
            spreads.append((scores - scores.mean(-1, keepdim=True)).std())
    return torch.stack(spreads).mean().item()
