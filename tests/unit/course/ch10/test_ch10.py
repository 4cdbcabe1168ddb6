"""Drawings and exercises of chapter 10."""

import pytest
import torch
from compare import make_transformer
from notebook_cells import printed

from attnbook.core.vocabulary import EOS
from attnbook.course.ch10 import drawings
from attnbook.course.kit.exercises.short_exercises import find
from attnbook.course.kit.explorers.shipped import shipped_translator
from attnbook.decoding.beam import beam_search
from attnbook.decoding.greedy_search import greedy
from attnbook.decoding.sampling import token_probabilities
from attnbook.decoding.scoring import log_probability

pytestmark = pytest.mark.usefixtures("as_in_the_pages")


# The tree of a beam of two


def source():
    subwords = shipped_translator().subwords
    return torch.tensor([[*subwords.encode("People are waiting at the station."), EOS]])


def in_words(*words):
    """A prefix of the drawing as text, which begins where the drawing begins."""
    return " ".join([drawings.FIRST, *words]).replace(" .", ".")


def log_p(text):
    """Log-probability of a prefix, or of a translation if it ends with a full stop."""
    ids = shipped_translator().subwords.encode(text) + [EOS] * text.endswith(".")
    return log_probability(shipped_translator().model, source(), torch.tensor([ids]))


@torch.no_grad()
def test_the_tree_has_the_probabilities_of_the_translator():
    for words, found in (
        (drawings.FIRST, drawings.FIRST_LOG_P),
        (drawings.SECOND, drawings.SECOND_LOG_P),
    ):
        assert log_p(words).item() == pytest.approx(found, abs=1e-4)
    word, p = drawings.SECOND_NEXT
    step = log_p(f"{drawings.SECOND} {word}") - log_p(drawings.SECOND)
    assert step.exp().item() == pytest.approx(p, abs=1e-4)
    for words, found in drawings.TREE.items():
        for word, p in found.items():
            step = log_p(in_words(*words, word)) - log_p(in_words(*words))
            assert step.exp().item() == pytest.approx(p, abs=1e-4)


@pytest.mark.parametrize("width", [1, 2])
def test_the_tree_is_what_greedy_decoding_and_a_beam_find(width):
    translator, best = shipped_translator(), drawings.hypotheses(3, width)[0]
    found = beam_search(translator.model, source(), 20, width, alpha=0.0)
    assert translator.subwords.decode(found.ids[0, 0].tolist()) == in_words(*best)
    wanted = pytest.approx(drawings.log_p(best), abs=1e-3)
    assert found.scores[0, 0].item() == wanted


# Exercises


def test_the_fixed_loop_generates_what_greedy_generates():
    exercise = find("ex10_last_position")
    for model, src, length in exercise.inputs():
        output = greedy(model, src, length)
        found = exercise.reference(model, src, length)
        ended = (output == 2).cumsum(1) - (output == 2).long()  # after EOS it goes on
        assert torch.equal(found[:, : output.shape[1]][ended == 0], output[ended == 0])
        assert len({tuple(row.tolist()) for row in found}) == len(src)


def test_each_sentence_keeps_the_best_of_its_own_table():
    exercise = find("ex10_beam_step")
    for log_p, steps in exercise.inputs():
        parents, tokens = exercise.reference(log_p, steps)
        for b, (parent, token) in enumerate(zip(parents, tokens, strict=True)):
            every = sorted(
                (log_p[b, i].item() + steps[b, i, j].item() for i, j in _cells(steps)),
                reverse=True,
            )
            found = (log_p[b, parent] + steps[b, parent, token]).tolist()
            assert found == pytest.approx(every[: len(parent)])
            best = torch.tensor(every[: len(parent) + 1])
            assert best.diff().abs().min() > 1e-3, "a near-tie has two right answers"


def _cells(steps):
    """Every hypothesis with every token."""
    _, w, v = steps.shape
    return [(i, j) for i in range(w) for j in range(v)]


# The page's own code, at its edges


def untrained(vocabulary):
    torch.manual_seed(0)
    model = make_transformer(9, vocabulary, d_model=8, n_heads=2, n_layers=1, d_ff=8)
    return model.eval()


@pytest.mark.parametrize("vocabulary", [4, 5, 43])
@pytest.mark.parametrize("width", [1, 2, 22, 43, 100])
def test_a_beam_wider_than_the_vocabulary(vocabulary, width):
    model, src = untrained(vocabulary), torch.tensor([[4, 5, EOS]])
    found = printed("ch10", "beam_search")(model, src, width)
    assert len(found) <= width
    assert found or 2 * width < vocabulary  # a narrow beam need not find an end
    for _, log_p, ids in found:
        assert log_p > -torch.inf
        assert ids.index(EOS) == len(ids) - 1
        assert min(ids) >= EOS
        again = log_probability(model, src, torch.tensor([ids])).item()
        assert log_p == pytest.approx(again, abs=1e-4)
    if found and 2 * width < vocabulary:
        wanted = beam_search(model, src, src.shape[1] + 50, width, alpha=0.0)
        assert found[0][0] == pytest.approx(wanted.scores[0, 0].item(), abs=1e-4)


SHARES = torch.tensor([[0.1, 0.6, 0.0, 0.3], [0.25, 0.25, 0.25, 0.25]])


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64])
@pytest.mark.parametrize(
    "options",
    [{}, {"temperature": 1e-38}, {"temperature": 0.1}, {"temperature": 1e9}]
    + [{"top_k": k} for k in (1, 3, 4, 5, 100)]
    + [{"top_p": p} for p in (1e-4, 0.5, 0.95, 1.0)]
    + [{"temperature": 2.0, "top_k": 3, "top_p": 0.7}],
)
def test_probabilities_of_the_page_are_the_packages(options, dtype):
    logits = SHARES.log().to(dtype)[:1]
    found = printed("ch10", "token_probabilities")(logits, **options)
    wanted = token_probabilities(SHARES.log()[:1].double(), **options)
    assert found.dtype == dtype
    assert torch.allclose(found.double(), wanted, atol=2e-3)


@pytest.mark.parametrize("top_k", [1, 2, 4])
def test_ties_are_cut_to_k(top_k):
    p = printed("ch10", "token_probabilities")(SHARES[1:].log(), top_k=top_k)
    assert p.count_nonzero() == top_k
    assert p.sum().item() == pytest.approx(1)
