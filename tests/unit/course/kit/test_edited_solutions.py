"""Solutions with some edits: which are as right, and where the others fail.

They are no mistakes that a part knows by name, for which it has hints.
"""

import pytest

from attnbook.course.kit.exercises.hints import Mistake, make_mistake
from attnbook.course.kit.exercises.stages import find_part, first_failure

INIT, ADDED = "super().__init__()", "return x + sinusoids(x.shape[1], x.shape[2])"
TABLE = "nn.Parameter(sinusoids(99, d_model), requires_grad=False)"
FROZEN = "nn.Embedding.from_pretrained({}sinusoids(99, {}))"
DROPPED = "self.dropout(sublayer(x))"
NORM = "self.norm_2 = nn.LayerNorm(config.d_model)"
PLACED, LAYER = "self.dropout(self.positions(x))", "SinusoidalPositions(d)"
DROPOUT = "{}, self.dropout.p, self.training)"
LISTED = "self.all = nn.ModuleList([self.norm_1]); self.dropout = "
WITHOUT = "table.requires_grad_(False)\n        self.positions ="
START = "state = model.start(src)"
KEY = "(ids != PAD)"
CAUSAL = " & causal_mask(ids.shape[1]).to(ids.device)"
BY_LENGTH = "(torch.arange(ids.shape[1], device=ids.device) < {}[:, None])"
WITHOUT_DEVICE = "torch.tensor([[x != 0 for x in row] for row in ids.tolist()])"
BEGUN, BEFORE = ("return memory,", "state = memory,"), "memory, mask, before = state"
NONE_YET, ROWS = "src[:, :0]", "(memory, mask, ids)"
OBJECT = "__import__('types').SimpleNamespace"

RIGHT = {
    "masks": [  # padding stands on the right
        [(KEY, "ids.bool()")],
        [(KEY, BY_LENGTH.format("(ids != 0).sum(1)"))],
        [(KEY, "ids.flip(1).cummax(1).values.flip(1).bool()")],
    ],
    "positions": [
        [
            (INIT, f"{INIT}; self.table = {TABLE}"),
            (ADDED, "return x + self.table[: x.shape[1]]"),
        ],
        [
            (INIT, f"{INIT}; self.table = {FROZEN.format('', 'd_model')}"),
            (ADDED, "return x + self.table.weight[: x.shape[1]]"),
        ],
    ],
    "EncoderLayer": [
        [(DROPPED, DROPOUT.format("F.dropout(sublayer(x)"))],
        [("self.dropout = ", LISTED)],
    ],
    "Transformer": [
        [(PLACED, DROPOUT.format("nn.functional.dropout(self.positions(x)"))],
        [
            (LAYER, FROZEN.format("by_formula.", "d")),
            ("self.positions(x)", "x + self.positions.weight[: x.shape[1]]"),
        ],
        [  # a state of another form
            BEGUN,
            (NONE_YET, f"{NONE_YET}; return dict(zip('abc', state))"),
            (BEFORE, f"{BEFORE}.values()"),
            (ROWS, f"dict(zip('abc', {ROWS}))"),
        ],
    ],
    "greedy": [[(START, f"model.eval(); {START}")]],
}
WRONG = [
    ("masks", "shapes", (KEY, "ids.masked_fill_(ids == 0, -1).gt(0)")),
    ("masks", "padding", (KEY, BY_LENGTH.format("ids.ne(0).int().argmin(1)"))),
    ("masks", "both", (CAUSAL, ".expand(-1, -1, ids.shape[1], -1)")),
    ("masks", "devices", (KEY, WITHOUT_DEVICE)),
    ("positions", "added to x", (ADDED, ADDED.replace("x.shape[2]", "6"))),
    ("positions", "added to x", (ADDED, ADDED.replace("x.shape[1]", "x.shape[0]"))),
    ("positions", "added to x", ("x +", "nn.Dropout(0.3).train(self.training)(x) +")),
    ("EncoderLayer", "shapes", (NORM, NORM.replace("Layer", "RMS"))),
    ("EncoderLayer", "shapes", ("config.d_ff", "4 * config.d_model")),
    ("EncoderLayer", "dropout", ("config.dropout", "0.5")),
    (
        "EncoderLayer",
        "dropout",
        ("return x", f"return {DROPOUT.format('F.dropout(x')}"),
    ),
    ("Transformer", "shapes", ("config.n_layers", "2")),
    ("Transformer", "dropout", (LAYER, f"nn.Sequential({LAYER}, nn.Dropout(0.1))")),
    ("Transformer", "gradients", ("self.positions =", WITHOUT)),
    ("Transformer", "steps", ("[:, -1], (", "[:, -1].argmax(-1), (")),
    (
        *("Transformer", "beam", BEGUN, (BEFORE, f"{BEFORE}.x")),
        (NONE_YET, f"{NONE_YET}; return {OBJECT}(x=state)"),
        (ROWS, f"{OBJECT}(x={ROWS})"),
    ),
    (
        *("Transformer", "beam", ("return memory,", "return memory.transpose(0, 1),")),
        (BEFORE, f"{BEFORE}; memory = memory.transpose(0, 1)"),
        (ROWS, "(memory.transpose(0, 1), mask, ids)"),
    ),
    ("greedy", "ends", ("finished | (token == EOS)", "token == EOS")),
]


def failed_stage(name, *edits):
    """The stage in which an edited solution fails, or None."""
    part = find_part(name)
    found = first_failure(part, make_mistake(part.solution, Mistake([*edits])))
    return found and found[0].name


@pytest.mark.parametrize(
    ("name", "edits"), [(name, edits) for name in RIGHT for edits in RIGHT[name]]
)
def test_an_answer_in_another_form_is_right(name, edits):
    assert failed_stage(name, *edits) is None


@pytest.mark.parametrize("wrong", WRONG)
def test_a_wrong_answer_fails_at_the_stage_that_is_about_it(wrong):
    name, stage, *edits = wrong
    assert failed_stage(name, *edits) == stage
