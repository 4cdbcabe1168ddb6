"""GPT-2's weights in our block and in the reader's; induction heads."""

import pooch
import pytest
import torch
from compare import close

from attnbook.core.vocabulary import BOS, EOS
from attnbook.course.a1 import gpt2
from attnbook.course.ch08.part_encoder_layer import PART
from attnbook.nn.layers import EncoderLayer

SIZES = {"vocab": 50, "positions": 16, "d_model": 32, "n_layers": 3}


@pytest.mark.parametrize("layer", [EncoderLayer, *PART.solution])
def test_both_blocks_predict_what_the_library_does(layer):
    # Not among the project's requirements: `pip install transformers` into a copy.
    library = pytest.importorskip("transformers")
    sizes = {"vocab_size": 50, "n_positions": 16, "n_embd": 32, "n_layer": 3}
    config = library.GPT2Config(n_head=4, bos_token_id=49, eos_token_id=49, **sizes)
    theirs = library.GPT2LMHeadModel(config).double().eval()
    theirs.load_state_dict(
        {f"transformer.{k}": w for k, w in gpt2.random_weights(**SIZES).items()},
        strict=False,
    )
    ours = gpt2.gpt2(theirs.state_dict(), 4, layer)
    ids = torch.randint(49, (5, 16), generator=torch.Generator().manual_seed(0))
    ids[:, 0] = 49  # which begins and ends a text
    wanted = theirs(ids).logits  # (5, 16, 50)
    got = ours(torch.where(ids == 49, BOS, ids + gpt2.FIRST))
    close(got[..., gpt2.FIRST :], wanted[..., :-1])
    close(got[..., EOS], wanted[..., -1])


def test_the_readers_block_does_what_ours_does(capsys):
    weights = gpt2.random_weights(**SIZES)
    weights["h.0.attn.bias"] = torch.ones(1, 1, 16, 16)  # a mask, in the published file
    ours, readers = (gpt2.gpt2(weights, 4, x) for x in (EncoderLayer, *PART.solution))
    ids, *_ = gpt2.induction_texts(len(ours.W_e))
    close(readers(ids), ours(ids))
    gpt2.report(weights, n_heads=4)
    assert "All 12 heads: 0.0" in capsys.readouterr().out


def test_an_induction_head_looks_at_what_followed_the_last_token(monkeypatch):
    ids, answers, place = gpt2.induction_texts(50)
    rows = torch.arange(64)
    assert torch.equal(ids[rows, place], answers)
    assert torch.equal(ids[rows, place - 1], ids[:, -1])
    assert all(len({*row}) == 12 for row in ids.tolist())
    maps = torch.full((64, 2, 13, 13), 1 / 13)
    maps[rows, 1, -1] = torch.nn.functional.one_hot(place, 13).float()
    monkeypatch.setattr(gpt2, "attention_maps", lambda *_: {"a": maps, "b": maps})
    wanted = torch.tensor([[1 / 13, 1]] * 2)
    close(gpt2.induction_weights(None, ids, place), wanted, atol=1e-6)


def test_without_a_network_one_is_told_what_to_do(monkeypatch):
    def fail(*_, **__):
        raise ConnectionError

    monkeypatch.setattr(pooch, "retrieve", fail)
    monkeypatch.setattr("sys.argv", ["gpt2"])
    with pytest.raises(SystemExit, match=r"fetch https://.*gpt2 model"):
        gpt2.main()
