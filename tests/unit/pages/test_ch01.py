"""Figures and tables of chapter 1, and what guessing reaches."""

import math
import random
import re
from collections import Counter, defaultdict
from itertools import islice

import matplotlib.pyplot as plt
import pytest
import torch

from attnbook.core import results
from attnbook.core.vocabulary import EOS
from attnbook.data.batching import pad, pooled
from attnbook.models.seq2seq import InitialState
from attnbook.pages.figures import ch01
from attnbook.toy.data import SOURCE, TARGET, held_out_pairs, toy_pairs
from attnbook.toy.language import sample_pair, translate_by_rule


def test_printed_clauses_and_recall_are_the_stored_ones(capsys):
    ch01.print_by_clause("static_last")
    lines = capsys.readouterr().out.splitlines()[1:]
    runs = [run["by_clause"] for run in results.load("static_last")["runs"]]
    for line, shares in zip(lines, zip(*runs, strict=True), strict=True):
        said = [int(x) / 100 for x in re.findall(r"(\d+)%", line)]
        wanted = [sum(shares) / len(shares), min(shares), max(shares)]
        assert said == pytest.approx(wanted, abs=0.006)
    ch01.print_recall()
    head, *lines = capsys.readouterr().out.splitlines()
    assert head.split() == ["symbols", "4", "8", "16", "32"]
    assert len(lines) == 6
    for line in lines:
        kind, steps = re.match(r"(\w+), +(\d+) steps", line).groups()
        rows = ch01.recall_shares(kind, int(steps), "mixed" in line, "first")
        assert len(rows) == 3
        means = [sum(shares) / 3 for shares in zip(*rows, strict=True)]
        said = [int(x) for x in re.findall(r"(\d+)%", line)]
        assert said == pytest.approx(means, abs=0.51)


def test_blind_share_is_what_guessing_reaches():
    """Against counting: the commonest word after what has been said of the clause."""
    rng = random.Random(0)

    def kinds(pair):
        for i, j in enumerate(pair.alignment):
            source = pair.source[j]
            if source in ch01.NOUNS or source in ch01.VERBS:
                yield source in ch01.NOUNS, "", pair.target[i]
            else:  # in a phrase: the words before it since the noun
                start = (
                    i - 1 if pair.source[pair.alignment[i - 1]] in ch01.NOUNS else i - 2
                )
                before = tuple(pair.target[start:i])
                yield len(before), before[0][-1], pair.target[i]

    pairs = [sample_pair(1, rng) for _ in range(20_000)]
    counts = defaultdict(Counter)
    for pair in pairs:
        for *place, word in kinds(pair):
            counts[tuple(place)][word] += 1
    right = sum(c.most_common(1)[0][1] for c in counts.values())
    words = sum(sum(c.values()) for c in counts.values())
    assert ch01.blind_share() == pytest.approx(right / words, abs=0.01)


@pytest.mark.parametrize("known", [0, 1])
def test_guessing_loss_is_what_such_a_decoder_reaches(known):
    """Sentence by sentence, in batches of like length as training has them."""
    losses = []
    for group in pooled(islice(toy_pairs(0), 16_384), 64, random.Random(0)):
        nats = tokens = 0
        for pair in group:
            for clause in " ".join(pair.source).split(" and ")[known:]:
                for word in clause.split():
                    if word in ch01.NOUNS:
                        nats += math.log(12)
                    elif word in ch01.VERBS:
                        nats += math.log(8)
                    elif word in ch01.ADJECTIVES:
                        nats += math.log(7)
                    else:
                        nats += math.log(3)
                plain = sum(w in ch01.ADJECTIVES for w in clause.split())
                nats += (2 - plain) * math.log(7)  # no adjective is one of seven too
            nats += math.log(4)  # one of four numbers of clauses
            tokens += len(pair.target) + 1
        losses.append(nats / tokens)
    found = sum(losses) / len(losses)
    assert ch01.guessing_loss(known) == pytest.approx(found, abs=0.03)


def test_right_by_kind_finds_what_is_wrong(capsys):
    class KnowsNouns(torch.nn.Module):
        def forward(self, src, tgt_in):
            targets = [
                [*TARGET.encode(translate_by_rule(SOURCE.decode(row)).target), EOS]
                for row in src.tolist()
            ]
            ids = pad(targets)
            nouns = torch.tensor(TARGET.encode(list(ch01.NOUNS.values())))
            said = torch.where(torch.isin(ids, nouns), ids, torch.full_like(ids, EOS))
            return torch.nn.functional.one_hot(said, len(TARGET)).float()

    ch01.print_right_by_kind(KnowsNouns(), held_out_pairs(1, 50))
    assert capsys.readouterr().out.split() == [
        *("adjective", "0%", "determiner", "0%", "noun", "100%", "verb", "0%")
    ]


def test_decoding_frames_say_what_is_drawn():
    torch.manual_seed(0)
    model = InitialState(len(SOURCE), len(TARGET))
    frames, captions, alts = ch01.decoding_frames(model, "a dog sees a cat")
    assert len(frames) == len(captions) == len(alts) == 6
    assert captions[0].startswith("Read so far: nothing. Most probable now: ")
    assert captions[2].startswith("Read so far: bodus dos. ")
    for frame, caption, alt in zip(frames, captions, alts, strict=True):
        top = frame.axes[0].get_yticklabels()[-1].get_text()
        assert f"now: {top}," in caption
        assert f"words: {top} " in alt
        plt.close(frame)
