"""GPT-2 (Radford et al. 2019) in the course's block, or the reader's.

``python -m attnbook.course.a1.gpt2`` downloads the published weights, half a gigabyte,
and looks for induction heads in them; behind it may stand the path of a copy.
"""

import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import torch
from safetensors.torch import load_file
from torch import Tensor, nn
from torch.nn import functional as F

from attnbook.analysis.maps import attention_maps
from attnbook.core.vocabulary import BOS, EOS, UNK
from attnbook.course.kit.exercises.my_transformer import my_part
from attnbook.models.language_model import LanguageModel
from attnbook.nn.layers import EncoderLayer, TransformerConfig
from attnbook.toy.tasks import N_SYMBOLS, induction_batches

URL = (
    "https://huggingface.co/openai-community/gpt2/resolve/"
    "607a30d783dfa663caf39e06633721c8d4cfcd7e/model.safetensors"
)
SHA256 = "248dfc3911869ec493c76e65bf2fcf7f615828b0254c12b473182f0f81d3a707"
FIRST = UNK + 1
"""Our id of GPT-2's token 0; its one special token, the last, is our BOS and EOS."""
NAMES = {
    "h.": "stack.layers.",
    "ln_f.": "stack.norm.",
    "ln_1.": "norm_1.",
    "attn.c_proj.": "attention.W_O.",
    "ln_2.": "norm_2.",
    "mlp.c_fc.": "feed_forward.W_1.",
    "mlp.c_proj.": "feed_forward.W_2.",
}
"""What stands in the file's names, and in ours; ``attn.c_attn`` holds three of ours."""


class GELUFeedForward(nn.Module):
    """A feed-forward network with GELU instead of ReLU, in GPT-2's approximation."""

    def __init__(self, network: nn.Module):
        super().__init__()
        self.W_1, self.W_2 = network.W_1, network.W_2

    def forward(self, x: Tensor) -> Tensor:
        """Map (..., D) to (..., D)."""
        return self.W_2(F.gelu(self.W_1(x), approximate="tanh"))


