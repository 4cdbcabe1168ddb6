"""Experiments that take longer than a page may: one command each, results stored.

``python -m attnbook.experiments`` lists them; with names, it runs them and writes their
results into the package, where the pages find them.
"""
