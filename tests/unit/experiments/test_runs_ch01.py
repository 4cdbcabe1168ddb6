"""What chapter 1's experiments measure, at small size."""

from experiments import ch01


def test_recall_learns_the_last_symbol_at_once():
    short, longer = ch01.train_recall("rnn", lengths=(2, 4), steps=100, seed=0)
    assert (short["length"], longer["length"]) == (2, 4)
    assert min(short["first"], short["last"], longer["last"]) > 0.9
