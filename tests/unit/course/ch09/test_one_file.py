"""Chapter 9's listing: it runs alone, and is the package's model."""

import random
from pathlib import Path

import torch
from compare import make_transformer

from attnbook.course.ch09 import transformer
from attnbook.course.ch09.one_file import with_weights_of
from attnbook.toy import language

FILE = Path(transformer.__file__)


def test_the_listing_runs_with_torch_alone(capsys):
    text = FILE.read_text("utf-8")
    assert text.count("steps=500") == text.count("clauses, 200)") == 1
    fast = text.replace("steps=500", "steps=2").replace("clauses, 200)", "clauses, 8)")
    exec(compile(fast, FILE, "exec"), {"__name__": "__main__"})
    first, *clauses, last = capsys.readouterr().out.splitlines()
    assert first.startswith("step 0: loss ")
    assert [line[:9] for line in clauses] == [f"clauses {n}" for n in (1, 2, 3, 4)]
    assert last.startswith("the old farmer sees a bird →")
    modules = {line.split()[1] for line in text.splitlines() if "import " in line}
    assert modules == {"math", "random", "torch"}


def test_the_listing_computes_what_the_package_computes():
    torch.manual_seed(0)
    sizes = {"d_model": 16, "n_heads": 4, "n_layers": 3, "d_ff": 24}
    model = make_transformer(11, 13, **sizes, norm_first=True).double()
    ours, parameters = with_weights_of(model), [*model.parameters()]
    assert len({*map(id, ours.parameters())} ^ {*map(id, parameters)}) == 0
    src, tgt_in = torch.randint(3, 11, (2, 7)), torch.randint(3, 13, (2, 5))
    src[1, 4:] = transformer.PAD
    logits = [model.eval()(src, tgt_in), ours.eval()(src, tgt_in)]
    torch.testing.assert_close(*logits, rtol=0, atol=1e-12)
    one, two = (
        torch.autograd.grad(found.square().sum(), parameters) for found in logits
    )
    torch.testing.assert_close(one, two, rtol=1e-10, atol=1e-10)


def test_the_listing_speaks_the_toy_language():
    rng = random.Random(0)
    for clauses in (1, 3):
        src, tgt = transformer.batch(rng, clauses, size=50)
        for source, target in zip(src.tolist(), tgt.tolist(), strict=True):
            words = [transformer.SOURCE[i] for i in source if i > transformer.EOS]
            pair = language.translate_by_rule(words)
            assert pair.clauses == clauses
            found = [transformer.TARGET[i] for i in target if i > transformer.EOS]
            assert found == [*pair.target]
    assert {*transformer.SOURCE[3:]} == {*language.SOURCE_WORDS}
    assert {*transformer.TARGET[3:]} == {*language.TARGET_WORDS}


def test_a_finished_sentence_is_followed_by_padding():
    class Parrot:
        """Writes the source: its logits are largest at the next source word."""

        def encode(self, src):
            return src

        def decode(self, tgt_in, memory, src):
            words = memory[:, : tgt_in.shape[1]]
            return torch.nn.functional.one_hot(words, 20).float()

    src = transformer.tensor([["and"], ["and", "the", "an"]], transformer.SOURCE)
    assert torch.equal(transformer.greedy(Parrot(), src), src)
