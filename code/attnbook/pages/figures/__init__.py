"""Figures and tables: ``chNN`` for chapter NN, ``chNN_topic`` where it has several.

Some are shared by chapters: ``exact_match`` grows from chapter to chapter,
``alignment_maps`` shows weights between a sentence and its translation. ``mask_card``
is chapter 6's table of what masks mean in each library.
"""
