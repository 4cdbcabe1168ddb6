"""Small tasks that train in seconds: the toy language, and tasks on random symbols.

- ``language``: the toy language and its rule-based translation
- ``data``: its sentence pairs and batches, for translating and for the next word
- ``example``: the sentence that every chapter works through by hand
- ``training``: the training loop of all small models
- ``metrics``: exact match, token accuracy, alignment accuracy
- ``models``: small models, trained, that come with the package
- ``tasks``: tasks on random symbols
- ``task_models``: small models for them: an attention, a stack, any one layer
"""

from attnbook.toy.data import (
    CLAUSES,
    SOURCE,
    TARGET,
    held_out_pairs,
    make_batch,
    next_word_batches,
    reverse_source,
    shifted_words,
    toy_batches,
    toy_pairs,
)
from attnbook.toy.example import FEATURES, QUERY, SENTENCE, STATES, U, V, W
from attnbook.toy.language import (
    ADJECTIVES,
    DETERMINERS,
    NOUNS,
    SOURCE_WORDS,
    TARGET_WORDS,
    VERBS,
    Pair,
    is_sentence,
    sample_pair,
    translate_by_rule,
)
from attnbook.toy.metrics import (
    alignment_accuracy,
    attention_weights,
    correct_tokens,
    exact_match,
    greedy_translations,
)
from attnbook.toy.models import load_toy_model, toy_transformer
from attnbook.toy.task_models import (
    POSITION_KINDS,
    InductionModel,
    OneLayer,
    Tagger,
    one_layer,
)
from attnbook.toy.tasks import (
    N_SYMBOLS,
    TaskBatch,
    induction_batches,
    last_position_accuracy,
    position_numbers,
    previous_symbols,
    random_symbols,
    sorted_symbols,
    task_accuracy,
    task_batches,
)
from attnbook.toy.training import fit, train_step, train_toy_model
