"""Chapter 2's own helpers: what they draw, say and measure is what the model does."""

import math
from itertools import islice
from xml.etree import ElementTree

import matplotlib.pyplot as plt
import pytest
import torch
from drawn import cells

from attnbook.analysis import occlusion
from attnbook.core.vocabulary import EOS
from attnbook.models.bahdanau import Bahdanau
from attnbook.nn.losses import token_loss
from attnbook.pages.drawings.ch02 import decoder_step, soft_alignment
from attnbook.pages.exercises.checking import find, verdict
from attnbook.pages.figures import ch02, ch02_learning
from attnbook.toy.data import SOURCE, TARGET, held_out_pairs, make_batch, toy_batches
from attnbook.toy.language import is_sentence, translate_by_rule
from attnbook.toy.metrics import attention_weights
from attnbook.toy.training import fit

SENTENCE = "the old farmer sees a bird"
SVG = "{http://www.w3.org/2000/svg}"


def make_model(seed=0):
    """A model whose scores differ from place to place, as after some training."""
    torch.manual_seed(seed)
    model = Bahdanau(len(SOURCE), len(TARGET), d_embed=8, d_hidden=12, d_attention=10)
    with torch.no_grad():
        model.score.v.weight.mul_(20)
    return model


@pytest.fixture(autouse=True)
def _no_figure_stays_open():
    yield
    plt.close("all")


# Diagrams


def lines(svg, colour):
    """Widths of the lines of a colour."""
    paths = ElementTree.fromstring(svg).iter(f"{SVG}path")
    return [
        float(p.get("stroke-width"))
        for p in paths
        if p.get("stroke") == colour and p.get("stroke-width")
    ]


def test_arrows_are_as_wide_as_the_weights():
    pair = translate_by_rule(SENTENCE)
    row = torch.tensor([0.1, 0.2, 0.5, 0.1, 0.1, 0.0])
    svg = soft_alignment(pair.source, pair.target, row[None], 0)._repr_svg_()
    widths = lines(svg, "#0072B2")[:6]
    assert widths[-1] > 0
    assert [w / widths[2] for w in widths[:5]] == pytest.approx([0.2, 0.4, 1, 0.2, 0.2])
    assert all(
        f"{word} {x:.2f}" in svg for word, x in zip(pair.source, row, strict=True)
    )


def test_each_step_says_its_own_word_and_reads_the_one_before():
    pair = translate_by_rule(SENTENCE)
    weights = torch.full((7, 7), 1 / 7)
    source = [*pair.source, "EOS"]
    for step, (read, said) in enumerate(
        zip(["BOS", *pair.target], [*pair.target, "EOS"], strict=True)
    ):
        svg = soft_alignment(source, pair.target, weights, step)._repr_svg_()
        shown = [
            "".join(t.itertext())
            for t in ElementTree.fromstring(svg).iter(f"{SVG}text")
        ]
        assert {read, said, "→h7", "←h1"} <= set(shown)


def test_weights_and_words_must_agree_in_number():
    with pytest.raises(ValueError, match="7 weights for 6 source words"):
        soft_alignment(SENTENCE.split(), ["maron"], torch.ones(1, 7), 0)


def test_diagrams_can_be_read_on_a_phone():
    pair = translate_by_rule(SENTENCE)
    weights = torch.full((6, 6), 1 / 6)
    for d in (soft_alignment(pair.source, pair.target, weights, 2), decoder_step()):
        assert d.width <= 510
        for text in ElementTree.fromstring(d._repr_svg_()).iter(f"{SVG}text"):
            assert 0 < float(text.get("x")) < d.width
            assert 10 < float(text.get("y")) < d.height - 3


def test_the_shapes_on_the_arrows_are_the_models():
    """One letter a width: B 2, S 7, H 12, A 10, E 8, V the vocabulary."""
    shown = [
        "".join(t.itertext())
        for t in ElementTree.fromstring(decoder_step()._repr_svg_()).iter(f"{SVG}text")
    ]
    sizes = {"B": 2, "S": 7, "H": 12, "2H": 24, "A": 10, "E": 8, "V": len(TARGET)}
    drawn = {
        tuple(sizes[letter] for letter in label[1:-1].split(", "))
        for label in shown
        if label.startswith("(")
    }
    model, token = make_model(), torch.ones(2, dtype=torch.long)
    state = model.start(make_batch([translate_by_rule(SENTENCE)] * 2).src)
    context, weights = model.attend(state.s, state.source)
    logits, _ = model.step(token, state)
    of_model = [
        *state.source,
        state.s,
        context,
        weights,
        logits,
        model.embedding(token),
    ]
    assert drawn == {tuple(tensor.shape) for tensor in of_model}


