from base64 import b64decode
from io import BytesIO
from types import ModuleType

import matplotlib as mpl
import matplotlib.pyplot as plt
import pytest
import torch
from IPython.core.interactiveshell import InteractiveShell
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
    assert mpl.rcParams["font.sans-serif"] == ["DejaVu Sans"]
    assert not mpl.rcParams["axes.spines.top"]


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
