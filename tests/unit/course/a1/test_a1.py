"""What appendix A1 is made of: patches, roles of words, and what it says of results."""

import pytest
import torch
from compare import agree, double, numbers, randomise
from torch.nn import functional as F

from attnbook.core.vocabulary import PAD
from attnbook.course.a1.patches import PatchClassifier
from attnbook.course.a1.roles import ROLES, role_batch, roles_of
from attnbook.course.kit.exercises.checking import find
from attnbook.nn.layers import TransformerConfig
from attnbook.toy.data import SOURCE, held_out_pairs
from attnbook.toy.language import translate_by_rule

TWO = "the old farmer sees a bird and an old cat helps this king"


def test_roles_of_a_sentence_by_hand():
    subject, clause = ["subject"] * 3, ["verb", "object", "object"]
    assert roles_of(TWO.split()) == [*subject, *clause, "connective", *subject, *clause]


def test_a_batch_has_an_id_for_each_word_and_its_role():
    pairs = [translate_by_rule(TWO), *held_out_pairs(1, 3)]
    ids, tags = role_batch(pairs)
    for pair, row, tag in zip(pairs, ids.tolist(), tags.tolist(), strict=True):
        n = len(pair.source)
        assert row[:n] == SOURCE.encode(pair.source)
        assert [ROLES[i] for i in tag[:n]] == roles_of(pair.source)
        assert {*row[n:], *tag[n:]} <= {PAD}


@pytest.mark.parametrize("patch", [2, 4])
def test_a_patch_classifier_is_a_convolution_and_a_stack(patch):
    sizes = {"d_model": 8, "n_heads": 2, "n_layers": 2, "d_ff": 12}
    config = TransformerConfig(norm_first=True, **sizes)
    model = randomise(double(PatchClassifier, config, 8, patch, 10)).eval()
    (images,) = numbers(0, (3, 8, 8))
    kernel = model.W_patch.weight.view(8, 1, patch, patch)
    x = F.conv2d(images[:, None], kernel, model.W_patch.bias, patch)  # (B, D, 8/P, 8/P)
    x = x.flatten(2).transpose(1, 2)  # (B, T, D)
    h = torch.cat([model.class_token[None].expand(3, 1, 8), x], 1) + model.W_p
    for layer in model.stack.layers:
        h = layer(h)
    wanted = model.out(model.stack.norm(h)[:, 0])
    agree(model(images), wanted, [images, *model.parameters()])


# Exercises


def test_valid_translations_by_counting():
    right = find("exa1_valid").reference
    assert right([["a", "b"], ["b", "a"]]) == 0.5
    assert right([["a"] * 5, ["b"] * 5]) == 2 / 2**5
