"""The file of solved parts: what is copied into it, kept, refused and used again."""

import pytest
from notebook_cells import run_cell

from attnbook.course import my_part, save_part
from attnbook.course.kit.exercises.my_transformer import FILE
from attnbook.course.kit.exercises.own_source import own_source
from attnbook.nn import attention as packages_attention

CELLS = """\
import math
import torch
from torch.nn import functional as F
---
LOWEST = -1e30

def masked_softmax(scores, mask):
    # The weights of one query sum to 1.
    if mask is None:
        return scores.softmax(-1)
    return scores.masked_fill(~mask, LOWEST).softmax(-1).masked_fill(~mask, 0.0)
---
scores = torch.ones(3)

def attention(Q, K, V, mask=None, dropout=0.0):
    scores = Q @ K.mT / math.sqrt(Q.shape[-1])
    return F.dropout(masked_softmax(scores, mask), dropout) @ V

unused = attention(torch.ones(1, 2), torch.ones(3, 2), torch.ones(3, 1))
"""
SAVED = "Saved attention in my_transformer.py.\n"


@pytest.fixture(autouse=True)
def file(tmp_path, monkeypatch):
    """The reader's file in an empty folder, as that of a notebook."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ATTNBOOK_PARTS", raising=False)
    return tmp_path / FILE


def written(old="", new=""):
    """The reader's attention, written in three cells, with a change in one of them."""
    names = {}
    for cell in CELLS.split("---\n"):
        run_cell(cell.replace(old, new) if old else cell, names)
    return names["attention"]


def edit(file, old, new):
    """Change the reader's file by hand; return the text that it has then."""
    text = file.read_text(encoding="utf-8").replace(old, new)
    file.write_text(text, encoding="utf-8")
    return text


def is_mine(name):
    """Whether the part that later chapters get is the one in the file."""
    found = my_part(name)
    found = found if isinstance(found, tuple) else (found,)
    return {x.__module__ for x in found} == {"my_transformer"}


# What is copied


@pytest.mark.parametrize(
    "source",
    [  # first what is needed, in the order in which it is copied, last the definition
        """\
import functools
import numpy as np
from attnbook.nn import attention  # ours
from math import sqrt as root
from torch.nn import functional as F


@functools.lru_cache
def f(x):
    def g(y):
        return undefined(x + y)
    return attention(g(x), [root(np.abs(y)) for y in x], F.relu(x))
""",
        """\
from enum import Enum
HALF = 0.5
LOWEST = float("-inf")


class State(Enum):
    s: int = 1


def g(x):
    return x * LOWEST


def f(x):
    return max(State(g(x)), LOWEST, HALF)
""",
    ],
)
def test_what_a_definition_needs_comes_with_it(source):
    names = run_cell("import math\n\ndef f(x):\n    return 1\n", {})
    for cell in source.split("\n\n\n"):
        run_cell(cell, names)
    with pytest.raises(SyntaxError):  # a cell that failed is no hindrance
        run_cell("def f(x:", names)
    assert own_source((names["f"],), ["f"]) == source


@pytest.mark.parametrize(
    ("before", "said"),
    [
        ("import torch\ntable = torch.ones(3)", "uses `table`, an object of type Tens"),
        ("if 1:\n    table = 3", "the source of `table` is not to be found: define or"),
    ],
)
def test_what_cannot_be_copied_is_told(before, said):
    names = run_cell(f"{before}\n\ndef f(x):\n    return table", {})
    with pytest.raises(ValueError, match=said):
        own_source((names["f"],), ["f"])


HEAD = "import functools\nimport torch\nfrom torch import nn\n"
MASKED = CELLS.replace("---\n", "\n").replace("def attention", "def masked")
MASKED = MASKED.replace("unused = attention", "unused = masked")
MINE = """
def {}(Q, K, V, mask=None, dropout=0.0):
    return masked(Q, K, V, mask, dropout)
"""
LOGGED = """\
def logged(function):
    {}
    def inner(*arguments, **named):
        return function(*arguments, **named)
    return inner

@logged"""
WRAPPED = LOGGED.format("@functools.wraps(function)")
CLASS = "class A(nn.Module):\n    def forward(self, *a, **b):\n"
CLASS += "        return mine(*a, **b)\n"
DEF = MINE.format("mine").strip()


@pytest.mark.parametrize(
    ("source", "answer", "last"),
    [
        (DEF, "mine", "attention = mine"),
        (f"{DEF}\nattention = mine", "attention", "attention = mine"),
        (f"{WRAPPED}\n{DEF}", "mine", "attention = mine"),
        (
            f"{LOGGED.format('')}\n{MINE.format('attention').strip()}",
            "attention",
            "    return masked(Q, K, V, mask, dropout)",
        ),
        (f"{DEF}\nattention = functools.partial(mine)", "attention", None),
        (f"{DEF}\nattention = lambda *a, **b: mine(*a, **b)", "attention", None),
        (f"{DEF}\n{CLASS}attention = A()", "attention", None),
    ],
)
def test_a_function_of_any_name_and_kind_is_saved_or_refused(
    source, answer, last, file
):
    """What is no function by `def`, and no class, gets a sentence."""
    names = run_cell(MASKED, {})
    run_cell(f"{HEAD}{source}\n", names)
    if last is None:
        with pytest.raises(ValueError, match=r"(?s)write.*`?def "):
            save_part("attention", names[answer])
        assert not file.exists()
        return
    save_part("attention", names[answer])
    assert file.read_text(encoding="utf-8").endswith(f"{last}\n{END}")
    assert is_mine("attention")