# What an annotation has read


def test_annotations_are_shaded_where_they_moved():
    moved = torch.tensor([[4.0, 0.0], [1.0, 4.0]])
    fig = ch02.annotations_figure({"a": moved, "b": moved + 1}, ["old", "bird"])
    assert cells(fig.axes[0]).tolist() == [[1, 0], [0.5, 1]]
    texts = [[text.get_text() for text in ax.texts] for ax in fig.axes]
    assert texts == [["", "0", "", ""], [""] * 4]


# Watching it learn


def test_watching_changes_nothing():
    runs = []
    for watch in (False, True):
        model, batches, log = make_model(), toy_batches(0, (1,), 4), []
        if watch:
            batches = ch02_learning.watched(
                batches, model, held_out_pairs(1, 4), log, every=2
            )
        losses = fit(model, batches, steps=5, learning_rate=1e-2)
        runs.append((losses, torch.cat([p.flatten() for p in model.parameters()])))
    assert runs[0][0] == runs[1][0]
    assert torch.equal(runs[0][1], runs[1][1])
    assert [entry.step for entry in log] == [0, 2, 4]


def test_the_batches_pass_unchanged():
    seen = ch02_learning.watched(toy_batches(0), make_model(), held_out_pairs(1, 4), [])
    for got, wanted in zip(islice(seen, 3), toy_batches(0), strict=False):
        assert all(map(torch.equal, got, wanted))


class Preset(Bahdanau):
    """Its weights are given, (B, T, S), not computed."""

    def forward(self, src, tgt_in, preset):
        self.preset = iter(preset.unbind(1))
        return super().forward(src, tgt_in)

    def attend(self, s, source):
        weights = next(self.preset)
        return (weights[:, None] @ source.states)[:, 0], weights


def test_the_three_losses_are_those_of_such_weights():
    """Against a model that takes the weights from outside."""
    model, pairs = make_model(), held_out_pairs(1, 3) + held_out_pairs(2, 2)
    src, tgt_in, tgt_out = make_batch(pairs)
    own = attention_weights(model, pairs)
    real = src.ne(0).float()[:, None].expand_as(own)
    right = own.clone()
    for b, pair in enumerate(pairs):
        for i, j in enumerate(pair.alignment):
            if j is not None:
                right[b, i] = torch.eye(own.shape[-1])[j]
    preset = Preset(len(SOURCE), len(TARGET), d_embed=8, d_hidden=12, d_attention=10)
    preset.load_state_dict(model.state_dict())
    seen = ch02_learning.take_snapshot(model, pairs, step=0)
    right = settle(model, pairs, right)
    for weights, loss in (
        (own, seen.loss),
        (real / real.sum(-1, keepdim=True), seen.equal),
        (right, seen.right),
    ):
        with torch.no_grad():
            wanted = token_loss(preset(src, tgt_in, weights), tgt_out).item()
        assert loss == pytest.approx(wanted, abs=1e-5)


@torch.no_grad()
def settle(model, pairs, weights):
    """The weights, where no place is right, that follow from those before them."""
    src, tgt_in, _ = make_batch(pairs)
    state, found = model.start(src), weights.clone()
    s, source = state.s, state.source
    for i, token in enumerate(tgt_in.unbind(1)):
        _, free = model.attend(s, source)
        for b, pair in enumerate(pairs):
            if i >= len(pair.alignment) or pair.alignment[i] is None:
                found[b, i] = free[b]
        c = (found[:, i, None] @ source.states)[:, 0]
        s = model.cell(torch.cat([model.embedding(token), c], -1), s)
    return found


def test_mean_at_gold_by_hand():
    pair = translate_by_rule("a dog sees a cat")
    weights = torch.zeros(1, 6, 6)
    weights[0, range(5), pair.alignment] = torch.tensor([0.5, 0.1, 0.2, 0.3, 0.9])
    assert ch02_learning.mean_at_gold(weights, [pair]) == pytest.approx(0.4)


class Pushed(Bahdanau):
    """One score can be raised by hand."""

    def attend(self, s, source):
        self.steps += 1
        scores = self.score(s[:, None], source.keys)[:, 0]
        if self.steps == self.at + 1:
            scores = scores + self.rise * torch.eye(6).double()[self.place]
        weights = scores.softmax(-1)
        return (weights[:, None] @ source.states)[:, 0], weights


