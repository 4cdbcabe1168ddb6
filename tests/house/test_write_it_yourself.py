"""Parts written, judged and saved in a real kernel, as by a reader."""

import os

import nbformat
from nbclient import NotebookClient

from attnbook.course import my_part

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


def printed(cells, folder):
    """What each of some cells prints, run in a kernel."""
    notebook = nbformat.v4.new_notebook(cells=[*map(nbformat.v4.new_code_cell, cells)])
    client = NotebookClient(
        notebook,
        timeout=1800,
        startup_timeout=600,
        kernel_name="python3",
        resources={"metadata": {"path": str(folder)}},
    )
    client.execute(env={k: v for k, v in os.environ.items() if k != "ATTNBOOK_PARTS"})
    texts = [[output.text for output in cell.outputs] for cell in notebook.cells]
    return ["".join(text) for text in texts]


def test_a_part_is_written_in_a_notebook_and_used_elsewhere(tmp_path, monkeypatch):
    *_, failed, passed, saved, _, also_saved = printed(WRITES, tmp_path)
    assert "RuntimeError in line 2 of your cell, `scores = Q @ K /" in failed
    assert "Traceback" not in failed
    assert passed.startswith("attention: all 8 stages passed.")
    assert saved == "Saved attention in my_transformer.py.\n"
    assert also_saved.startswith("Saved FeedForward in my_transformer.py.")
    text = (tmp_path / "my_transformer.py").read_text(encoding="utf-8")
    assert "\nimport math\nfrom torch import nn\n\n\ndef weigh(scores, mask):" in text
    monkeypatch.delenv("ATTNBOOK_PARTS")
    monkeypatch.chdir(tmp_path)
    assert my_part("attention").__module__ == "my_transformer"
