"""What appendix A3 is made of and its exercises."""

import pytest
import torch
from notebook_cells import printed

from attnbook.course.kit.exercises.short_exercises import find

# Exercises


def test_a_decay_is_attention_with_a_mask_that_decays():
    q, k, v, gamma = find("exa3_decay").inputs()[0]
    i = torch.arange(len(q))
    fading = (gamma ** (i[:, None] - i)).tril()
    wanted = ((q @ k.T) * fading) @ v
    assert torch.allclose(find("exa3_decay").reference(q, k, v, gamma), wanted)


def test_an_encoder_s_linear_attention_is_attention_to_all_keys():
    for q, k, v in find("exa3_encoder").inputs():
        pairs = q @ k.T
        wanted = pairs / pairs.sum(1, keepdim=True) @ v
        assert torch.allclose(find("exa3_encoder").reference(q, k, v), wanted)


# The page's own code, at its edges


@pytest.mark.parametrize("block", [1, 3, 64, 600])
@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64])
def test_linear_attention_of_the_page_in_any_type(dtype, block):
    """Its weights are positive, and sum to 1 however long the sequence."""
    attend, ones = printed("a3", "linear_attention"), torch.ones(520, 64, dtype=dtype)
    for x in (ones, -15 * ones, -40 * ones.float()):
        out = attend(x, x, ones.to(x), block)
        assert out.dtype == x.dtype
        assert torch.allclose(out, torch.ones_like(out), atol=1e-5)


def test_linear_attention_of_the_page_by_the_formula():
    attend = printed("a3", "linear_attention")
    g = torch.Generator().manual_seed(0)
    q, k, v = torch.randn(3, 7, 4, generator=g, dtype=torch.float64)
    q_features, k_features = (torch.where(x > 0, x + 1, x.exp()) for x in (q, k))
    for i in range(7):
        weights = k_features[: i + 1] @ q_features[i]
        wanted = weights @ v[: i + 1] / weights.sum()
        assert torch.allclose(attend(q, k, v, 3)[i], wanted, 1e-12, 1e-12)
