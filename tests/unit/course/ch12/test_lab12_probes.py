"""Laboratory page 12: what probes read off the encoder, and what the heads align."""

import pytest

from attnbook.course.ch12 import lab_probes as lab12_probes

pytestmark = pytest.mark.usefixtures("as_in_the_pages")

STARTS = {
    "itself": 0.9,
    "its translation": 0.5,
    "the one before": 0.1,
    "the one after": 0.2,
}


@pytest.fixture
def _stored(stored):
    probes = [
        {
            "label": label,
            "split": split,
            "by_layer": [start, start + 0.1 + split / 10],
            "by_subword": 0.4,
            "chance": 0.05,
        }
        for label, start in STARTS.items()
        for split in (0, 1)
    ]
    heads = [[0.25, 0.5], [0.75, 1.0]]
    stored("multi30k_probes", probes=probes, heads=heads, mean=0.875, diagonal=0.4)


@pytest.mark.usefixtures("_stored")
def test_probes_are_means_over_splits():
    [ax] = lab12_probes.probes_figure().axes
    lines = {line.get_label(): line for line in ax.get_lines()}
    rows = lab12_probes.probes_table().rows()
    for row, (label, start) in zip(rows, STARTS.items(), strict=True):
        wanted = [100 * start, 100 * (start + 0.15)]
        name = lab12_probes.LABELS[label][0]
        assert list(lines[name].get_ydata()) == pytest.approx(wanted)
        assert row[0] == name
        assert row[1:] == pytest.approx((*wanted, 40, 5))


@pytest.mark.usefixtures("_stored")
def test_heads_are_shown_by_layer():
    assert lab12_probes.heads_table().rows() == [
        ("layer 1", 25, 50, None),
        ("layer 2", 75, 100, None),
        ("mean of all heads", None, None, 87.5),
        ("diagonal", None, None, 40),
    ]
