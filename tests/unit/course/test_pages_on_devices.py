"""What the pages print names a device for what it makes, as a GPU needs.

In each test "meta" is the default, whose tensors fit to nothing of the CPU.
"""

import pytest
import torch
from compare import close, make_transformer, randomise, sentences
from notebook_cells import printed
from torch import nn

from attnbook.nn.layers import TransformerConfig

SRC = nn.functional.pad(sentences(0, (5, 3), 12), (0, 2))  # two columns of padding
IDS = sentences(1, (4, 4), 9)
X = torch.randn(2, 5, 8, generator=torch.Generator().manual_seed(0))
LENGTHS = torch.tensor([5, 3])
WORDS, SIZES = (12, 9, 4, 6), {"d_model": 8, "n_heads": 2, "n_layers": 1, "d_ff": 8}
CONFIG = TransformerConfig(12, 9, **SIZES)

MODULES = [
    ("ch01", "Encoder", False, (12, 4, 6), (SRC,)),
    ("ch01", "Seq2Seq", False, WORDS, (SRC, IDS)),
    ("ch01", "Sutskever", True, WORDS, (SRC, IDS)),
    ("ch01", "StaticContext", False, WORDS, (SRC, IDS)),
    ("ch02", "BahdanauModel", False, WORDS, (SRC, IDS)),
    ("ch03", "LuongDot", False, WORDS, (SRC, IDS)),
    ("ch04", "SelfAttention", False, (8, 4, 6), (X,)),
    ("ch05", "MultiHead", False, (8, 2), (X, X, X)),
    ("ch05", "MultiHeadAttention", True, (8, 2), (X, X, X)),
    ("ch07", "PositionalEncoding", True, (8,), (X,)),
    ("ch08", "EncoderLayer", True, (CONFIG,), (X,)),
    ("ch08", "DecoderLayer", True, (CONFIG,), (X, X)),
    ("ch09", "Transformer", True, (CONFIG,), (SRC, IDS)),
]


MOVED = {"PositionalEncoding", "ex1_last_state", "ex3_local_p"}
MOVED |= {"rotate", "ex7_half_split", "gradient_norms"}
"""They move what they make to their inputs; here these lie on "meta" themselves."""


def compare(name, call, make, *inputs):
    """Assert that results, one tensor or several, lie where the inputs lie."""
    wanted = call(make("cpu"), *inputs)
    if name in MOVED:
        found = call(make("meta"), *(x.to("meta") for x in inputs))
    else:
        with torch.device("meta"):
            found = call(make("cpu"), *inputs)
    if isinstance(wanted, torch.Tensor):
        found, wanted = [found], [wanted]
    for a, b in zip(found, wanted, strict=True):
        assert a.device.type == ("meta" if name in MOVED else "cpu")
        assert a.shape == b.shape
        if name not in MOVED:
            close(a, b, 1e-6)


@pytest.mark.parametrize(("page", "name", "solution", "sizes", "inputs"), MODULES)
def test_modules(page, name, solution, sizes, inputs):
    kind = printed(page, name, solution)

    def make(device):
        torch.manual_seed(0)
        with torch.device("cpu"):
            return kind(*sizes).eval().to(device)

    compare(name, lambda module, *given: module(*given), make, *inputs)


FUNCTIONS = [
    ("ch01", "gru_step", lambda f, x: f(x[:, 0], x[:, 1], gru(x))),
    ("ch01", "ex1_last_state", lambda f, x: f(x, LENGTHS)),
    ("ch02", "ex2_masked_softmax", lambda f, x: f(x[0], x[0] >= x[0, :, :1])),
    ("ch03", "ex3_local_p", lambda f, x: f(x[0, 0], 3.2, 2)),
    ("ch04", "attention", lambda f, x: f(x, x, x)),
    ("ch04", "ex4_backward", lambda f, x: f(x[0], x[1], x[1], x[0])),
    ("ch05", "ex5_find_the_bug", lambda f, x: f(x, x, x, 2)),
    ("ch07", "rotate", lambda f, x: f(x)),
    ("ch07", "ex7_half_split", lambda f, x: f(x)),
    ("ch08", "layer_norm", lambda f, x: f(x, x[0, 0], x[0, 1])),
    ("ch08", "ex8_norm_gradient", lambda f, x: f(x, x.flip(-1))),
    ("ch10", "token_probabilities", lambda f, x: f(x[0], 0.5, 4, 0.9)),
    ("ch10", "ex10_beam_step", lambda f, x: f(x[:, 0, :5], x)),
    ("ch11", "convolution", lambda f, x: f(x[0], x[0, :3, None] * x[0, 0, :, None])),
    ("ch11", "ex11_future", lambda f, x: f(x, x[0, :3].T * x[1, :, :1, None], 2)),
    ("ch12", "smoothed_loss", lambda f, x: f(x, (x[..., 0] > 0).long())),
    ("ch12", "label_smoothing_loss", lambda f, x: f(x, (x[..., 0] > 0).long())),
    ("a3", "linear_attention", lambda f, x: f(x[0], x[1], x[1, :, :3], 2)),
    ("a3", "exa3_decay", lambda f, x: f(x[0], x[1], x[1, :, :3], 0.9)),
    ("lab01", "gradient_norms", lambda f, x: f(gru(x), x)),
    ("lab04", "running_attention", lambda f, x: f(x[0, 0], x[0], x[1, :, :3])),
]


def gru(x):
    torch.manual_seed(0)
    with torch.device("cpu"):
        return nn.GRU(8, 8, batch_first=True).to(x.device, x.dtype)


@pytest.mark.parametrize(("page", "name", "call"), FUNCTIONS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_functions(page, name, call, dtype):
    function = printed(page, name, solution=name.startswith(("ex", "label")))
    assert call(function, X.to(dtype))[0].dtype in (dtype, torch.int64)
    compare(name, call, lambda device: function, X.to(dtype))


def transformer():
    torch.manual_seed(0)
    return randomise(make_transformer(12, 9, norm_first=True, **SIZES)).eval()


def stepped(decoder, src):
    logits, _ = decoder.step(src[:, 0], decoder.start(src))
    return logits.tolist()


SEARCHES = [
    ("ch10", "decode", lambda f, model, src: f(model, src[:1])),
    ("ch10", "beam_search", lambda f, model, src: f(model, src[:1])[0][2]),
    ("ch10", "exact_search", lambda f, model, src: f(model, src[:1], (-9.0, []))[1]),
    ("ch10", "Recompute", lambda f, model, src: stepped(f(model), src)),
    ("ch10", "CachedDecoder", lambda f, model, src: stepped(f(model), src)),
    ("ch10", "ex10_last_position", lambda f, model, src: f(model, src, 3).tolist()),
    ("ch10", "greedy", lambda f, model, src: f(model, src, 3).tolist()),
]


@pytest.mark.parametrize(("page", "name", "call"), SEARCHES)
def test_searches(page, name, call):
    search = printed(page, name, solution=name in ("ex10_last_position", "greedy"))
    model = transformer()
    wanted = call(search, model, SRC)
    with torch.device("meta"):
        assert call(search, model, SRC) == wanted
