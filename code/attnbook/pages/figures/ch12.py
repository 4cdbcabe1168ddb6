"""Figures, tables and exercises of chapter 12: both halves."""

from attnbook.pages.figures import ch12_data, ch12_run  # noqa: F401
