"""The file of solved parts: what is copied into it, kept, refused and used again."""

import os

import pytest
from notebook_cells import run_cell

from attnbook.course import my_part, save_part
from attnbook.course.kit.exercises import my_transformer
from attnbook.course.kit.exercises.my_transformer import FILE
from attnbook.course.kit.exercises.own_source import own_source
from attnbook.course.kit.exercises.parts import MODULES
from attnbook.nn import attention as packages_attention

IMPORTS = """\
import math
import torch
from torch.nn import functional as F
"""
HELPER = """\
LOWEST = -1e30

def masked_softmax(scores, mask):
    # The weights of one query sum to 1.
    if mask is None:
        return scores.softmax(-1)
    return scores.masked_fill(~mask, LOWEST).softmax(-1).masked_fill(~mask, 0.0)
"""
PART = """\
scores = torch.ones(3)

def attention(Q, K, V, mask=None, dropout=0.0):
    scores = Q @ K.mT / math.sqrt(Q.shape[-1])
    return F.dropout(masked_softmax(scores, mask), dropout) @ V

unused = attention(torch.ones(1, 2), torch.ones(3, 2), torch.ones(3, 1))
"""


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """An empty folder, as that of a notebook."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ATTNBOOK_PARTS", raising=False)
    return tmp_path


@pytest.fixture
def own():
    """The reader's attention, written in three cells."""
    names = {}
    for cell in (IMPORTS, HELPER, PART):
        run_cell(cell, names)
    return names["attention"]


def edited(old, new):
    """The reader's attention, with a change in one of its cells."""
    names = {}
    for cell in (IMPORTS, HELPER, PART):
        run_cell(cell.replace(old, new), names)
    return names["attention"]


def test_the_source_is_copied_with_its_imports_constants_and_helpers(own):
    source = own_source((own,))
    assert source.startswith(
        "import math\nfrom torch.nn import functional as F\nLOWEST = -1e+30\n\n\n"
        "def masked_softmax(scores, mask):\n    # The weights of one query sum to 1.\n"
    )
    assert source.endswith("F.dropout(masked_softmax(scores, mask), dropout) @ V\n")
    assert "unused" not in source
    assert "torch.ones" not in source
    names = run_cell(source, {})
    assert names["attention"].__name__ == "attention"


def test_the_latest_definition_is_copied():
    cell = "def f(x):\n    return 1\n\ndef f(x):\n    return 2\n"
    names = run_cell(cell, {})
    assert own_source((names["f"],)) == "def f(x):\n    return 2\n"
    run_cell("def f(x):\n    return 3", names)
    assert own_source((names["f"],)) == "def f(x):\n    return 3\n"


@pytest.mark.parametrize(
    ("before", "cell", "head"),
    [
        (
            "from torch import nn, Tensor\nimport torch",
            "class f(nn.Module):\n    size: int = 3\n\n"
            "    def forward(self, x: Tensor):\n"
            "        return torch.relu(x)\n",
            "import torch\nfrom torch import Tensor\nfrom torch import nn\n",
        ),
        (
            "from math import sqrt as root\nimport numpy as np",
            "def f(x):\n    return [root(np.abs(y)) for y in x]\n",
            "import numpy as np\nfrom math import sqrt as root\n",
        ),
        (
            "from attnbook.nn import attention",
            "def f(x):\n    return attention(x, x, x)\n",
            "from attnbook.nn import attention\n",
        ),
        (
            "import functools\nimport torch.nn.functional as F",
            "@functools.lru_cache\ndef f(x):\n    return F.relu(x)\n",
            "import functools\nfrom torch.nn import functional as F\n",
        ),
        (
            "from typing import NamedTuple\nclass State(NamedTuple):\n    s: int\n",
            "def f(x):\n    return State(x)\n",
            "from typing import NamedTuple\n",
        ),
        ("", "def f(x):\n    def g(y):\n        return x + y\n    return g(1)\n", ""),
        ("", "def f(x):\n    return undefined(x)\n", ""),
        (
            "LOWEST = -float('inf')\nHALF = 0.5\n",
            "def f(x):\n    return max(x, LOWEST, HALF)\n",
            'HALF = 0.5\nLOWEST = float("-inf")\n',
        ),
    ],
)
def test_what_a_definition_needs_comes_with_it(before, cell, head):
    names = run_cell(before, {})
    run_cell(cell, names)
    source = own_source((names["f"],))
    assert source.startswith(head)
    assert source.endswith(cell)
    run_cell(source, {})