def test_a_push_is_how_much_the_loss_falls():
    pair = translate_by_rule("a dog sees a cat")
    torch.manual_seed(0)
    model = Pushed(len(SOURCE), len(TARGET)).double()
    model.rise, model.place, model.at, model.steps = 0.0, 0, 0, 0
    push = ch02_learning.pushes(model, [pair])  # (1, 6, 6)
    assert push.shape == (1, 6, 6)
    src, tgt_in, tgt_out = make_batch([pair])
    for model.at, model.place in ((0, 1), (3, 4), (5, 5)):
        losses = []
        for model.rise in (-1e-4, 1e-4):
            model.steps = 0
            losses.append(6 * token_loss(model(src, tgt_in), tgt_out).item())
        slope = (losses[0] - losses[1]) / 2e-4
        assert push[0, model.at, model.place].item() == pytest.approx(slope, abs=1e-8)


LOG = [
    ch02_learning.TrainingSnapshot(0, 4.0, 4.0, 4.0, 0.05, 0.05, 0.1, 0.001),
    ch02_learning.TrainingSnapshot(10, 3.0, 3.5, 2.5, 0.25, 0.15, 0.5, 0.125),
    ch02_learning.TrainingSnapshot(20, 1.0, 3.5, 0.5, 0.95, 0.85, 0.75, 0.25),
]


def test_learning_is_drawn_from_the_log():
    fig = ch02_learning.learning_figure(
        [4.0] * 10 + [2.0] * 10 + [9.0] * 9, LOG, until=20
    )
    training, equal, own, right = (list(x.get_ydata()) for x in fig.axes[0].get_lines())
    assert (training, equal) == ([4, 2], [4, 3.5, 3.5])
    assert (own, right) == ([4, 3, 1], [4, 2.5, 0.5])
    assert list(fig.axes[1].get_lines()[0].get_ydata()) == pytest.approx([5, 25, 95])


def test_learning_is_printed_from_the_log(capsys):
    ch02_learning.print_learning(LOG, [4.0] * 10 + [2.0] * 20, until=10, every=10)
    rows = capsys.readouterr().out.splitlines()[2:]
    assert [row.split() for row in rows] == [
        ["0", "4.0", "4.0", "4.0", "4.0", "5%", "10%", "0.001"],
        ["10", "3.0", "3.0", "3.5", "2.5", "25%", "50%", "0.125"],
    ]


# Where it looks


def test_the_map_shows_weights_and_frames_the_right_places():
    pair = translate_by_rule(SENTENCE)
    weights = torch.zeros(9, 9)  # padded
    weights[0, :3] = torch.tensor([0.04, 0.06, 0.9])
    ax, bar = ch02.alignment_figure(weights, pair).axes
    shown = [t.get_text() for t in ax.texts if t.get_text()]
    assert shown == ["6", "90"]
    assert [(p.get_y(), p.get_x()) for p in ax.patches] == list(
        enumerate(pair.alignment)
    )
    assert [t.get_text() for t in ax.get_yticklabels()] == [*pair.target, "<eos>"]
    assert (ax.get_ylabel(), ax.get_xlabel()) == ("target token", "source token")
    assert ax.xaxis.get_label_position() == "top"  # where the words are
    assert bar.get_xlabel() == "weight, %"


def test_frames_say_what_is_drawn():
    model, words = make_model(), [*SENTENCE.split(), "<eos>"]
    figures, captions, alts = ch02.attention_frames(model, SENTENCE)
    assert len(figures) == len(captions) == len(alts) <= 7
    assert captions[0].startswith("Said so far: nothing. It looks at ")
    for fig, caption, alt in zip(figures, captions, alts, strict=True):
        heights = [bar.get_height() for bar in fig.axes[0].patches]
        assert sum(heights) == pytest.approx(1, abs=1e-5)
        best = words[heights.index(max(heights))]
        top = fig.axes[1].get_yticklabels()[-1].get_text()
        assert f"looks at {best} ({max(heights):.2f}) and says {top} (" in caption
        assert f"largest: {best} " in alt
        assert f"words: {top} " in alt
    assert len({tuple(fig.get_size_inches()) for fig in figures}) == 1


# Is a weight an explanation?


