"""Figures, tables and exercises of chapter 11: both halves."""

from attnbook.book import ch11_data, ch11_run  # noqa: F401
