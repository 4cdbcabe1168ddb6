"""Attention, step by step: the code that the chapters of the book share."""

from importlib.metadata import version


def __getattr__(name: str) -> str:
    """Look up ``__version__`` when it is asked for: it is read from a file."""
    if name == "__version__":
        return version("attnbook")
    raise AttributeError(f"module 'attnbook' has no attribute {name!r}")
