"""What chapter 7's experiments measure, at small size."""

import pytest
import torch

from attnbook.nn.positions import sinusoids
from attnbook.toy.task_models import one_layer
from experiments import ch07


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


def test_untrained_distances_get_the_last_trained_bias():
    biases = torch.arange(31.0).repeat(2, 1)  # distances -15 … 15
    ch07.clamp_untrained(biases)
    assert biases[1, :5].tolist() == [4, 4, 4, 4, 4]  # up to -11, which is trained
    assert biases[1, 25:].tolist() == [25] * 6  # from 10 on, since 11 is untrained
    assert torch.equal(biases[0, 4:26], torch.arange(4.0, 26))


PLACES = {  # of the source's words; None: without positions
    "decoder": None,
    "encoder and decoder": [0, 1, 2],
    "decoder; one position in the encoder": [5, 5, 5],
    (1, 2): [1, 3, 5],
}


@pytest.mark.parametrize(("name", "places"), PLACES.items())
def test_words_of_the_source_are_where_the_name_says_and_those_of_the_target_stay(
    name, places
):
    made = ch07.KEPT[name](8) if name in ch07.KEPT else ch07.Moved(8, *name)
    x = torch.zeros(2, 3, 8)
    wanted = x if places is None else sinusoids(6, 8)[places].expand(2, 3, 8)
    assert torch.equal(made(x), wanted)
    assert torch.equal(made(x, 2)[1], sinusoids(3, 8, 2))
