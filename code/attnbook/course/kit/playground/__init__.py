"""Small Transformers that train in the page, and the same run in PyTorch.

``presets.toml`` holds what can be chosen and the experiments; the page and this package
read it. ``random_numbers`` draws what the page draws, ``tasks`` and ``model`` are what
it trains, ``presets`` repeats its experiments over several seeds and stores them:
``python -m attnbook.course playground_no_mask``.
"""

from attnbook.course.kit.playground.model import Model, accuracy_of, loss_of
from attnbook.course.kit.playground.setting import Setting
from attnbook.course.kit.playground.tasks import batches
from attnbook.course.kit.playground.training import train

__all__ = ["Model", "Setting", "accuracy_of", "batches", "loss_of", "train"]
