"""The figure of chapter 1."""

import matplotlib.pyplot as plt
import torch

from attnbook.course.ch01 import figures as ch01
from attnbook.models.seq2seq import InitialState
from attnbook.toy.data import SOURCE, TARGET


def test_captions_tell_what_is_drawn():
    torch.manual_seed(0)
    model = InitialState(len(SOURCE), len(TARGET))
    frames, captions, alts = ch01.prediction_frames(model, "a dog sees a cat")
    assert len(frames) == len(captions) == len(alts) == 6
    assert captions[0].startswith("Previous tokens: none. Most probable next token: ")
    assert captions[2].startswith("Previous tokens: bodus dos. ")
    for frame, caption, alt in zip(frames, captions, alts, strict=True):
        top = frame.axes[0].get_yticklabels()[-1].get_text()
        assert f"next token: {top}," in caption
        assert f"tokens: {top} " in alt
        plt.close(frame)
