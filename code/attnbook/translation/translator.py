"""A trained model with its subwords: text in, translated text out."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import asdict
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from torch import nn

from attnbook.core.checks import check_entries, check_sizes, check_texts
from attnbook.core.devices import choose_device
from attnbook.data.subwords import Subwords
from attnbook.models.checkpoints import load_weights, read_facts, save_weights
from attnbook.translation.configs import Config, from_stored, suggestion
from attnbook.translation.evaluation import beam_translate
from attnbook.translation.models import model_from_config
from attnbook.translation.plain_text import language_name, plain_text

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

MAX_WIDTH = 100
"""Maximum beam width. Memory grows with it, and scores don't beyond a tenth of it."""


class Translator:
    """Translates plain text.

    Args:
        folder: A model's, a finished run's, or a name, as :func:`find_model` takes it;
            by default the shipped model.
        device: Name of the device, as :func:`~attnbook.core.devices.choose_device`
            takes it. By default the CPU, where a text has the same translation on
            every machine.

    Attributes:
        usual: What the texts are like that it learned from, as
            :func:`~attnbook.translation.doubts.doubts_about_text` takes it.

    Raises:
        ValueError: If there is no such model or device, a file is missing or cannot be
            read, or the files do not belong together.

    Examples:
        >>> from attnbook.translation import Translator
        >>> translate = Translator()
        >>> translate(["A dog runs through the snow."])
        ['Ein Hund rennt durch den Schnee.']
    """

    def __init__(self, folder: Traversable | str = SHIPPED, device: str = "cpu"):
        folder = find_model(folder)
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
        pair = self.config.source, self.config.target
        languages = [language_name(code) for code in pair]
        self.usual = {"languages": languages, **self.facts.get("usual", {})}

    def __call__(
        self,
        sentences: Sequence[str],
        width: int = 5,
        alpha: float | None = None,
        scored: bool = False,
    ) -> list[str] | list[tuple[str, float]]:
        """Translate sentences.

        Args:
            sentences: Plain text; an empty one stays empty.
            width: Beam width; 1 is greedy decoding.
            alpha: α of the length penalty; by default the one chosen on the validation
                split.
            scored: As in :func:`~attnbook.translation.evaluation.beam_translate`.

        Returns:
            Plain text, in the same order; if ``scored``, each with its log-probability
            per token, which is 0 for an empty sentence.

        Raises:
            ValueError: If a sentence is longer than :data:`MAX_SUBWORDS` subwords, the
                beam wider than :data:`MAX_WIDTH`, or there is one text instead of
                several.
        """
        check_texts(sentences=sentences)
        check_sizes(width=width)
        if width > MAX_WIDTH:
            raise ValueError(
                f"width is {width}; a beam may be {MAX_WIDTH} wide at most: take 4 or 5"
            )
        sentences = [plain_text(sentence, self.usual) for sentence in sentences]
        for number, sentence in enumerate(sentences, start=1):
            if why := too_long(sentence, self.subwords):
                raise ValueError(f"sentence {number} {why}")
        alpha = self.facts["alpha"] if alpha is None else alpha
        texts = [sentence for sentence in sentences if sentence]
        found = beam_translate(
            *(self.model, self.subwords, texts, width, alpha), scored=scored
        )
        outputs, empty = iter(found), ("", 0.0) if scored else ""
        return [next(outputs) if sentence else empty for sentence in sentences]


def too_long(sentence: str, subwords: Subwords) -> str:
    """Why a sentence is too long to be translated, or ""."""
    if (length := len(subwords.pieces(sentence))) <= MAX_SUBWORDS:
        return ""
    return (
        f"has {length} subwords; at most {MAX_SUBWORDS} can be translated at once: "
        "divide it into sentences"
    )


def find_model(folder: Traversable | str) -> Traversable:
    """The folder of a model.

    Args:
        folder: That folder, written by :func:`save_translator`; or the folder of a run,
            whose ``model`` is meant; or, if there is no such folder, a name of
            :data:`OTHERS`.

    Raises:
        ValueError: If there is none of these, or the run is not finished.
    """
    name = str(folder)
    folder = Path(folder) if isinstance(folder, str) else folder
    if (folder / "model" / "facts.json").is_file():
        return folder / "model"
    if (folder / "config.json").is_file():
        raise ValueError(
            f"the run in {name} is not finished: resume it by the command that "
            "started it; at its end it writes its model"
        )
    if not folder.is_dir() and name not in OTHERS:
        raise ValueError(
            f"there is no folder {name!r}, nor a model of this name; "
            f"{suggestion(name, OTHERS)}"
        )
    return folder if folder.is_dir() else OTHERS[name]


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