def gpt2(
    weights: Mapping[str, Tensor],
    n_heads: int | None = None,
    layer: Callable[[TransformerConfig], nn.Module] = EncoderLayer,
) -> LanguageModel:
    """Build GPT-2 around layers of ours, in eval mode.

    Args:
        weights: By GPT-2's names, with ``transformer.`` before them or without.
        n_heads: None: each head is 64 wide, as in all models of this name.
        layer: Makes a layer from its sizes: the package's class or the reader's.

    Returns:
        A model whose token ``i`` is GPT-2's ``i - FIRST``.
    """
    theirs = {name.removeprefix("transformer."): w for name, w in weights.items()}
    state = {}
    for there, w in theirs.items():
        name = there
        for old, new in NAMES.items():
            name = name.replace(old, new)
        turned = w.mT if w.dim() == 2 else w  # theirs are (in, out), ours (out, in)
        if "attn.c_attn" in name:
            for linear, part in zip(
                ("W_Q", "W_K", "W_V"), turned.chunk(3), strict=True
            ):
                state[name.replace("attn.c_attn", f"attention.{linear}")] = part
        elif name != there and ".attn." not in name:  # some files hold masks, too
            state[name] = turned
    W_e, W_p = theirs["wte.weight"], theirs["wpe.weight"]  # noqa: N806
    ours = W_e.new_zeros(FIRST + len(W_e) - 1, W_e.shape[1])  # (V, D)
    ours[FIRST:], ours[[BOS, EOS]] = W_e[:-1], W_e[-1]
    n_layers = sum(name.endswith("ln_1.bias") for name in theirs)
    d_ff, d_model = state["stack.layers.0.feed_forward.W_1.weight"].shape
    sizes = {"d_model": d_model, "n_heads": n_heads or d_model // 64, "d_ff": d_ff}
    config = TransformerConfig(
        len(ours), n_layers=n_layers, dropout=0.0, norm_first=True, **sizes
    )
    model = LanguageModel(config, len(W_p))
    model.stack.layers = nn.ModuleList(layer(config) for _ in range(n_layers))
    for block in model.stack.layers:
        block.feed_forward = GELUFeedForward(block.feed_forward)
    model.to(W_e).load_state_dict({"W_e": ours, "W_p": W_p, **state})
    return model.eval()


def random_weights(
    vocab: int, positions: int, d_model: int, n_layers: int, seed: int = 0
) -> dict[str, Tensor]:
    """Draw small random weights by GPT-2's names and shapes, in float64."""
    d, g = d_model, torch.Generator().manual_seed(seed)
    sizes = {"wte": (vocab, d), "wpe": (positions, d), "ln_f": (d,)}
    for n in range(n_layers):
        block = {"ln_1": (d,), "attn.c_attn": (d, 3 * d), "attn.c_proj": (d, d)}
        block |= {"ln_2": (d,), "mlp.c_fc": (d, 4 * d), "mlp.c_proj": (4 * d, d)}
        sizes |= {f"h.{n}.{name}": shape for name, shape in block.items()}
    shapes = {f"{name}.weight": shape for name, shape in sizes.items()}
    shapes |= {f"{name}.bias": shape[-1:] for name, shape in [*sizes.items()][2:]}
    return {x: torch.randn(s, generator=g).double() / d**0.5 for x, s in shapes.items()}


def induction_texts(vocab_size: int) -> tuple[Tensor, Tensor, Tensor]:
    """Chapter 11's task with random tokens for symbols, another choice in each text.

    Returns:
        Ids from ``BOS`` on, (64, 13), the last one a repetition; the token that
        followed it before, (64,); and the position of that token, (64,).
    """
    symbols, _ = next(induction_batches(12, seed=0))  # (64, 12)
    g = torch.Generator().manual_seed(0)
    tokens = torch.rand(64, vocab_size - FIRST, generator=g).topk(N_SYMBOLS + 1)[1]
    ids = (FIRST + tokens).gather(1, symbols)  # (64, 12)
    ids = torch.cat([torch.full((64, 1), BOS), ids], 1)
    place = (ids[:, :-1] == ids[:, -1:]).int().argmax(1) + 1  # (64,)
    return ids, ids.gather(1, place[:, None])[:, 0], place


def induction_weights(model: LanguageModel, ids: Tensor, place: Tensor) -> Tensor:
    """The weight that each head gives one position from the last: means, (L, H)."""
    maps = torch.stack([*attention_maps(model, ids).values()])  # (L, B, H, T, T)
    return maps[:, torch.arange(len(ids)), :, -1, place].mean(0)  # from (B, L, H)


def download() -> Path:
    """Find the published weights in the cache, or download them.

    Raises:
        ValueError: If there is no network.
    """
    import pooch

    try:
        return Path(pooch.retrieve(URL, f"sha256:{SHA256}", progressbar=True))
    except (OSError, ValueError) as error:  # requests' errors are OSErrors
        raise ValueError(
            f"GPT-2's weights could not be downloaded ({type(error).__name__}). Where "
            f"there is a network, fetch {URL}, 548 MB; then give the path of your "
            "copy: python -m attnbook.course.a1.gpt2 model.safetensors"
        ) from error


@torch.no_grad()
def report(weights: Mapping[str, Tensor], n_heads: int | None = None) -> None:
    """Load the reader's block and ours, and print what the heads of ours attend to."""
    model = gpt2(weights, n_heads)
    ids, answers, place = induction_texts(len(model.W_e))
    logits = model(ids)[:, -1]  # (64, V)
    other = gpt2(weights, n_heads, my_part("EncoderLayer"))(ids)[:, -1]
    off = (other - logits).abs().max() / logits.abs().max()
    print(f"Its logits differ from the package's by {off:.0e} of the largest.")
    right = (logits.argmax(-1) == answers).float().mean()
    print(f"Induction with random tokens: {right:.0%} right. Heads that look there:")
    found = induction_weights(model, ids, place)  # (L, H)
    for i in found.flatten().argsort(descending=True)[:8].tolist():
        layer, head = divmod(i, found.shape[1])
        print(f"layer {layer + 1}, head {head + 1}: weight {found[layer, head]:.2f}")
    print(f"All {found.numel()} heads: {found.mean():.2f}; equal shares: {1 / 13:.2f}")


def main() -> None:
    """Command line: perhaps the path of a copy of the weights."""
    try:
        report(load_file(sys.argv[1] if sys.argv[1:] else download()))
    except (OSError, ValueError) as error:
        sys.exit(f"{error}")


if __name__ == "__main__":
    main()
