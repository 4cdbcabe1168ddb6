from base64 import b64decode
from io import BytesIO
from pathlib import Path
from types import ModuleType

import matplotlib as mpl
import matplotlib.pyplot as plt
import pytest
import torch
from fontTools.ttLib import TTFont
from IPython.core.interactiveshell import InteractiveShell
from matplotlib.font_manager import FontProperties, findfont, get_font
from matplotlib_inline.backend_inline import configure_inline_support
from matplotlib_inline.config import InlineBackend
from PIL import Image
from traitlets.config import Config

from attnbook.course import begin
from attnbook.course.kit import style


@pytest.fixture(autouse=True)
def _same_settings_afterwards():
    threads = torch.get_num_threads()
    with mpl.rc_context():
        yield
    plt.close("all")
    torch.set_num_threads(threads)


def test_begin_prints_nothing_and_sets_the_style(capsys):
    begin()
    assert capsys.readouterr() == ("", "")
    assert mpl.rcParams["font.family"] == ["Attnbook Sans", "DejaVu Sans"]
    assert not mpl.rcParams["axes.spines.top"]


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


@pytest.mark.filterwarnings("error")
def test_signs_that_the_font_lacks_come_from_another():
    begin()
    fig, ax = plt.subplots()
    ax.set(title="○ 10⁻⁴ ≤ τ < √d, ∂α → −∞", xlabel="⊙ ∈ ⇔", ylabel="$d_k$: $QK^\\top$")
    fig.draw_without_rendering()
    ours = get_font(findfont(FontProperties())).get_charmap()
    assert {*map(ord, "aZß0−×√αωτ∂≤≥≈∞←→○◆▲…–")} <= ours.keys()
    assert ord("∈") not in ours


@pytest.mark.filterwarnings("ignore:InlineBackend:DeprecationWarning")
def test_in_a_notebook_figures_are_sharp_and_as_wide_as_they_say(monkeypatch):
    shell = InteractiveShell(
        config=Config(HistoryManager={"enabled": False}),
        user_module=ModuleType("notebook"),
    )
    monkeypatch.setattr(style, "get_ipython", lambda: shell)
    begin()
    configure_inline_support(shell, "inline")  # as the first figure does in a notebook
    fig, _ = plt.subplots(figsize=(5.5, 2))
    data, metadata = shell.display_formatter.format(fig)
    InlineBackend.clear_instance()
    assert metadata["image/png"] == {"width": 550, "height": 200}
    assert Image.open(BytesIO(b64decode(data["image/png"]))).size == (1100, 400)
