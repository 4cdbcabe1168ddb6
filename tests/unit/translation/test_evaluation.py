"""Scores and their signatures; comparisons; translation in batches."""

import random

import pytest
import sacrebleu
import torch
from sacrebleu.metrics import CHRF
from torch import nn

from attnbook.core.vocabulary import BOS, EOS, PAD
from attnbook.data.subwords import Subwords
from attnbook.decoding.beam import beam_search
from attnbook.decoding.greedy_search import greedy
from attnbook.translation import evaluation
from attnbook.translation.bleu_score import (
    corpus_bleu,
    corpus_scores,
    paired_bootstrap,
)
from attnbook.translation.evaluation import (
    beam_translate,
    bleu_by_alpha,
    max_output_len,
    runaway_share,
)
from attnbook.translation.translator import Translator

WORDS = [*"abcdefgh", "man", "hat", "grass", "dog"]


def corpus(seed, changes, number=30, drop=0):
    """References, and translations in which some words are others."""
    rng = random.Random(seed)
    references = [rng.choices(WORDS, k=rng.randint(8, 14)) for _ in range(number)]
    output = [list(words) for words in references]
    for words in output:
        for _ in range(changes):
            words[rng.randrange(len(words))] = rng.choice(WORDS)
        del words[len(words) - drop :]
    return [" ".join(words) for words in output], [
        " ".join(words) for words in references
    ]


@pytest.mark.parametrize("lowercase", [False, True])
def test_both_scores_stand_with_their_signatures(lowercase):
    both = corpus(0, 1, drop=2)
    scores = corpus_scores(*both, lowercase)
    assert (scores.bleu, scores.signature) == corpus_bleu(*both, lowercase)
    chrf = CHRF(lowercase=lowercase).corpus_score(both[0], [both[1]])
    assert scores.chrf == chrf.score
    case = "lc" if lowercase else "mixed"
    assert scores.signature == (
        f"nrefs:1|case:{case}|eff:no|tok:13a|smooth:exp|version:{sacrebleu.__version__}"
    )
    assert scores.chrf_signature == (
        f"nrefs:1|case:{case}|eff:yes|nc:6|nw:0|space:no|"
        f"version:{sacrebleu.__version__}"
    )
    words = [sum(len(line.split()) for line in side) for side in both]
    assert scores.length_ratio == words[0] / words[1]


def test_runaway_outputs_have_twice_the_words_of_their_reference():
    references = ["a b c", "a b", "a", "a b c d"]
    outputs = ["a b c d e f g", "a b c d", "a a a", ""]
    assert runaway_share(outputs, references) == 0.5


def test_a_share_of_no_outputs_is_refused():
    with pytest.raises(ValueError, match="no output, so there is no mean; give"):
        runaway_share([], [])
    assert runaway_share(["a"], [""]) == 1
    assert runaway_share([""], [""]) == 0


@pytest.mark.parametrize("score", [corpus_bleu, corpus_scores])
@pytest.mark.parametrize("references", [[""], [" ", ""], ["<skipped>"]])
def test_references_without_a_word_are_refused(score, references):
    """sacreBLEU leaves out "<skipped>"; the ratio of lengths would be one over none."""
    for text in ("a dog", ""):
        with pytest.raises(ValueError, match="no reference has a word; give one"):
            score([text] * len(references), references)
    assert score(["", ""], ["", "a dog"]).bleu == 0
    assert corpus_scores(["", "a dog"], ["", "a dog"]).length_ratio == 1


@pytest.mark.parametrize("sides", [(["a"], []), ([], []), (["a"], ["a", "b"])])
def test_as_many_references_as_translations(sides):
    numbers = f"{len(sides[0])} hypotheses and {len(sides[1])} references"
    with pytest.raises(ValueError, match=numbers):
        corpus_bleu(*sides)
    with pytest.raises(ValueError, match="give one reference for each"):
        paired_bootstrap(sides[0], sides[1] or ["a"], sides[1])


def test_a_clearly_better_system_is_told_from_chance():
    good, references = corpus(0, 1, number=100)
    bad, _ = corpus(0, 6, number=100)
    found = paired_bootstrap(good, bad, references, n_samples=300)
    assert found.bleu == pytest.approx(corpus_bleu(good, references).bleu)
    assert found.other == pytest.approx(corpus_bleu(bad, references).bleu)
    assert found.p_value < 0.02
    back = paired_bootstrap(bad, good, references, n_samples=300)
    assert (back.bleu, back.other) == (found.other, found.bleu)
    assert back.p_value < 0.02


def test_what_chance_may_have_done_is_not():
    """The same system twice; and one that is better in a single sentence."""
    output, references = corpus(0, 3, number=100)
    assert paired_bootstrap(output, output, references, n_samples=300).p_value > 0.9
    other = [references[0].rsplit(" ", 1)[0], *output[1:]]
    assert paired_bootstrap(other, output, references, n_samples=300).p_value > 0.05


SUBWORDS = Subwords.train(["aaba abba", "baab bbb"] * 4, 8)
SENTENCES = ["ab", "aaba abba bb", "b", "abba", "bbbb aa b ab", "ab", "aa bb"]