def test_a_class_without_functions_is_found_among_the_cells():
    names = run_cell("from typing import NamedTuple\n", {})
    run_cell("class State(NamedTuple):\n    s: int\n", names)
    with pytest.raises(SyntaxError):  # a cell that failed is no hindrance
        run_cell("def f(x:", names)
    run_cell("def f(x):\n    return State(x)\n", names)
    assert "class State(NamedTuple):\n    s: int\n\n\ndef f(x)" in own_source(
        (names["f"],)
    )


def test_a_tensor_of_the_notebook_cannot_be_copied():
    names = run_cell(
        "import torch\ntable = torch.ones(3)\ndef f(x):\n    return table", {}
    )
    with pytest.raises(
        ValueError, match="your code uses `table`, an object of type Ten"
    ):
        own_source((names["f"],))


def test_what_passes_is_saved_and_used_later(own, capsys, folder):
    save_part("attention", own)
    assert capsys.readouterr().out == "Saved attention in my_transformer.py.\n"
    text = (folder / FILE).read_text(encoding="utf-8")
    assert text.startswith('"""My Transformer: what I wrote')
    assert "\n# %% attention (chapter 4)\nimport math\n" in text
    assert text.endswith("@ V\n# %% end of attention\n")
    found = my_part("attention")
    assert capsys.readouterr().out == "attention: yours, from my_transformer.py.\n"
    assert found is not packages_attention
    assert found.__module__ == "my_transformer"
    assert [path.name for path in folder.iterdir()] == [FILE]


def test_what_is_saved_twice_is_not_written_again(own, capsys, folder):
    save_part("attention", own)
    before = (folder / FILE).stat().st_mtime_ns
    save_part("attention", own)
    assert "is in my_transformer.py already" in capsys.readouterr().out
    assert (folder / FILE).stat().st_mtime_ns == before
    save_part("attention", my_part("attention"))
    assert "is in my_transformer.py already" in capsys.readouterr().out


def test_an_earlier_version_is_kept_and_all_else_stays(own, capsys, folder):
    save_part("attention", own)
    path = folder / FILE
    path.write_text(
        path.read_text(encoding="utf-8").replace("sum to 1.", "sum to 1, always.")
        + "\nNOTES = 'mine'\n# %% a cell of my own\n",
        encoding="utf-8",
    )
    by_hand = path.read_text(encoding="utf-8")
    for number, name in enumerate(
        ("my_transformer_before_1.py", "my_transformer_before_2.py")
    ):
        save_part("attention", edited("-1e30", f"-1e3{number + 1}"))
        assert f"The file as it was is kept as {name}." in capsys.readouterr().out
    assert (folder / "my_transformer_before_1.py").read_text(
        encoding="utf-8"
    ) == by_hand
    new = path.read_text(encoding="utf-8")
    assert new.endswith("\nNOTES = 'mine'\n# %% a cell of my own\n")
    assert "always" not in new
    assert new.count("# %% attention") == 1


def test_a_file_that_the_reader_had_before_is_kept(own, folder):
    (folder / FILE).write_text("x = 1", encoding="utf-8")
    save_part("attention", own)
    text = (folder / FILE).read_text(encoding="utf-8")
    assert text.startswith("x = 1\n\n# %% attention (chapter 4)\n")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("softmax(-1)", "softmax(-2)", "Not saved.\nattention: 1 of 7 stages passed."),
        ("return", "return ... if 1 else", "Not saved.\nattention: 0 of 7 stages"),
    ],
)
def test_what_does_not_pass_is_not_saved(old, new, said, capsys, folder):
    save_part("attention", edited(old, new))
    assert capsys.readouterr().out.startswith(said)
    assert not list(folder.iterdir())


def test_a_skeleton_is_not_saved(capsys, folder):
    names = run_cell("def attention(Q, K, V, mask=None, dropout=0.0):\n    ...\n", {})
    save_part("attention", names["attention"])
    assert capsys.readouterr().out == "Not saved.\nattention: your turn.\n"
    assert not list(folder.iterdir())


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text.replace("# %% end of attention\n", ""),
        lambda text: text + text,
        lambda text: text.replace("# %% attention (chapter 4)\n", ""),
    ],
)
def test_a_damaged_file_is_refused_and_stays(own, damage, capsys, folder):
    save_part("attention", own)
    path = folder / FILE
    path.write_text(damage(path.read_text(encoding="utf-8")), encoding="utf-8")
    before = path.read_bytes()
    with pytest.raises(
        ValueError, match=r"my_transformer\.py is damaged: each part must"
    ):
        save_part("attention", edited("-1e30", "-1e31"))
    assert path.read_bytes() == before
    assert my_part("attention") is packages_attention
    assert "the package's. my_transformer.py is damaged" in capsys.readouterr().out


