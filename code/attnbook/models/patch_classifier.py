"""An encoder that reads an image as a sequence of patches: Dosovitskiy et al. 2021."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from attnbook.core.checks import check_sizes
from attnbook.models.language_model import make_table
from attnbook.nn.layers import EncoderStack, TransformerConfig, check_config


def cut_patches(images: Tensor, size: int) -> Tensor:
    """Cut images into square patches, from left to right and from top to bottom.

    Args:
        images: Grey values, (B, height, width).
        size: Side P of a patch, in pixels.

    Returns:
        (B, T, P²), T the number of patches.

    Raises:
        ValueError: If the patches do not fit, or there are not three axes.
    """
    check_sizes(size=size)
    if images.dim() != 3:
        raise ValueError(
            f"images have shape {tuple(images.shape)}; they must be (B, height, width):"
            " of (B, 1, height, width), give images[:, 0]"
        )
    height, width = images.shape[1:]
    if height % size or width % size:
        raise ValueError(
            f"images of {height} × {width} pixels cannot be cut into patches of side "
            f"{size}; choose a side that divides both"
        )
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
        check_config(config)
        check_sizes(image=image, patch=patch, n_classes=n_classes)
        self.patch = patch
        number = len(cut_patches(torch.zeros(1, image, image), patch)[0])
        self.W_patch = nn.Linear(patch**2, config.d_model)
        self.class_token = make_table(1, config.d_model)  # (1, D)
        self.W_p = make_table(1 + number, config.d_model)  # (1 + T, D)
        self.dropout = nn.Dropout(config.dropout)
        self.stack = EncoderStack(config)
        self.out = nn.Linear(config.d_model, n_classes)

    def forward(self, images: Tensor) -> Tensor:
        """Logits of the classes, (B, n_classes), for images, (B, height, width).

        Raises:
            ValueError: If the images are not of the model's size.
        """
        x = self.W_patch(cut_patches(images, self.patch))  # (B, T, D)
        if 1 + x.shape[1] != len(self.W_p):
            raise ValueError(
                f"images of shape {tuple(images.shape[1:])} make {x.shape[1]} patches; "
                f"the model has positions for {len(self.W_p) - 1}: give images of the "
                "size it was made for"
            )
        first = self.class_token.expand(len(x), 1, -1)  # (B, 1, D)
        h = self.dropout(torch.cat([first, x], 1) + self.W_p)  # (B, 1 + T, D)
        return self.out(self.stack(h)[:, 0])  # the class token's vector alone