class Teller(nn.Module):
    """Says words that depend on all of the source, and ends after twice its length."""

    def __init__(self):
        super().__init__()
        g = torch.Generator().manual_seed(0)
        self.table = nn.Parameter(3 * torch.randn(97, len(SUBWORDS), generator=g))

    def start(self, src):
        positions = torch.arange(1, src.shape[1] + 1)
        return (src * positions).sum(1), (src != PAD).sum(1), 0

    def step(self, token, state):
        read, length, step = state
        logits = self.table[(7 * read + 5 * token + step) % 97].clone()  # (B, V)
        logits[:, EOS] += torch.where(step >= 2 * length, 50.0, -3.0)
        logits[:, [PAD, BOS]] = -50.0
        return logits, (read, length, step + 1)


def one_by_one(model, width, alpha):
    """Each sentence alone, by the decoders themselves."""
    found = []
    for sentence in SENTENCES:
        src = torch.tensor([[*SUBWORDS.encode(sentence), EOS]])
        max_len = src.shape[1] + 50
        if width == 1:
            ids = greedy(model, src, max_len)[0]
        else:
            ids = beam_search(model, src, max_len, width, alpha).ids[0, 0]
        found.append(SUBWORDS.decode(ids.tolist()))
    return found


@pytest.mark.parametrize(("width", "alpha"), [(1, 1.0), (3, 0.0), (3, 2.0)])
@pytest.mark.parametrize("batch_tokens", [1, 30, 4096])
def test_batches_give_what_one_by_one_gives(width, alpha, batch_tokens):
    """In the caller's order, whatever goes together."""
    model = Teller()
    found = beam_translate(model, SUBWORDS, SENTENCES, width, alpha, batch_tokens)
    assert found == one_by_one(model, width, alpha)
    assert len(set(found)) == len(set(SENTENCES))


@pytest.mark.parametrize("width", [1, 5])
def test_a_score_is_the_log_probability_per_token(width):
    """Step by step, and each sentence alone."""
    translator = Translator()
    model, subwords = translator.model, translator.subwords
    texts = [
        "A dog.",
        "I love you.",
        "A man in a red hat is reading a book in the park.",
    ]
    scored = beam_translate(model, subwords, texts, width, 0.6, scored=True)
    for text, (translation, log_prob) in zip(texts, scored, strict=True):
        src = torch.tensor([[*subwords.encode(text), EOS]])
        limit = max_output_len(src.shape[1])
        by_beam = beam_search(model, src, limit, width, 0.6).ids[0, 0]
        ids = (greedy(model, src, limit)[0] if width == 1 else by_beam).tolist()
        ids = ids[: ids.index(EOS) + 1]
        state, total = model.start(src), 0.0
        for before, token in zip([BOS, *ids[:-1]], ids, strict=True):
            logits, state = model.step(torch.tensor([before]), state)
            total += logits.log_softmax(-1)[0, token].item()
        assert translation == subwords.decode(ids)
        assert log_prob == pytest.approx(total / len(ids), abs=1e-4)


def test_a_batch_holds_as_many_positions_as_allowed(monkeypatch):
    """Pads and all beginnings of the beam included; a long sentence is alone."""
    sizes = []

    def spy(model, src, *rest):
        sizes.append(tuple(src.shape))
        return beam_search(model, src, *rest)

    monkeypatch.setattr(evaluation, "beam_search", spy)
    beam_translate(Teller(), SUBWORDS, SENTENCES, width=3, batch_tokens=60)
    assert sum(b for b, _ in sizes) == len(SENTENCES)
    assert all(b == 1 or 3 * b * s <= 60 for b, s in sizes)
    assert len(sizes) < len(SENTENCES)


class Endless(Teller):
    """Never ends by itself, so that every output has its maximum length."""

    def step(self, token, state):
        logits, state = super().step(token, state)
        logits[:, EOS] = -50.0
        return logits, state


@pytest.mark.parametrize(("width", "alpha"), [(1, 1.0), (3, 0.0), (3, 2.0)])
def test_each_sentence_may_be_fifty_words_longer_than_itself(width, alpha):
    """And not than the longest that happens to be next to it."""
    found = beam_translate(Endless(), SUBWORDS, SENTENCES, width, alpha)
    assert found == one_by_one(Endless(), width, alpha)


@pytest.mark.parametrize(
    ("sentences", "width", "told"),
    [
        (["ab", " "], 5, "a sentence is empty"),
        (SENTENCES, 0, "width is 0; .* from 1 on"),
        (SENTENCES, 1.5, "width is 1.5; .* from 1 on"),
    ],
)
def test_what_cannot_be_translated_is_named(sentences, width, told):
    with pytest.raises(ValueError, match=told):
        beam_translate(Teller(), SUBWORDS, sentences, width=width)


def test_the_penalty_is_chosen_by_bleu():
    model, references = Teller(), ["aa b ab a b"] * len(SENTENCES)
    found = bleu_by_alpha(model, SUBWORDS, SENTENCES, references, 4, (0.0, 1.0, 3.0))
    assert list(found) == [0.0, 1.0, 3.0]
    for alpha, score in found.items():
        output = beam_translate(model, SUBWORDS, SENTENCES, 4, alpha)
        assert score == corpus_bleu(output, references).bleu
