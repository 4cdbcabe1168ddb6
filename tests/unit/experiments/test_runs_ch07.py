"""What chapter 7's experiments measure, at small size."""

import pytest
import torch
from torch.nn import functional as F

from attnbook.nn.positions import sinusoids
from attnbook.toy.task_models import one_layer
from attnbook.toy.tasks import previous_symbols
from experiments import ch07


def test_the_second_half_is_what_is_counted():
    """A model that answers rightly up to place 5 and wrongly from there on."""

    def model(ids):
        right = F.one_hot(previous_symbols(ids).targets, 17).float()
        right[:, 6:, 0] *= -1  # of one question
        return right

    assert ch07.second_half_accuracy(model, 12) == 0.5


def test_untrained_distances_get_the_last_trained_bias():
    biases = torch.arange(31.0).repeat(2, 1)  # distances -15 … 15
    ch07.clamp_untrained(biases)
    assert biases[1, :5].tolist() == [4, 4, 4, 4, 4]  # up to -11, which is trained
    assert biases[1, 25:].tolist() == [25] * 6  # from 10 on, since 11 is untrained
    assert torch.equal(biases[0, 4:26], torch.arange(4.0, 26))


def test_features_of_positions():
    p = torch.arange(12.0)
    assert ch07.VECTORS["binary digits"](p)[11].tolist() == [1, 1, 0, 1]
    signs = ch07.VECTORS["binary digits, as −1 and 1"](p)
    assert signs[4].tolist() == [-1, -1, 1, -1]
    hand = ch07.VECTORS["one hand, half a turn"](p)
    assert hand[-1].tolist() == pytest.approx([0, -1], abs=1e-6)
    assert ch07.mean_accuracy([[None, 0.0], [1.0, 0.5]]) == 0.5


def test_averages_keep_scores_that_depend_on_distance_alone():
    by_distance = torch.randn(2, 9, generator=torch.Generator().manual_seed(0))
    scores = ch07.by_distance(by_distance, 5)  # (2, 5, 5)
    torch.testing.assert_close(ch07.distance_means(scores), by_distance)
    assert ch07.explained(scores) == pytest.approx(1)
    longer = ch07.by_distance(by_distance, 9)
    assert torch.equal(longer[:, 0, 4:], by_distance[:, -1:].expand(2, 5))
    mixed = ch07.shuffled(scores).flatten(1).sort().values
    assert torch.equal(mixed, scores.flatten(1).sort().values)


def test_what_replaces_positional_scores_changes_nothing_else():
    """Scores minus their positional part are those of a model without positions."""
    torch.manual_seed(0)
    model = one_layer("sinusoidal", max_len=12)
    with torch.no_grad():
        scores = ch07.position_scores(model, 6)
        x = sinusoids(6, 64)[None]
        _, weights = model.attention(
            x, x, x, score_bias=-scores[None], need_weights=True
        )
    torch.testing.assert_close(weights, torch.full((1, 2, 6, 6), 1 / 6))


def test_only_the_first_layers_mask_can_reveal_order():
    """With the mask in layer 2, the order of earlier symbols changes nothing."""
    ids = torch.tensor([[3, 5, 2, 7, 1, 4, 6, 8, 9, 2, 3, 5]])
    other = ids.clone()
    other[0, :4] = ids[0, [2, 0, 3, 1]]
    changed = []
    for masked in (1, 2):
        torch.manual_seed(0)
        model = ch07.MaskInOne(masked).eval()
        with torch.no_grad():
            changed.append((model(ids) - model(other))[0, 5:].abs().max().item())
    assert changed[0] > 0.01
    assert changed[1] < 1e-4


# The translator


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("encoder and decoder", ("encoder", "decoder")),
        ("decoder", ("decoder",)),
        ("encoder", ("encoder",)),
        ("neither", ()),
    ],
)
def test_positions_are_kept_where_they_are_named(name, kept):
    positions, x = ch07.KEPT[name](8), torch.zeros(1, 3, 8)
    for part, found in {"encoder": positions(x), "decoder": positions(x, 5)}.items():
        wanted = sinusoids(3, 8, 5 if part == "decoder" else 0)
        assert torch.equal(found[0], wanted if part in kept else x[0])


def test_one_position_for_all_words_of_the_source():
    positions, x = ch07.OnePosition(8), torch.zeros(2, 3, 8)
    assert torch.equal(positions(x), sinusoids(1, 8, 5).expand(2, 3, 8))
    assert torch.equal(positions(x, offset=2)[1], sinusoids(3, 8, 2))


def test_the_source_is_moved_and_the_target_is_not():
    positions, x = ch07.Moved(8, first=1, step=2), torch.zeros(1, 3, 8)
    assert torch.equal(positions(x)[0], sinusoids(6, 8)[[1, 3, 5]])
    assert torch.equal(positions(x, offset=2)[0], sinusoids(3, 8, 2))


def test_who_acts_and_who_is_acted_on_is_counted(monkeypatch):
    """By a translator whose nouns always stand in one order: man, dog, cat."""
    monkeypatch.setattr(ch07, "NOUNS", {"man": "Mann", "dog": "Hund", "cat": "Katze"})
    monkeypatch.setattr(ch07, "VERBS", ("bites",))

    def sorts(texts, width):
        german = [[w for n, w in ch07.NOUNS.items() if n in text] for text in texts]
        return [" beißt ".join(words) for words in german]

    found = ch07.who_does_what(sorts)
    assert found == {"right": 3, "same": 3, "mixed": 2, "human": 2}
    assert not ch07.in_order("Ein Mann beißt.", "man", "dog")
