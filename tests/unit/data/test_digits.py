"""The images of digits are those that their authors published."""

import torch

from attnbook.data.digits import N_TRAIN, load_digits

OF_EACH = [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]
"""Images of each digit, as the authors count them in their test set."""


def test_they_are_complete():
    images, labels = load_digits()
    assert images.shape == (1797, 8, 8)
    assert labels.bincount().tolist() == OF_EACH
    assert images.min() == 0
    assert images.max() == 1
    assert round(16 * images.double().sum().item()) == 561_718  # grey values in all
    assert torch.equal(16 * images, (16 * images).round())
    assert 0 < N_TRAIN < len(images)


def test_an_image_lies_next_to_its_label():
    """The mean zero is empty in the middle, and the mean one is not."""
    images, labels = load_digits()
    zero, one = (images[labels == digit].mean(0) for digit in (0, 1))
    assert zero[3:5, 3:5].max() < 0.2 < 0.5 < one[3:5, 3:5].min()
