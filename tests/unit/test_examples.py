"""The examples in the docstrings, run as they stand there."""

import doctest
from importlib import import_module
from pathlib import Path

import pytest
import torch

import attnbook

ROOT = Path(attnbook.__file__).parent
MODULES = [
    ".".join(("attnbook", *path.relative_to(ROOT).with_suffix("").parts))
    for path in sorted(ROOT.rglob("*.py"))
    if ">>> " in path.read_text(encoding="utf-8")
]


@pytest.mark.parametrize("name", MODULES)
def test_examples_show_what_comes_out(name):
    found = doctest.testmod(import_module(name), extraglobs={"torch": torch})
    assert found.attempted
    assert not found.failed
