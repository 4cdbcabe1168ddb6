"""Images in patches: as by plain loops and as by a convolution."""

import pytest
import torch
from compare import agree, double, numbers, randomise
from torch.nn import functional as F

from attnbook.models.patch_classifier import PatchClassifier, cut_patches
from attnbook.nn.layers import TransformerConfig


@pytest.mark.parametrize(
    ("shape", "size"), [((2, 8, 8), 2), ((3, 6, 4), 2), ((1, 6, 9), 3)]
)
def test_patches_are_cut_in_reading_order(shape, size):
    (images,) = numbers(0, shape)
    wanted = torch.stack(
        [
            torch.stack(
                [
                    image[top : top + size, left : left + size].flatten()
                    for top in range(0, shape[1], size)
                    for left in range(0, shape[2], size)
                ]
            )
            for image in images
        ]
    )
    agree(cut_patches(images, size), wanted, [images])


def model_of(patch=2, norm_first=True):
    sizes = {"d_model": 8, "n_heads": 2, "n_layers": 2, "d_ff": 12}
    config = TransformerConfig(norm_first=norm_first, **sizes)
    return randomise(double(PatchClassifier, config, 8, patch, 10)).eval()


@pytest.mark.parametrize("patch", [2, 4])
@pytest.mark.parametrize("norm_first", [False, True], ids=["post", "pre"])
def test_it_is_a_convolution_and_a_stack(patch, norm_first):
    model = model_of(patch, norm_first)
    (images,) = numbers(0, (3, 8, 8))
    kernel = model.W_patch.weight.view(8, 1, patch, patch)
    x = F.conv2d(images[:, None], kernel, model.W_patch.bias, patch)  # (B, D, 8/P, 8/P)
    x = x.flatten(2).transpose(1, 2)  # (B, T, D)
    h = torch.cat([model.class_token[None].expand(3, 1, 8), x], 1) + model.W_p
    for layer in model.stack.layers:
        h = layer(h)
    wanted = model.out(model.stack.norm(h)[:, 0])
    agree(model(images), wanted, [images, *model.parameters()])
