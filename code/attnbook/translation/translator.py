"""A trained model with its subwords: text in, translated text out."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import asdict
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from torch import nn

from attnbook.core.checks import check_entries
from attnbook.core.devices import choose_device
from attnbook.data.multi30k import clean
from attnbook.data.subwords import Subwords
from attnbook.models.checkpoints import load_weights, read_facts, save_weights
from attnbook.translation.configs import Config, from_stored
from attnbook.translation.doubts import MANY_SUBWORDS
from attnbook.translation.evaluation import beam_translate
from attnbook.translation.models import model_from_config
from attnbook.translation.moses import tokenised

MODELS = files("attnbook") / "stored" / "models"
SHIPPED = MODELS / "multi30k_en_de"
"""The model that comes with the package, for English captions to German.

:meta hide-value:
"""

OTHERS = {
    "german-english": MODELS / "multi30k_de_en",
    "distilled": MODELS / "multi30k_en_de_distilled",
}
"""Two more models by name, in 8 bits per weight. Both learned from other models'
translations, too: the first translates German captions, the second English ones.

:meta hide-value:
"""

MAX_SUBWORDS = 200
"""Maximum length of a sentence; the longest of Multi30k's training split has 52."""


class Translator:
    """Translates plain text.

    Args:
        folder: Written by :func:`save_translator`, or a name of :data:`OTHERS`; by
            default the shipped model.
        device: Name of the device, as :func:`~attnbook.core.devices.choose_device`
            takes it. By default the CPU, where a text has the same translation on
            every machine.

    Attributes:
        many_subwords: More subwords per word than these are many for this model.

    Raises:
        ValueError: If a file is missing or cannot be read, the files do not belong
            together, or there is no such device.
    """

    def __init__(self, folder: Traversable | str = SHIPPED, device: str = "cpu"):
        folder = named_folder(folder) if isinstance(folder, str) else folder
        self.facts = read_facts(folder)
        remedy = "it is no translator; give the folder `model` of a finished run"
        path = folder / "facts.json"
        check_entries(path, self.facts, remedy, config=dict, alpha=float, subwords=str)
        self.subwords = Subwords.load(folder / "subwords.json")
        if self.subwords.fingerprint() != self.facts["subwords"]:
            raise ValueError(
                f"subwords.json in {folder} is not the one that the model was trained "
                "with; copy the whole folder, not single files"
            )
        self.config = from_stored(self.facts["config"])
        self.model = model_from_config(self.config, len(self.subwords))
        load_weights(self.model, folder)
        self.model.to(choose_device(device))
        self.many_subwords = self.facts.get("many_subwords", MANY_SUBWORDS)

    def __call__(
        self,
        sentences: Sequence[str],
        width: int = 5,
        alpha: float | None = None,
        names: Sequence[str] | None = None,
    ) -> list[str]:
        """Translate sentences.

        Args:
            sentences: Plain text; an empty one stays empty.
            width: Beam width; 1 is greedy decoding.
            alpha: α of the length penalty; by default the one chosen on the validation
                split.
            names: How error messages call each sentence; by default "sentence 1" …

        Returns:
            Plain text, in the same order.

        Raises:
            ValueError: If a sentence is longer than :data:`MAX_SUBWORDS` subwords, or
                there is one text instead of several.
        """
        if isinstance(sentences, str):
            raise ValueError(
                f"sentences is the text {sentences[:40]!r}; give a list of sentences, "
                "such as [text]"
            )
        sentences = [clean(sentence) for sentence in sentences]  # as for training
        names = names or [f"sentence {i + 1}" for i in range(len(sentences))]
        for name, sentence in zip(names, sentences, strict=True):
            length = len(self.subwords.pieces(sentence))
            if length > MAX_SUBWORDS:
                raise ValueError(
                    f"{name} has {length} subwords; at most {MAX_SUBWORDS} can be "
                    "translated at once: divide it into sentences"
                )
        alpha = self.facts["alpha"] if alpha is None else alpha
        texts = [sentence for sentence in sentences if sentence]
        if self.config.moses:
            texts = tokenised(texts, self.config.source, self.config.lowercase)
        found = beam_translate(
            *(self.model, self.subwords, texts, width, alpha),
            per_token=self.config.per_token,
        )
        outputs = iter(found)
        return [next(outputs) if sentence else "" for sentence in sentences]


def named_folder(name: str) -> Traversable:
    """The folder of this path or, if there is none, the model of this name."""
    folder = Path(name)
    return OTHERS[name] if name in OTHERS and not folder.exists() else folder


def save_translator(
    model: nn.Module,
    subwords: Subwords,
    config: Config,
    folder: Path,
    **facts: object,
) -> None:
    """Write the files of a :class:`Translator`, with weights in half precision.

    Args:
        model: A trained model.
        subwords: The subwords that it was trained with.
        config: The config that it was made from.
        folder: The folder to write to.
        facts: "alpha", and anything else to record.
    """
    folder.mkdir(parents=True, exist_ok=True)
    subwords.save(folder / "subwords.json")
    save_weights(
        copy.deepcopy(model).half(),
        folder,
        config=asdict(config),
        subwords=subwords.fingerprint(),
        **facts,
    )