def test_a_file_that_is_no_text_is_refused(own, folder):
    (folder / FILE).write_bytes(b"\xff\xfe\xff")
    with pytest.raises(ValueError, match="is not text in UTF-8"):
        save_part("attention", own)


def test_nothing_saved_means_the_packages(capsys, own, folder):
    assert my_part("attention") is packages_attention
    said = "attention: the package's. Yours is used once you have saved it.\n"
    assert capsys.readouterr().out == said
    (folder / FILE).write_text("x = 1\n", encoding="utf-8")
    assert my_part("attention") is packages_attention
    assert capsys.readouterr().out == said


def test_stored_outputs_use_the_packages(capsys, own, monkeypatch):
    """What the runner sets, as a reader of the course's own folder may have a file."""
    save_part("attention", own)
    capsys.readouterr()
    monkeypatch.setitem(os.environ, "ATTNBOOK_PARTS", "package")
    assert my_part("attention") is packages_attention
    assert capsys.readouterr().out == (
        "attention: the package's. Yours is used once you have saved it.\n"
    )


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("softmax(-1)", "softmax(-2)", "fails in the stage 'values'."),
        (
            "import math",
            "import nothing_such",
            "does not run: ModuleNotFoundError in li",
        ),
        ("    return F", "  return F", "does not run: IndentationError"),
    ],
)
def test_a_saved_part_that_no_longer_passes_is_not_used(
    old, new, said, own, capsys, folder
):
    save_part("attention", own)
    capsys.readouterr()
    path = folder / FILE
    path.write_text(path.read_text().replace(old, new), encoding="utf-8")
    assert my_part("attention") is packages_attention
    out = capsys.readouterr().out
    assert f"attention: the package's. Yours, in my_transformer.py, {said}" in out
    assert out.count("\n") == 1


def test_what_works_in_the_notebook_alone_is_not_saved(own, monkeypatch, folder):
    """Such as a helper whose name the file gives another meaning."""
    copied = own_source((own,)).replace("softmax(-1)", "softmax(-2)")
    monkeypatch.setattr(my_transformer, "own_source", lambda *args: copied)
    with pytest.raises(
        ValueError, match=r"attention fails in the stage 'values'\. Nothing"
    ):
        save_part("attention", own)
    assert not list(folder.iterdir())


def test_parts_stand_in_the_order_of_the_course(monkeypatch):
    monkeypatch.setattr(my_transformer, "MODULES", {"first": "", "attention": ""})
    part = my_transformer.find_part("attention")
    text = my_transformer._with_section("# mine\n", part, "a = 1\n")
    first = type(part)("first", 3, ("first",), (len,), ())
    both = my_transformer._with_section(text, first, "b = 2\n")
    assert both == (
        "# mine\n\n\n# %% first (chapter 3)\nb = 2\n# %% end of first\n\n"
        "# %% attention (chapter 4)\na = 1\n# %% end of attention\n"
    )
    assert MODULES


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


@pytest.mark.parametrize("attention_first", [True, False])
def test_a_part_uses_the_saved_part_that_it_is_made_of(own, attention_first, folder):
    """Whichever of the two is saved first: the file imports it only if it must."""
    if attention_first:
        save_part("attention", own)
    names = run_cell("attention = my_part('attention')", {"my_part": my_part})
    run_cell(MULTI_HEAD, names)
    save_part("MultiHeadAttention", names["MultiHeadAttention"])
    save_part("attention", own)
    text = (folder / FILE).read_text(encoding="utf-8")
    assert ("from attnbook.nn import attention" in text) != attention_first
    assert text.index("# %% attention") < text.index("# %% MultiHeadAttention")
    found = my_part("MultiHeadAttention")
    assert found.__module__ == "my_transformer"
    used = found.forward.__globals__["attention"]
    assert (used.__module__ == "my_transformer") == attention_first
    assert my_part("attention").__module__ == "my_transformer"


def test_parts_that_do_not_fit_together_are_refused(own, folder):
    """The second part's helper has the name of the first one's, and does less."""
    save_part("attention", own)
    before = (folder / FILE).read_bytes()
    names = run_cell("def masked_softmax(scores, mask):\n    return scores\n", {})
    names["attention"] = packages_attention
    forward = "        masked_softmax(query, mask)\n        split ="
    run_cell(MULTI_HEAD.replace("        split =", forward), names)
    with pytest.raises(ValueError, match="with MultiHeadAttention in my_transformer"):
        save_part("MultiHeadAttention", names["MultiHeadAttention"])
    assert (folder / FILE).read_bytes() == before
