"""Chapter 2's translator on the toy language, with a context for each token."""

from functools import partial

from attnbook.course.kit.experiments import experiment
from attnbook.course.kit.toy_translation import train_and_measure
from attnbook.models.bahdanau import Bahdanau

experiment(partial(train_and_measure, Bahdanau), "bahdanau")
