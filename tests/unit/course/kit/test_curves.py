import matplotlib.pyplot as plt
import pytest

from attnbook.course.kit.curves import label_lines


@pytest.mark.usefixtures("as_in_the_pages")
def test_labels_of_lines_that_end_together_do_not_overlap():
    fig, ax = plt.subplots()
    for number, label in enumerate(["initial state", "static, last", "static, mean"]):
        ax.plot([1, 2, 3], [90, 20, number / 10], label=label)
    ax.plot([1, 3], [50, 50])  # without a label
    label_lines(ax)
    fig.draw_without_rendering()
    boxes = [text.get_window_extent() for text in ax.texts]
    names = [text.get_text() for text in ax.texts]
    assert names == ["initial state", "static, last", "static, mean"]
    for one in boxes:
        assert one.y0 > ax.bbox.y0 - 1
        assert not any(one.overlaps(other) for other in boxes if other is not one)
