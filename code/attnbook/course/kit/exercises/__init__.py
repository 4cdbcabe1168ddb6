"""Exercises that answer.

- ``checking``: says whether a short answer is right; ``differences``: where it differs
- ``parts``: where the parts are that the reader writes in full; ``stages``: what such a
  part is made of, ``expect`` its comparisons, ``edits`` its mistakes; ``judging``:
  judges it stage by stage
- ``hints``: one for each try; ``inputs``: seeded tensors to try answers on
- ``readers_code``, ``own_source``, ``own_imports``: where the reader's code fails, what
  it consists of, and what it still has of the package
- ``my_transformer``: the file in which the reader keeps the solved parts;
  ``my_translator``: what this file's Transformer translates once it is trained
"""
