"""Whatever a model has learned, its texts hold words, and ``<eos>`` at most."""

from pathlib import Path

import pytest
import torch
from compare import Chain, make_transformer
from node import told_by_node
from notebook_cells import printed

from attnbook.core.vocabulary import BOS, EOS, PAD, SPECIAL_TOKENS, UNK
from attnbook.course.a2.characters import CHARACTERS
from attnbook.course.ch02.clicks import write_by_clicks
from attnbook.course.kit.playground.model import Model
from attnbook.course.kit.playground.setting import Setting
from attnbook.models.bahdanau import Bahdanau
from attnbook.models.seq2seq import InitialState
from attnbook.nn.masks import key_mask
from attnbook.toy.data import SOURCE, TARGET

LIVE = Path(__file__).resolve().parents[4] / "book" / "_static" / "live"
NEVER = [PAD, BOS, UNK]
WORDS = ["the", "old", "farmer", "sees", "a", "bird"]
LOGITS = pytest.mark.parametrize("special", [0.0, 9.0, 500.0])
"""Logits of ``PAD`` and ``BOS``, and twice that of ``UNK``; all others have 0."""


def row(size, special):
    return torch.tensor([special, special, 0.0, 2 * special, *[0.0] * (size - 4)])


class Everywhere(torch.nn.Module):
    """The same logits for every token that it reads, in a tensor that is shared."""

    def __init__(self, size, special):
        super().__init__()
        self.row = row(size, special)

    def forward(self, ids, mask=None):
        return self.row.expand(*ids.shape, -1)


def indifferent(model, special):
    """A model whose last layer ignores what it gets."""
    layers = [m for m in model.modules() if isinstance(m, torch.nn.Linear)]
    last = next(m for m in layers if m.out_features == len(TARGET))
    torch.nn.init.zeros_(last.weight)
    last.bias = torch.nn.Parameter(row(len(TARGET), special))
    return model.eval()


# The package


class Outputs(torch.nn.Module):
    def __init__(self, special):
        super().__init__()
        self.row = row(len(TARGET), special)

    def forward(self, y):
        return self.row.repeat(*y.shape[:-1], 1)


def listened(monkeypatch):
    """All ids that are drawn from now on."""
    draw, drawn = torch.Tensor.multinomial, []

    def listen(p, *args, **kwargs):
        drawn.append(draw(p, *args, **kwargs).flatten())
        return drawn[-1].view(len(p), -1) if p.dim() > 1 else drawn[-1]

    monkeypatch.setattr(torch.Tensor, "multinomial", listen)
    return drawn


@LOGITS
def test_the_playground(special):
    model = Model(Setting(task="next_word"))
    torch.nn.init.zeros_(model.out.weight)
    model.out.bias.data[0] = special
    rows = model.generate(64, "x")
    assert all(line[0] == 0 and 0 not in line[1:] for line in rows)
    assert {word for line in rows for word in line} == set(range(model.n_symbols))


# What the pages print


@LOGITS
def test_pages(special, monkeypatch):
    drawn, g = listened(monkeypatch), torch.Generator().manual_seed(0)
    gaps = Everywhere(len(SOURCE) + 1, special)
    generate = printed("a1", "generate")
    generate.__wrapped__.__globals__["MASK"] = len(SOURCE)
    generate(gaps, 20, g)
    model = Everywhere(len(SOURCE), special)
    printed("ch06", "write")(model, key_mask)
    assert set(torch.cat(drawn).tolist()) == {EOS, *range(4, len(SOURCE))}


@LOGITS
def test_the_page_that_writes_characters(special):
    logits = torch.zeros(len(CHARACTERS))
    logits[: len(SPECIAL_TOKENS)] = special
    model = Everywhere(len(CHARACTERS), special)
    model.row = logits
    text = printed("a2", "write")(model)
    assert len(text) > 50
    assert {*text} <= {*CHARACTERS.words[4:]}


@LOGITS
def test_pages_that_translate(special):
    torch.manual_seed(0)
    src = torch.tensor([[*SOURCE.encode(WORDS), EOS]])
    model = indifferent(InitialState(len(SOURCE), len(TARGET), 4, 6), special)
    assert not {*printed("ch01", "greedy")(model, src)} & {*SPECIAL_TOKENS}
    attentive = indifferent(Bahdanau(len(SOURCE), len(TARGET), 4, 6), special)
    for write in (write_by_clicks, printed("ch02", "write_by_clicks")):
        written = write(attentive, WORDS, [2, 1, 0, 5, 4, 3])
        assert not {*written} & {*SPECIAL_TOKENS}
    chain = Chain([row(9, special).tolist()] * 9)
    decode = printed("ch10", "decode")
    chain.start = lambda src: 0
    assert not {*NEVER} & {*decode(chain, src)}
    small = make_transformer(9, d_model=8, n_heads=2, n_layers=1, d_ff=8).eval()
    small.out = Outputs(special)
    ids = printed("ch10", "greedy", solution=True)(small, src % 9, 6)
    assert not {*NEVER} & {*ids.flatten().tolist()}


# The browser


def in_node(code, *files, then=""):
    """The value of an expression, after these scripts."""
    texts = [(LIVE / file).read_text(encoding="utf-8") for file in files]
    script = "\n".join([*texts, then, f"console.log(JSON.stringify({code}));"])
    return told_by_node("-", given=script)


@LOGITS
def test_live_models(special):
    state = f"{{step: () => {row(9, special).tolist()}}}"
    code = f"live.atOnce(live.generate({state}, live.likeliest, 9)).tokens"
    assert set(in_node(code, "numbers.js")) == {EOS}  # of equals the first
    never = "{step: () => %s, fork() { return this; }}"
    state = never % row(9, special).tolist()
    files = "numbers.js", "translator/search.js"
    options = "{temperature: 3}, live.randomNumbers(1)"
    texts = [
        *in_node(
            f"Array.from({{length: 99}}, () => live.atOnce(live.generate({state}, "
            f"live.sampler({options}), 9, {{read: live.logProbs}})).tokens).flat()",
            *files,
        ),
        *in_node(
            f"live.atOnce(live.beam({state}, {{width: 3, longest: 5}})).tree.flat()"
            ".flatMap(({tokens}) => tokens)",
            *files,
        ),
    ]
    assert set(texts) == {EOS, 4, 5, 6, 7, 8}
