"""One text where several texts, or words, are meant is refused: a text has letters."""

import pytest
import torch

from attnbook.analysis.word_maps import word_groups, words
from attnbook.core.vocabulary import Vocabulary
from attnbook.course.a2.characters import encode_characters
from attnbook.course.kit.word_links import WordLinks
from attnbook.data import Subwords, available, learn_merges, pad
from attnbook.toy.metrics import correct_tokens, exact_match, greedy_translations
from attnbook.translation import (
    Translator,
    beam_translate,
    bleu,
    bleu_by_alpha,
    brevity_penalty,
    corpus_bleu,
    corpus_scores,
    matching_ngrams,
    modified_precision,
    ngrams,
    paired_bootstrap,
)
from attnbook.translation.doubts import many_subwords
from attnbook.translation.evaluation import runaway_share

TEXT = "A dog runs."
LETTERS = Subwords.train([TEXT] * 3, 20)
MODEL = torch.nn.Linear(2, 2)

CALLS = {
    "bleu of texts": lambda: bleu([TEXT], [TEXT]),
    "bleu of a text": lambda: bleu(TEXT, TEXT),
    "bleu with texts as references": lambda: bleu([TEXT.split() * 2], [TEXT]),
    "precision": lambda: modified_precision([TEXT], [TEXT], 2),
    "matches": lambda: matching_ngrams(TEXT.split(), TEXT, 1),
    "ngrams": lambda: ngrams(TEXT, 2),
    "brevity": lambda: brevity_penalty([TEXT], [TEXT]),
    "corpus bleu": lambda: corpus_bleu(TEXT, TEXT),
    "references": lambda: corpus_bleu([TEXT] * len(TEXT), TEXT),
    "corpus scores": lambda: corpus_scores(TEXT, TEXT),
    "bootstrap": lambda: paired_bootstrap([TEXT], TEXT, [TEXT]),
    "runaways": lambda: runaway_share(TEXT, TEXT),
    "subwords": lambda: Subwords.train(TEXT, 40),
    "bytes": lambda: Subwords.train(TEXT.encode(), 40),
    "many": lambda: many_subwords(TEXT, LETTERS),
    "merges": lambda: learn_merges(TEXT, 3),
    "merges of words": lambda: learn_merges(TEXT.split(), 3),
    "vocabulary": lambda: Vocabulary("0123456789"),
    "encode": lambda: Vocabulary(["A"]).encode("A"),
    "beams": lambda: beam_translate(MODEL, LETTERS, TEXT),
    "alphas": lambda: bleu_by_alpha(MODEL, LETTERS, TEXT, TEXT),
    "translator": lambda: Translator()(TEXT),
    "pad": lambda: pad(TEXT),
    "pad texts": lambda: pad([TEXT]),
    "available": lambda: available("en"),
    "characters": lambda: encode_characters(TEXT),
    "exact match": lambda: exact_match(MODEL, TEXT),
    "greedy": lambda: greedy_translations(MODEL, TEXT),
    "correct": lambda: correct_tokens(MODEL, TEXT),
    "links": lambda: WordLinks([[["a"], ["b"]]]).between(TEXT, ["a"]),
    "pairs of texts": lambda: WordLinks([[TEXT, TEXT]]),
    "groups": lambda: word_groups(TEXT),
    "words": lambda: words(TEXT),
}


@pytest.mark.parametrize("name", CALLS)
def test_one_text_where_several_are_meant_is_refused(name):
    with pytest.raises(ValueError, match=r"(is the text|how often).*[;] give"):
        CALLS[name]()


@pytest.mark.parametrize("given", [1, None, [TEXT], TEXT.encode()])
@pytest.mark.parametrize(
    "call", [LETTERS.encode, LETTERS.pieces, lambda given: Translator()([TEXT, given])]
)
def test_what_is_no_text_is_refused(call, given):
    with pytest.raises(ValueError, match="give a text"):
        call(given)


@pytest.mark.parametrize("n", [0, -1, 1.5])
def test_there_are_no_words_in_an_n_gram_of_none(n):
    with pytest.raises(ValueError, match=f"n is {n}"):
        modified_precision([TEXT.split()], [TEXT.split()], n)
