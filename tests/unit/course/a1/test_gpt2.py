"""GPT-2's weights in our block and in the reader's; induction heads."""

from functools import partial

import pytest
import torch
from compare import close
from torch import nn
from torch.nn import functional

from attnbook.core.vocabulary import BOS, EOS
from attnbook.course.a1 import gpt2
from attnbook.course.ch08.part_encoder_layer import PART
from attnbook.nn.layers import EncoderLayer

THEIR_NAMES = {  # PyTorch's, and GPT-2's, whose matrices are (in, out)
    "self_attn.in_proj_": "attn.c_attn",
    "self_attn.out_proj.": "attn.c_proj",
    "linear1.": "mlp.c_fc",
    "linear2.": "mlp.c_proj",
    "norm1.": "ln_1",
    "norm2.": "ln_2",
}
SIZES = {"vocab": 50, "positions": 16, "d_model": 32, "n_layers": 3}


def pytorchs_gpt2(w, ids):
    """GPT-2's logits (B, T, V) by PyTorch's own layers, filled by GPT-2's names."""
    gelu = partial(functional.gelu, approximate="tanh")
    causal = nn.Transformer.generate_square_subsequent_mask(ids.shape[1]).bool()
    x = w["wte.weight"][ids] + w["wpe.weight"][: ids.shape[1]]  # (B, T, D)
    for n in range(SIZES["n_layers"]):
        layer = nn.TransformerEncoderLayer(
            *(32, 4, 128, 0.0, gelu),
            batch_first=True,
            norm_first=True,
            dtype=torch.float64,
        )
        for name, its in THEIR_NAMES.items():
            for end in ("weight", "bias"):
                part = w[f"h.{n}.{its}.{end}"]
                layer.get_parameter(name + end).data = (
                    part.mT if part.dim() == 2 else part
                )
        x = layer(x, causal)
    x = functional.layer_norm(x, (32,), w["ln_f.weight"], w["ln_f.bias"])
    return x @ w["wte.weight"].mT


@pytest.mark.parametrize("layer", [EncoderLayer, *PART.solution])
def test_both_blocks_predict_what_pytorchs_layers_do(layer):
    weights = gpt2.random_weights(**SIZES)
    ours = gpt2.gpt2({f"transformer.{k}": w for k, w in weights.items()}, 4, layer)
    ids = torch.randint(49, (5, 16), generator=torch.Generator().manual_seed(0))
    ids[:, 0] = 49  # which begins and ends a text
    wanted = pytorchs_gpt2(weights, ids)  # (5, 16, 50)
    got = ours(torch.where(ids == 49, BOS, ids + gpt2.FIRST))
    close(got[..., gpt2.FIRST :], wanted[..., :-1])
    close(got[..., EOS], wanted[..., -1])


def test_an_induction_head_looks_at_what_followed_the_last_token(monkeypatch):
    ids, answers, place = gpt2.induction_texts(50)
    rows = torch.arange(64)
    assert torch.equal(ids[rows, place], answers)
    assert torch.equal(ids[rows, place - 1], ids[:, -1])
    assert all(len({*row}) == 12 for row in ids.tolist())
    maps = torch.full((64, 2, 13, 13), 1 / 13)
    maps[rows, 1, -1] = functional.one_hot(place, 13).float()
    monkeypatch.setattr(gpt2, "attention_maps", lambda *_: {"a": maps, "b": maps})
    wanted = torch.tensor([[1 / 13, 1]] * 2)
    close(gpt2.induction_weights(None, ids, place), wanted, atol=1e-6)