# What is kept, and what is refused


def test_what_passes_is_saved_and_used_later(capsys, file):
    save_part("attention", written())
    assert capsys.readouterr().out == SAVED
    text = file.read_text(encoding="utf-8")
    assert text.startswith('"""My Transformer: what I wrote')
    assert "\n# %% attention (chapter 4)\nimport math\n" in text
    assert "\nLOWEST = -1e30\n\n\ndef masked_softmax(scores, mask):\n    #" in text
    assert text.endswith(f"@ V\n{END}")
    assert "torch.ones" not in text
    found = my_part("attention")
    assert capsys.readouterr().out == "attention: yours, from my_transformer.py.\n"
    before = file.stat().st_mtime_ns
    for same in (written(), found):
        save_part("attention", same)
        assert "is in my_transformer.py already" in capsys.readouterr().out
    assert file.stat().st_mtime_ns == before
    assert [*file.parent.iterdir()] == [file]


def test_an_earlier_version_is_kept_and_all_else_stays(capsys, file):
    file.write_text("x = 1", encoding="utf-8")
    save_part("attention", written())
    more = "\nNOTES = 'mine'\n# %% a cell of my own\n"
    by_hand = edit(file, "end of attention\n", f"end of attention\n{more}")
    assert by_hand.startswith("x = 1\n\n# %% attention (chapter 4)\n")
    for number in (1, 2):
        save_part("attention", written("sum to 1.", f"sum to 1, {number}."))
        kept = f"my_transformer_before_{number}.py"
        assert f"The file as it was is kept as {kept}." in capsys.readouterr().out
        assert (file.parent / kept).read_text(encoding="utf-8") == by_hand
        by_hand = by_hand.replace("sum to 1.", "sum to 1, 1.")
    assert file.read_text(encoding="utf-8") == by_hand.replace("1, 1.", "1, 2.")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (("softmax(-1)", "softmax(-2)"), "attention: 1 of 8 stages passed."),
        (("return", "return ... if 1 else"), "attention: 0 of 8 stages"),
        ((CELLS.split("---\n")[2], "def attention(Q): ..."), "attention: your turn.\n"),
        ((CELLS.split("---\n")[2], "attention = 'attention'"), "attention: expected"),
    ],
)
def test_what_does_not_pass_is_not_saved(changes, said, capsys, file):
    save_part("attention", written(*changes))
    assert capsys.readouterr().out.startswith(f"Not saved.\n{said}")
    assert not file.exists()


END = "# %% end of attention\n"


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda file: edit(file, END, ""), "is damaged: each part"),
        (lambda file: edit(file, END, END + END), "is damaged: each part"),
    ],
)
def test_a_damaged_file_is_refused_and_stays(damage, said, capsys, file):
    save_part("attention", written())
    damage(file)
    before = file.read_bytes()
    with pytest.raises(ValueError, match=rf"my_transformer\.py {said}"):
        save_part("attention", written("-1e30", "-1e31"))
    assert file.read_bytes() == before
    assert my_part("attention") is packages_attention
    assert f"the package's. my_transformer.py {said}" in capsys.readouterr().out


def test_a_file_without_its_last_newline_is_not_damaged(file):
    save_part("attention", written())
    text = edit(file, END, END.strip())
    assert is_mine("attention")
    save_part("attention", written("sum to 1.", "sum to one."))
    whole = text.replace("sum to 1.", "sum to one.") + "\n"
    assert file.read_text(encoding="utf-8") == whole


@pytest.mark.parametrize("prepare", ["nothing", "no section", "stored outputs"])
def test_nothing_saved_means_the_packages(prepare, capsys, file, monkeypatch):
    """So does what the runner of the notebooks sets: its reader may have a file."""
    if prepare == "no section":
        file.write_text("x = 1\n", encoding="utf-8")
    if prepare == "stored outputs":
        save_part("attention", written())
        monkeypatch.setenv("ATTNBOOK_PARTS", "package")
    capsys.readouterr()
    assert my_part("attention") is packages_attention
    said = "attention: the package's. Yours is used once you have saved it.\n"
    assert capsys.readouterr().out == said


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("softmax(-1)", "softmax(-2)", "fails in the stage 'values'."),
        ("import math", "import nothing_such", "does not run: ModuleNotFoundError in "),
    ],
)
def test_a_saved_part_that_no_longer_passes_is_not_used(old, new, said, capsys, file):
    save_part("attention", written())
    capsys.readouterr()
    edit(file, old, new)
    assert my_part("attention") is packages_attention
    out = capsys.readouterr().out
    assert f"attention: the package's. Yours, in my_transformer.py, {said}" in out
    assert out.count("\n") == 1


