"""What chapter 9's experiments measure, at small size."""

from experiments import ch09


def test_the_test_sequences_are_not_those_of_training():
    src, read, tgt = ch09.new_sequences(ch09.reversals)
    assert src.shape == read.shape == tgt.shape == (1000, 8)
    for seed in ch09.SEEDS:
        batch = next(ch09.reversals(seed, 1000))[0]
        assert not (batch == src).all(1).any()
