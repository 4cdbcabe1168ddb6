"""The real thing: training, evaluating and using a translator.

- ``configs``: everything that decides a training run
- ``corpora``: the sentence pairs of a config
- ``models``: the model of a config
- ``schedules``: learning-rate schedules
- ``trainer``: the training loop
- ``state``: all that a run needs to go on
- ``devices``: where to compute, and in which precision
- ``distributed``: several processes that train one model
- ``evaluation``: BLEU, significance tests, batch translation
- ``bleu_from_scratch``: BLEU in a few lines
- ``report``: the results of a finished run
- ``translator``: a trained model: text in, text out
- ``train_command``: `attnbook train`
- ``translate_command``: `attnbook translate`
- ``command_line``: `attnbook`
"""

from attnbook.translation.bleu_from_scratch import (
    bleu,
    brevity_penalty,
    matches,
    ngrams,
    precision,
)
from attnbook.translation.configs import (
    CONFIGS,
    Config,
    changed,
    config,
    from_json,
    to_json,
)
from attnbook.translation.corpora import Texts, texts
from attnbook.translation.devices import best_device, choose_precision, peak_memory
from attnbook.translation.distributed import Processes
from attnbook.translation.evaluation import (
    Comparison,
    Score,
    beam_translate,
    best_alpha,
    compare,
    corpus_bleu,
    max_output_len,
)
from attnbook.translation.models import model_from_config
from attnbook.translation.report import commit, facts, finish, hardware, score_tests
from attnbook.translation.schedules import (
    inverse_sqrt_learning_rate,
    noam_learning_rate,
)
from attnbook.translation.state import average, load_state, read_state, save_state
from attnbook.translation.trainer import (
    Trainer,
    encoded,
    read_metrics,
    target_tokens,
    to_device,
)
from attnbook.translation.translator import SHIPPED, Translator, save_translator

__all__ = [
    "CONFIGS",
    "SHIPPED",
    "Comparison",
    "Config",
    "Processes",
    "Score",
    "Texts",
    "Trainer",
    "Translator",
    "average",
    "beam_translate",
    "best_alpha",
    "best_device",
    "bleu",
    "brevity_penalty",
    "changed",
    "choose_precision",
    "commit",
    "compare",
    "config",
    "corpus_bleu",
    "encoded",
    "facts",
    "finish",
    "from_json",
    "hardware",
    "inverse_sqrt_learning_rate",
    "load_state",
    "matches",
    "max_output_len",
    "model_from_config",
    "ngrams",
    "noam_learning_rate",
    "peak_memory",
    "precision",
    "read_metrics",
    "read_state",
    "save_state",
    "save_translator",
    "score_tests",
    "target_tokens",
    "texts",
    "to_device",
    "to_json",
]
