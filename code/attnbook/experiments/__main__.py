"""Run experiments by name and store their results."""

from __future__ import annotations

import argparse
import time
from functools import partial
from pathlib import Path

from attnbook.analysis.maps import cross_weights
from attnbook.core import results
from attnbook.core.signals import last_words
from attnbook.core.threads import set_threads
from attnbook.experiments.alignment_two_ways import alignment_two_ways
from attnbook.experiments.beams import beams
from attnbook.experiments.block_variants import block_variant
from attnbook.experiments.broken_builds import broken_builds
from attnbook.experiments.context_contents import context_contents
from attnbook.experiments.decode_cost import decode_cost
from attnbook.experiments.first_token import (
    first_token,
    first_token_longer,
    first_token_room,
)
from attnbook.experiments.fused_cost import fused_cost
from attnbook.experiments.head_ablation import head_ablation
from attnbook.experiments.induction import induction, induction_longer
from attnbook.experiments.language_models import language_models
from attnbook.experiments.late_attention import late_attention
from attnbook.experiments.layer_cost import layer_batches, layer_cost
from attnbook.experiments.layer_runs import (
    embedding_proportion,
    embedding_scale,
    feed_forward_needed,
    warm_up,
    xor_of_two_bits,
)
from attnbook.experiments.linear_state import linear_state
from attnbook.experiments.lite_encoders import (
    toy_lite_transformer,
    toy_local_transformer,
)
from attnbook.experiments.local_cost import local_cost
from attnbook.experiments.look_up import look_up
from attnbook.experiments.mask_at_inference import mask_at_inference
from attnbook.experiments.mask_card import mask_card
from attnbook.experiments.multi30k_decoding import (
    multi30k_against_shipped,
    multi30k_average,
    multi30k_beams,
    multi30k_headline,
    multi30k_scores,
)
from attnbook.experiments.multi30k_facts import multi30k_facts
from attnbook.experiments.multi30k_probes import multi30k_probes
from attnbook.experiments.multi30k_runs import (
    multi30k_learning_rates,
    multi30k_runs,
)
from attnbook.experiments.narrow_context import NarrowContext
from attnbook.experiments.one_encoder import one_encoder
from attnbook.experiments.plateau import plateau
from attnbook.experiments.processor_speeds import processor_speeds
from attnbook.experiments.recall import recall_grid
from attnbook.experiments.sinks import sinks
from attnbook.experiments.smoothing_known import smoothing_known
from attnbook.experiments.step_cost import step_cost
from attnbook.experiments.task_runs import (
    heads,
    positions,
    positions_farther,
    wrong_split,
)
from attnbook.experiments.toy_ablation import toy_ablation
from attnbook.experiments.toy_translation import train_and_measure
from attnbook.experiments.two_orders import two_orders
from attnbook.experiments.weights_tell import weights_tell
from attnbook.models.bahdanau import Bahdanau
from attnbook.models.luong import Luong
from attnbook.models.seq2seq import InitialState, StaticContext
from attnbook.nn.scores import SCORES
from attnbook.toy.character_models import VARIANTS
from attnbook.toy.data import reverse_source
from attnbook.toy.models import toy_rotary, toy_transformer

THREE_SEEDS = (0, 1, 2)  # where five would take too long
static_mean = partial(StaticContext, summary="mean")
one_way = partial(InitialState, bidirectional=False)
post_norm = partial(toy_transformer, norm_first=False)


# Windows of local attention: in the toy task no word moves further than 3 positions.
local_m = partial(Luong, align="local-m", half_width=3)
local_p = partial(Luong, align="local-p", half_width=3)