# Several parts


MULTI_HEAD = """\
from torch import nn

class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads = n_heads
        linears = [nn.Linear(d_model, d_model) for _ in range(4)]
        self.W_Q, self.W_K, self.W_V, self.W_O = linears

    def forward(self, query, key, value, mask=None):
        split = lambda x: x.unflatten(-1, (self.n_heads, -1)).transpose(1, 2)
        q, k, v = split(self.W_Q(query)), split(self.W_K(key)), split(self.W_V(value))
        return self.W_O(attention(q, k, v, mask).transpose(1, 2).flatten(2))
"""
MASKS = """\
import torch

def key_mask(ids):
    return (ids != 0)[:, None, None]

def causal_mask(t):
    return torch.ones(t, t, dtype=torch.bool).tril()

def target_mask(ids):
    return key_mask(ids) & causal_mask(ids.shape[1]).to(ids.device)
"""


@pytest.mark.parametrize("saved_first", [True, False])
@pytest.mark.parametrize(
    ("cell", "name"),
    [
        ("from attnbook.nn import (\n    attention as attend,\n    Block)", "attend"),
        ("attend = my_part('attention')", "attend"),
    ],
)
def test_a_part_uses_the_saved_part_that_it_is_made_of(
    cell, name, saved_first, capsys, file
):
    """Until that is saved it is ours, and named; it is exchanged by saving anew."""
    if saved_first:
        save_part("attention", written())
    names = run_cell(cell, {"my_part": my_part})
    run_cell(MULTI_HEAD.replace("attention(q", f"{name}(q"), names)
    capsys.readouterr()
    save_part("MultiHeadAttention", names["MultiHeadAttention"])
    ours, out = " Still ours in it: attention.\n", capsys.readouterr().out
    assert out.endswith("MultiHeadAttention in my_transformer.py.\n" * saved_first)
    if not saved_first:
        assert out == f"Saved MultiHeadAttention in my_transformer.py.{ours}"
        my_part("MultiHeadAttention")
        assert capsys.readouterr().out.endswith(f"from my_transformer.py.{ours}")
        save_part("attention", written())
        assert capsys.readouterr().out == SAVED.replace("\n", ours)
        save_part("MultiHeadAttention", names["MultiHeadAttention"])
        assert "Still ours" not in capsys.readouterr().out
    text = file.read_text(encoding="utf-8")
    assert "from attnbook" not in text
    assert f"{END}\n# %% MultiHeadAttention (chapter 5)\n" in text  # the course's order
    used = my_part("MultiHeadAttention").forward.__globals__[name]
    assert used.__module__ == "my_transformer"
    assert "Still ours" not in capsys.readouterr().out


def test_a_part_that_needs_more_of_ours_than_a_reader_writes_keeps_it(capsys):
    names = run_cell("from attnbook.nn import attention", {})
    more = MULTI_HEAD.replace("v, mask)", "v, mask, need_weights=True)[0]")
    run_cell(more, names)
    save_part("MultiHeadAttention", names["MultiHeadAttention"])
    save_part("attention", written())
    assert "Still ours in it: attention." in capsys.readouterr().out.splitlines()[-1]
    assert is_mine("MultiHeadAttention")


def test_parts_that_do_not_fit_together_are_refused(file):
    """The second part's helper has the name of the first one's, and does less."""
    save_part("attention", written())
    before = file.read_bytes()
    names = run_cell("def masked_softmax(scores, mask):\n    return scores\n", {})
    names["attention"] = packages_attention
    forward = "        masked_softmax(query, mask)\n        split ="
    run_cell(MULTI_HEAD.replace("        split =", forward), names)
    with pytest.raises(ValueError, match="with MultiHeadAttention in my_transformer"):
        save_part("MultiHeadAttention", names["MultiHeadAttention"])
    assert file.read_bytes() == before


def test_functions_in_another_order_are_told_by_their_names(file):
    names = run_cell(MASKS, {})
    with pytest.raises(ValueError, match="give key_mask, causal_mask, target_mask, in"):
        save_part("masks", names["causal_mask"], names["key_mask"])
    save_part("masks", *(names[x] for x in ("key_mask", "causal_mask", "target_mask")))
    assert file.exists()


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("    return F", "  return F", r"IndentationError.* line 22\)"),
        ("import math", "import nothing_such", "ModuleNotFoundError in line 8 of"),
        ("\n# %% attention", "\nx = = 1\n# %% attention", r"SyntaxError.* line 7\)"),
    ],
)
def test_a_broken_line_above_a_good_part_is_named(old, new, said, file):
    save_part("attention", written())
    names = run_cell(MASKS, {})
    masks = [names[x] for x in ("key_mask", "causal_mask", "target_mask")]
    edit(file, old, new)
    before = file.read_bytes()
    with pytest.raises(
        ValueError, match=rf"masks does not run: {said}.*mend that line"
    ):
        save_part("masks", *masks)
    assert file.read_bytes() == before
    if "=" not in new:
        save_part("attention", written())  # heals it
        save_part("masks", *masks)
        assert is_mine("masks")
