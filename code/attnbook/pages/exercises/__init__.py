"""Exercises that answer.

- ``chNN``, ``aN``: the short exercises of chapter NN, of appendix AN
- ``checking``: says whether a short answer is right; ``differences``: where it differs
- ``parts``: what the reader writes in full, a module for each, with its stages
- ``judging``: judges such a part stage by stage
- ``hints``: one at each call
- ``readers_code``, ``own_source``: where the reader's code fails, what it consists of
- ``my_transformer``: the file in which the reader keeps the solved parts
"""
