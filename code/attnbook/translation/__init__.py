"""Translation of real text: training, evaluating and using a model.

- ``translator``: a trained model: text in, translated text out
- ``configs``: the hyperparameters of a training run
- ``corpora``: the parallel text of a config, and the batches of each epoch
- ``models``: the model of a config
- ``schedules``: the learning rate of each update
- ``muon``: the optimiser of the quick recipe
- ``trainer``: the training loop
- ``validation``: loss and scores on the validation split, after each epoch
- ``evaluation``: translation in batches, choice of the length penalty
- ``bleu_score``: BLEU and chrF with their signatures, significance tests
- ``bleu_from_scratch``: BLEU in a few lines
- ``report``: the results of a finished run
- ``plain_text``: a text as the captions are written, in single sentences
- ``doubts``: signs that a text or its translation is beyond a model
- ``train_command``: `attnbook train`
- ``translate_command``: `attnbook translate`
- ``command_line``: `attnbook`
- ``run_folder``: a run's lock, the check of its config, its log
- ``training_state``: the state of a run on disk
- ``distributed``: data-parallel training by several processes
- ``backends``: precision, PyTorch's backends and peak memory
"""

from attnbook.translation.bleu_from_scratch import (
    bleu,
    brevity_penalty,
    matching_ngrams,
    modified_precision,
    ngrams,
)
from attnbook.translation.bleu_score import corpus_bleu, corpus_scores, paired_bootstrap
from attnbook.translation.configs import CONFIGS, Config, config
from attnbook.translation.corpora import Texts, encode_pairs, load_texts
from attnbook.translation.evaluation import beam_translate, bleu_by_alpha
from attnbook.translation.models import model_from_config
from attnbook.translation.schedules import (
    inverse_sqrt_learning_rate,
    learning_rate,
    noam_learning_rate,
)
from attnbook.translation.trainer import Trainer
from attnbook.translation.translator import SHIPPED, Translator, save_translator