def test_hiding_takes_the_place_out_of_the_sum():
    """By hand, at one step and place: weights without j, divided by what is left."""
    model, pair, i, j = make_model(), translate_by_rule(SENTENCE), 2, 3
    src, tgt_in, tgt_out = make_batch([pair])
    effects = occlusion.bahdanau_hiding_effects(model, pair)
    assert effects.shape == (7, 7)
    with torch.no_grad():
        state = model.start(src)
        for token in tgt_in[0, :i]:
            _, state = model.step(token[None], state)
        c, weights = model.attend(state.s, state.source)
        logs = []
        for keep in (torch.ones(7), 1 - torch.eye(7)[j]):
            left = weights[0] * keep
            c = (left / left.sum()) @ state.source.states[0]
            y = model.embedding(tgt_in[:, i])
            s = model.cell(torch.cat([y, c[None]], -1), state.s)
            logits = model.readout(s, y, c[None])
            logs.append(logits.log_softmax(-1)[0, tgt_out[0, i]])
    assert effects[i, j].item() == pytest.approx((logs[0] - logs[1]).item(), abs=1e-5)


def test_replacing_changes_the_source_from_the_start():
    model, pair = make_model(), translate_by_rule("a dog sees this cat")
    effects = occlusion.occlusion_effects(model, pair)["replaced"]
    assert effects.shape == (6, 6)
    assert effects[:, -1].isnan().all()
    log_p = [
        model(make_batch([translate_by_rule(s)]).src, make_batch([pair]).tgt_in)[
            0
        ].log_softmax(-1)[range(6), [*TARGET.encode(pair.target), EOS]]
        for s in (
            "a dog sees this cat",
            "the dog sees this cat",
            "this dog sees this cat",
        )
    ]
    wanted = log_p[0] - (log_p[1] + log_p[2]) / 2
    assert torch.allclose(effects[:, 0], wanted, atol=1e-5)


def test_swaps_are_sentences_that_differ_in_one_place():
    pair = translate_by_rule("an old king helps a bird and the cat sees a small dog")
    for j, word in enumerate(pair.source):
        found = occlusion.word_swaps(pair, j)
        assert all(map(is_sentence, found))
        assert len(set(found)) == len(found)
        for words in found:
            changed = [k for k, w in enumerate(words) if w != pair.source[k]]
            assert [k for k in changed if pair.source[k] not in ("a", "an")] in (
                [j],
                [],
            )
            assert words[j] != word
    assert len(occlusion.word_swaps(pair, 1)) == 5
    assert len(occlusion.word_swaps(pair, 2)) == 11
    assert len(occlusion.word_swaps(pair, 0)) == 2
    assert occlusion.word_swaps(pair, 6) == []  # and


def test_weights_and_effects_are_drawn_below_each_other():
    model, pair = make_model(), translate_by_rule(SENTENCE)
    effects = occlusion.occlusion_effects(model, pair)
    weights = attention_weights(model, [pair])[0]
    fig = ch02.weight_and_effect_figure(weights, effects, pair)
    drawn = [ax.collections[0].get_array().filled(math.nan).ravel() for ax in fig.axes]
    assert drawn[0] == pytest.approx((100 * weights).flatten().numpy())
    assert drawn[1] == pytest.approx(effects["hidden"].flatten().numpy())
    assert [ax.get_xlabel() for ax in fig.axes] == ["", "", "source token"]
    assert fig.get_figwidth() <= 5.5


# Exercises


def context(weights, states):
    return (weights[:, None] @ states)[:, 0]


def masked_softmax(scores, mask):
    return scores.masked_fill(~mask, float("-inf")).softmax(-1)


def additive_score(s, states, W, U, v):  # noqa: N803
    hidden = torch.tanh((s @ W.T)[:, None] + states @ U.T)
    return hidden @ v


def alignment_score(weights, alignments):
    right = total = 0
    for rows, alignment in zip(weights, alignments, strict=True):
        for row, wanted in zip(rows, alignment, strict=False):
            if wanted is not None:
                total += 1
                right += row.argmax().item() == wanted
    return right / total


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("ex2_context", context),
        ("ex2_masked_softmax", masked_softmax),
        ("ex2_additive_score", additive_score),
        ("ex2_key_projection", (20 * 128 * 64, 20 * 20 * 128 * 64)),
        ("ex2_alignment_score", alignment_score),
    ],
)
def test_the_solutions_are_right_and_the_stubs_wait(name, answer):
    exercise = find(name)
    assert verdict(exercise, name, answer) == f"{name}: right."
    assert verdict(exercise, name, ...) == f"{name}: your turn."
    for mistake, hint in exercise.mistakes:
        assert f"\nHint: {hint}" in verdict(exercise, name, mistake)
