"""Every model does on a GPU what it does on the CPU."""

from functools import partial

import pytest
import torch
from compare import DECODERS, close, decoder_of, sentences

from attnbook.core.vocabulary import BOS, UNK
from attnbook.data.batching import pad
from attnbook.decoding.beam import beam_search
from attnbook.decoding.greedy_search import greedy
from attnbook.decoding.sampling import sample
from attnbook.decoding.scoring import log_probability
from attnbook.models.luong import Luong
from attnbook.nn.local_attention import ALIGNMENTS
from attnbook.nn.losses import label_smoothing_loss, symmetric_kl, token_loss
from attnbook.nn.scores import SCORES
from attnbook.nn.sequence_layers import WindowedSelfAttention
from attnbook.toy.deep_stacks import CONNECTIONS, Stack
from attnbook.toy.last_position import LAYER_STACKS, InductionModel, LastPosition
from attnbook.toy.recall_task import RecallModel
from attnbook.toy.single_attention import POSITION_KINDS, one_layer
from attnbook.toy.taggers import LAYERS, deep_tagger, tagger

SRC = sentences(0, (6, 4, 1), 12)
TGT = sentences(1, (5, 2, 4), 6)
TGT_IN = pad([[BOS, *row[:-1]] for row in TGT.tolist()])


def gradients(device, make, loss, *inputs):
    """Of a loss of model and inputs, computed on a device."""
    torch.manual_seed(0)
    model = make().double().to(device)
    loss(model, *(x.to(device) for x in inputs)).backward()
    assert {p.device.type for p in model.parameters()} == {device}
    return [p.grad.cpu() for p in model.parameters() if p.grad is not None]


def same(device, make, loss, *inputs):
    """Assert that the gradients on a device are those on the CPU."""
    ours = gradients(device, make, loss, *inputs)
    reference = gradients("cpu", make, loss, *inputs)
    assert ours
    for gradient, other in zip(ours, reference, strict=True):
        close(gradient, other)


def r_drop(logits, targets):
    """R-Drop's term, of a second pass with other logits."""
    return symmetric_kl(torch.cat([logits, logits.flip(-1)]), targets).sum()


LOSSES = {
    "plain": token_loss,
    "smoothed": lambda *args: label_smoothing_loss(*args).sum(),
    "R-Drop": r_drop,
}


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("name", DECODERS)
def test_forward_and_backward(device, name, loss):
    def loss_of(model, src, tgt_in, tgt_out):
        return LOSSES[loss](model(src, tgt_in), tgt_out)

    same(device, lambda: decoder_of(name), loss_of, SRC, TGT_IN, TGT)


@pytest.mark.parametrize("align", ALIGNMENTS)
@pytest.mark.parametrize("score", SCORES)
def test_every_form_of_luong(device, score, align):
    half_width = None if align == "global" else 1

    def loss_of(model, src, tgt_in):
        logits, weights = model(src, tgt_in, need_weights=True)
        return logits.logsumexp(-1).sum() + weights.square().sum()

    make = partial(Luong, 12, 6, 3, 4, score, align, half_width)
    same(device, make, loss_of, SRC, TGT_IN)


OF_IDS = {
    **{f"{k} positions": partial(one_layer, k, 9, 8) for k in POSITION_KINDS},
    **{f"layer {k} ReLU": partial(tagger, k, 1) for k in LAYERS},
    "post-norm": partial(deep_tagger, 2, False, 8),
    **{k: lambda k=k: LastPosition(LAYER_STACKS[k](6, 8), 8) for k in LAYER_STACKS},
    "induction": lambda: InductionModel(WindowedSelfAttention(8, 2, 3), 8),
    "window": lambda: LastPosition([WindowedSelfAttention(8, 2, 2)], 8),
}


@pytest.mark.parametrize("name", OF_IDS)
def test_every_small_model(device, name):
    def loss_of(model, ids):
        return model(ids).logsumexp(-1).sum()

    same(device, OF_IDS[name], loss_of, SRC)


@pytest.mark.parametrize("kind", ["rnn", "gru"])
def test_recurrent_networks(device, kind):
    def loss_of(model, ids):
        return torch.stack(model(ids)).logsumexp(-1).sum()

    same(device, partial(RecallModel, kind, 8), loss_of, SRC)


@pytest.mark.parametrize("connection", CONNECTIONS)
def test_stacks(device, connection):
    x = torch.randn(2, 3, 8, generator=torch.Generator().manual_seed(0)).double()

    def loss_of(model, x):
        return model(x)[-1].square().sum()

    same(device, partial(Stack, connection, 3, 8, 2), loss_of, x)


@pytest.mark.parametrize("name", DECODERS)
def test_every_way_of_decoding(device, name):
    def decode(device):
        model, src = decoder_of(name).to(device), SRC.to(device)
        generator = torch.Generator(device).manual_seed(0)
        beam = beam_search(model, src, 7, width=3)
        found = [
            greedy(model, src, 7),
            sample(model, src, 7, generator, temperature=2.0, top_k=4, top_p=0.9),
            *beam,
            log_probability(model, src, beam.ids[:, 0]),
        ]
        assert {x.device.type for x in found} == {device}
        return [x.cpu() for x in found]

    for ours, reference in zip(decode(device), decode("cpu"), strict=True):
        close(ours, reference)


def test_unknown_words_are_refused_there_too(device):
    model = decoder_of("post-norm").to(device)
    with pytest.raises(ValueError, match="source id 12 is not in 0 … 11"):
        model.start(torch.tensor([[UNK, 12]]).to(device))
