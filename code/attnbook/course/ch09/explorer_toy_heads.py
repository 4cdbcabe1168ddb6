"""Chapter 9: the heads of the trained toy Transformer, on a sentence that is typed."""

from dataclasses import replace
from functools import lru_cache

from torch import Tensor, nn

from attnbook.analysis.maps import attention_maps
from attnbook.course.kit.explorers.controls import TextBox
from attnbook.course.kit.explorers.explorer import Explorer
from attnbook.course.kit.explorers.token_maps import (
    Tokens,
    chosen_weights,
    head_menus,
    peaks,
    token_map,
)
from attnbook.course.kit.explorers.views import View
from attnbook.toy.data import make_batch
from attnbook.toy.language import Pair, translate_by_rule
from attnbook.toy.metrics import alignment_accuracy, greedy_translations
from attnbook.toy.models import SIZES, load_toy_model

SENTENCE = "the old farmer sees a bird and this young queen hears the big dog"
live_model = "transformer"  # which runs in the published page
CONTROLS = {
    "sentence": TextBox("sentence", SENTENCE),
    **head_menus(SIZES["n_layers"], SIZES["n_heads"]),
}


def head_view(sentence: str, kind: str, layer: str, head: str) -> View:
    """The output for a sentence, and the weights of the head that is chosen."""
    pair = translate_by_rule(sentence.lower().rstrip(" ."))
    output, maps = translated(pair)
    weights = chosen_weights(maps, kind, layer, head)  # (T, S)
    tokens = Tokens((*pair.source, "<eos>"), ("<bos>", *output), (*output, "<eos>"))
    right = output == pair.target
    said = f"Output: {' '.join(output)}. "
    said += "An exact match." if right else f"Correct: {' '.join(pair.target)}."
    frames = ()
    if right and kind == "cross-attention":
        frames = enumerate(pair.alignment)
        found = alignment_accuracy(weights[None], [pair])
        said += f" The largest weight is on the framed word in {found:.0%} of the "
        said += "rows with a frame."
    chart = token_map(weights, tokens, kind, frames)
    return View(said, (chart,), f"{kind}. {peaks(weights, tokens, kind)}.")


explore_toy_heads = Explorer(head_view, CONTROLS)


@lru_cache(maxsize=16)
def translated(pair: Pair) -> tuple[tuple[str, ...], dict[str, Tensor]]:
    """The greedy output and all weights, (H, T, S); a menu does not compute them anew.

    The decoder reads its own output.
    """
    model = toy_model()
    [output] = greedy_translations(model, [pair])
    batch = make_batch([replace(pair, target=output)])
    maps = attention_maps(model, batch.src, batch.tgt_in)
    return output, {name: w[0] for name, w in maps.items()}


@lru_cache(maxsize=1)
def toy_model() -> nn.Module:
    """The trained Transformer that comes with the package."""
    return load_toy_model("transformer")
