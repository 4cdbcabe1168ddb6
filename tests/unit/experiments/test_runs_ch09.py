"""What chapter 9's experiments measure, at small size."""

from attnbook.course.ch09.figures import BUGS
from attnbook.course.ch09.suspect import SUSPECT
from experiments import ch09


def test_builds_have_the_names_of_their_bugs():
    bugs = {name: {*ch09.BUILDS[build]} for name, build in BUGS.items()}
    assert bugs["heads and scale"] == {*SUSPECT}
    assert bugs.pop("none") == set()
    assert bugs.pop("all three") == {"softmax", "heads", "scale"}
    assert all({*name.split(" and ")} == found for name, found in bugs.items())


def test_the_test_sequences_are_not_those_of_training():
    src, read, tgt = ch09.new_sequences(ch09.reversals)
    assert src.shape == read.shape == tgt.shape == (1000, 8)
    for seed in ch09.SEEDS:
        batch = next(ch09.reversals(seed, 1000))[0]
        assert not (batch == src).all(1).any()
