"""Chapter 2 and its laboratory: what is computed of models just trained, and clicks."""

from itertools import islice, permutations

import torch
from compare import make_bahdanau
from notebook_cells import printed

from attnbook.course.ch02 import clicks
from attnbook.course.ch02.twin import hold_uniform
from attnbook.toy.data import toy_batches
from attnbook.toy.language import translate_by_rule
from attnbook.toy.models import load_toy_model

PAIR = translate_by_rule("the old farmer sees a bird")


def test_attention_is_uniform_as_long_as_it_is_held():
    model = make_bahdanau()
    v, initial = model.score.v.weight, model.score.v.weight.detach().clone()
    batches = islice(hold_uniform(toy_batches(0), model, 3), 5)
    for step, _ in enumerate(batches):
        assert v.requires_grad == (step >= 3)
        assert torch.equal(v, initial if step >= 3 else torch.zeros_like(v))
    [*hold_uniform([None], model, 0)]
    assert torch.equal(v, initial)


# The page's own code, at its edges


def test_clicks_in_any_order_write_what_the_package_writes():
    model, write = load_toy_model("bahdanau"), printed("ch02", "write_by_clicks")
    orders = [*permutations(range(6))][::11]
    others = [[], [2], [6, 5], [2] * 30, [4, 3, 2, 1, 0, 5, 5, 5]]
    for order in [*map(list, orders), *others]:
        wanted = clicks.write_by_clicks(model, PAIR.source, order)
        given = [*order]
        with torch.no_grad():
            assert write(model, PAIR.source, given) == wanted
        assert given == order
