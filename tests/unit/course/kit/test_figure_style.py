from pathlib import Path

import pytest
from fontTools.ttLib import TTFont
from matplotlib.font_manager import FontProperties, findfont

from attnbook.course import begin
from attnbook.course.kit import style
from attnbook.course.kit.curves import push_apart


@pytest.mark.usefixtures("as_in_the_pages")
@pytest.mark.parametrize(("weight", "file"), [("normal", "Regular"), ("bold", "Bold")])
def test_figures_have_the_font_of_the_package(weight, file, caplog):
    begin()
    found = Path(findfont(FontProperties(weight=weight)))
    fonts = Path(style.__file__).parent / "fonts"
    assert found == fonts / f"AttnbookSans{file}.ttf"
    assert not caplog.records
    # Its licence: what was changed has another name, and says whose it was.
    names = TTFont(found)["name"]
    assert "Source" not in "".join(map(names.getDebugName, (1, 2, 3, 4, 6)))
    assert "Adobe" in names.getDebugName(0)
    assert "Reserved Font Name 'Source'" in (fonts / "LICENSE.md").read_text("utf-8")


def test_labels_of_lines_move_apart_and_stay_above_the_axis():
    moved = push_apart([9.0, 8.0, 0.0, 0.5], distance=2.0, floor=1.0)
    assert moved == [9.5, 7.5, 1, 3]
