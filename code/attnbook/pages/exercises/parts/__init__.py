"""The parts of a Transformer that the reader writes, and what they are judged by.

A module for each part holds its :class:`~attnbook.pages.exercises.parts.stages.Part`:
the stages that the package's own class passes, the reader's must pass too.
"""