EXPERIMENTS = {
    # toy translation: equal steps
    "initial_state": partial(train_and_measure, InitialState),
    "static_last": partial(train_and_measure, StaticContext),
    "static_mean": partial(train_and_measure, static_mean),
    "static_narrow": partial(train_and_measure, NarrowContext),
    # the same with more training, or a larger state
    "initial_state_longer": partial(
        train_and_measure, InitialState, steps=2100, seeds=THREE_SEEDS
    ),
    "static_last_longer": partial(
        train_and_measure, StaticContext, steps=2100, seeds=THREE_SEEDS
    ),
    "initial_state_wider": partial(
        train_and_measure, partial(InitialState, d_hidden=192), seeds=THREE_SEEDS
    ),
    "static_last_wider": partial(
        train_and_measure, partial(StaticContext, d_hidden=192), seeds=THREE_SEEDS
    ),
    # a unidirectional encoder, and the same with the source reversed
    "one_way": partial(train_and_measure, one_way, seeds=THREE_SEEDS),
    "one_way_reversed": partial(
        train_and_measure, one_way, seeds=THREE_SEEDS, transform=reverse_source
    ),
    "recall": recall_grid,
    "context_contents": context_contents,
    # chapter 2: a context vector for each token
    "bahdanau": partial(train_and_measure, Bahdanau),
    "late_attention": late_attention,
    "plateau": plateau,
    # chapter 3: scores, with and without input feeding
    "luong_general": partial(train_and_measure, Luong),
    **{
        f"luong_{score}": partial(
            train_and_measure, partial(Luong, score=score), seeds=THREE_SEEDS
        )
        for score in ("dot", "concat", "location")
    },
    **{
        f"luong_{score}_no_feeding": partial(
            train_and_measure,
            partial(Luong, score=score, input_feeding=False),
            seeds=THREE_SEEDS,
        )
        for score in SCORES
    },
    # local attention; then on the reversed source, where every word moves far
    "luong_local_m": partial(train_and_measure, local_m, seeds=THREE_SEEDS),
    "luong_local_p": partial(train_and_measure, local_p, seeds=THREE_SEEDS),
    "luong_local_m_no_feeding": partial(
        train_and_measure, partial(local_m, input_feeding=False), seeds=THREE_SEEDS
    ),
    "luong_local_p_no_feeding": partial(
        train_and_measure, partial(local_p, input_feeding=False), seeds=THREE_SEEDS
    ),
    **{
        f"luong_local_m_{width}": partial(
            train_and_measure, partial(local_m, half_width=width), seeds=THREE_SEEDS
        )
        for width in (0, 1, 2)
    },
    "luong_general_reversed": partial(
        train_and_measure, Luong, seeds=THREE_SEEDS, transform=reverse_source
    ),
    "luong_local_m_reversed": partial(
        train_and_measure, local_m, seeds=THREE_SEEDS, transform=reverse_source
    ),
    "luong_local_p_reversed": partial(
        train_and_measure, local_p, seeds=THREE_SEEDS, transform=reverse_source
    ),
    "alignment_two_ways": alignment_two_ways,
    "step_cost": step_cost,
    "local_cost": local_cost,
    # chapter 6: masks in several libraries, and of a decoder without a cache
    "mask_card": mask_card,
    "mask_at_inference": mask_at_inference,  # needs the data
    # chapter 9: the Transformer, pre-norm and post-norm
    "transformer": partial(
        train_and_measure, toy_transformer, weights_of=cross_weights
    ),
    "transformer_post_norm": partial(
        train_and_measure, post_norm, seeds=THREE_SEEDS, weights_of=cross_weights
    ),
    "transformer_post_norm_slower": partial(
        train_and_measure,
        post_norm,
        seeds=THREE_SEEDS,
        learning_rate=1e-3,
        weights_of=cross_weights,
    ),
    "transformer_rotary": partial(
        train_and_measure, toy_rotary, weights_of=cross_weights
    ),
    "broken_builds": broken_builds,
    # chapter 10: what a beam finds, what the cache saves
    "beams": beams,
    "decode_cost": decode_cost,
    # chapter 4: the scale, and what the fused kernel saves
    "look_up": look_up,
    "fused_cost": fused_cost,
    # chapters 5 and 7: one attention, small tasks
    "heads": heads,
    "wrong_split": wrong_split,
    "positions": positions,
    "positions_farther": positions_farther,
    # chapter 8: the other parts of a layer
    "feed_forward_needed": feed_forward_needed,
    "embedding_scale": embedding_scale,
    "embedding_proportion": embedding_proportion,
    "warm_up": warm_up,
    "xor_of_two_bits": xor_of_two_bits,
    # chapter 11: costs of layers, long paths, attention weights as explanation
    "layer_cost": layer_cost,
    "layer_batches": layer_batches,
    "first_token": first_token,
    "first_token_longer": first_token_longer,
    "first_token_room": first_token_room,
    "induction": induction,
    "induction_longer": induction_longer,
    "weights_tell": weights_tell,
    # chapter 12: statistics of the data; label smoothing with a known distribution
    "multi30k_facts": multi30k_facts,
    "smoothing_known": smoothing_known,
    # chapter 12: ablation on the toy language
    "toy_ablation": toy_ablation,
    # appendix A3: windows, linear attention, lighter encoders, all tokens at once
    "sinks": sinks,  # needs the data
    "linear_state": linear_state,
    "lite_transformer": partial(
        train_and_measure,
        toy_lite_transformer,
        seeds=THREE_SEEDS,
        weights_of=cross_weights,
    ),
    "local_encoder": partial(
        train_and_measure,
        toy_local_transformer,
        seeds=THREE_SEEDS,
        weights_of=cross_weights,
    ),
    "two_orders": two_orders,
    # the shipped model; these need the data
    "multi30k_beams": multi30k_beams,
    "multi30k_headline": multi30k_headline,
    "multi30k_scores": multi30k_scores,
    "multi30k_probes": multi30k_probes,
    "head_ablation": head_ablation,
    "multi30k_against_shipped": multi30k_against_shipped,  # and runs' folders
    "multi30k_average": multi30k_average,  # and the run's folder
    "multi30k_learning_rates": multi30k_learning_rates,  # folder of learning_rates
    "multi30k_runs": multi30k_runs,  # the folder of experiments.gpu
    "processor_speeds": processor_speeds,  # with nothing else running
    # appendix A1: decoder-only and encoder-only
    "language_models": language_models,  # needs the data
    "one_encoder": one_encoder,
    # appendix A2: the block of 2017 with one part exchanged at a time
    **{f"block_{name}": partial(block_variant, name) for name in VARIANTS},
}


def main() -> None:
    """Command line: names of experiments, or none to list them."""
    parser = argparse.ArgumentParser(
        prog="python -m attnbook.experiments", description=__doc__
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="what to run")
    parser.add_argument(
        "--out", type=Path, default=Path(str(results.FOLDER)), help="folder to write to"
    )
    arguments = parser.parse_args()
    unknown = [name for name in arguments.names if name not in EXPERIMENTS]
    if unknown or not arguments.names:
        text = f"There is no experiment {unknown[0]!r}. " if unknown else ""
        parser.exit(
            2 if unknown else 0,
            f"{text}Choose among:\n  " + "\n  ".join(EXPERIMENTS) + "\n",
        )
    set_threads()
    for name in arguments.names:
        print(name, flush=True)
        with last_words(lambda name=name: f"stopped; {name} begins anew next time"):
            start = time.process_time()
            values = EXPERIMENTS[name]()
            seconds = time.process_time() - start
            path = results.save(name, values, seconds, arguments.out)
        print(f"  wrote {path}", flush=True)


if __name__ == "__main__":
    main()
