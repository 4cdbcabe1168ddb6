"""Parts written, judged, saved and used in real kernels, as by a reader."""

import os

import nbformat
import pytest
from nbclient import NotebookClient

WRITES = [
    "import math\nfrom torch import nn\nfrom attnbook.course import judge, save_part",
    "def weigh(scores, mask):\n"
    "    if mask is None:\n        return scores.softmax(-1)\n"
    "    scores = scores.masked_fill(~mask, -1e30)\n"
    "    return scores.softmax(-1).masked_fill(~mask, 0.0)",
    "def attention(Q, K, V, mask=None, dropout=0.0):\n"
    "    scores = Q @ K / math.sqrt(Q.shape[-1])\n"
    '    return weigh(scores, mask) @ V\n\njudge("attention", attention)',
    "def attention(Q, K, V, mask=None, dropout=0.0):\n"
    "    scores = Q @ K.mT / math.sqrt(Q.shape[-1])\n"
    "    return nn.functional.dropout(weigh(scores, mask), dropout) @ V\n\n"
    'judge("attention", attention)',
    'save_part("attention", attention)',
    "from attnbook.nn import FeedForward as Ours\n\nclass FeedForward(Ours): pass",
    'save_part("FeedForward", FeedForward)',
]
USES = [
    'from attnbook.course import my_part\nattention = my_part("attention")',
    'print(attention.__module__)\nMultiHeadAttention = my_part("MultiHeadAttention")',
]


@pytest.fixture
def printed(tmp_path):
    """A function that runs cells in a fresh kernel, and returns what each prints."""

    def run(cells):
        notebook = nbformat.v4.new_notebook(
            cells=[nbformat.v4.new_code_cell(cell) for cell in cells]
        )
        client = NotebookClient(
            notebook,
            timeout=1800,
            startup_timeout=600,
            kernel_name="python3",
            resources={"metadata": {"path": str(tmp_path)}},
        )
        env = {k: v for k, v in os.environ.items() if k != "ATTNBOOK_PARTS"}
        client.execute(env=env)
        texts = [[output.text for output in cell.outputs] for cell in notebook.cells]
        return ["".join(text) for text in texts]

    return run


def test_a_part_is_written_in_one_notebook_and_used_in_the_next(printed, tmp_path):
    *_, failed, passed, saved, _, also_saved = printed(WRITES)
    assert "RuntimeError in line 2 of your cell, `scores = Q @ K /" in failed
    assert "Traceback" not in failed
    assert passed.startswith("attention: all 8 stages passed.")
    assert saved == "Saved attention in my_transformer.py.\n"
    assert also_saved.startswith("Saved FeedForward in my_transformer.py.")
    text = (tmp_path / "my_transformer.py").read_text(encoding="utf-8")
    assert "\nimport math\nfrom torch import nn\n\n\ndef weigh(scores, mask):" in text
    own, others = printed(USES)
    assert own == "attention: yours, from my_transformer.py.\n"
    assert others == (
        "my_transformer\n"
        "MultiHeadAttention: the package's. Yours is used once you have saved it.\n"
    )
