"""An encoder that reads an image as a sequence of patches: Dosovitskiy et al. 2021."""

import torch
from torch import Tensor, nn

from attnbook.models.language_model import make_table
from attnbook.nn.layers import EncoderStack, TransformerConfig


def cut_patches(images: Tensor, size: int) -> Tensor:
    """Cut images into square patches, from left to right and from top to bottom.

    Args:
        images: Grey values, (B, height, width).
        size: Side P of a patch, in pixels, a divisor of both sides.

    Returns:
        (B, T, P²), T the number of patches.
    """
    rows = images.unflatten(2, (-1, size)).unflatten(1, (-1, size))
    # (B, rows, P, columns, P) → (B, rows, columns, P, P) → (B, T, P²)
    return rows.transpose(2, 3).flatten(3).flatten(1, 2)


class PatchClassifier(nn.Module):
    """A Vision Transformer (ViT): patches and a class token through encoder layers.

    Args:
        config: The sizes; those of vocabularies are not used.
        image: Side of the square images, in pixels.
        patch: Side P of a patch.
        n_classes: Number of classes.
    """

    def __init__(
        self, config: TransformerConfig, image: int, patch: int, n_classes: int
    ):
        super().__init__()
        self.patch = patch
        self.W_patch = nn.Linear(patch**2, config.d_model)
        self.class_token = make_table(1, config.d_model)  # (1, D)
        self.W_p = make_table(1 + (image // patch) ** 2, config.d_model)  # (1 + T, D)
        self.stack = EncoderStack(config)
        self.out = nn.Linear(config.d_model, n_classes)

    def forward(self, images: Tensor) -> Tensor:
        """Logits of the classes, (B, n_classes), for images, (B, height, width)."""
        x = self.W_patch(cut_patches(images, self.patch))  # (B, T, D)
        first = self.class_token.expand(len(x), 1, -1)  # (B, 1, D)
        h = torch.cat([first, x], 1) + self.W_p  # (B, 1 + T, D)
        return self.out(self.stack(h)[:, 0])  # the class token's vector alone
