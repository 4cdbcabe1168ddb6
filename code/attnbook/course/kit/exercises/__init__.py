"""Exercises that answer, in the order in which to read them.

- ``differences``: where two results first differ; ``hints``: one for each try, and the
  usual mistakes; ``short_exercises``: says whether a short answer is right
- ``stages``: what a part that the reader writes in full must do, and in which stages;
  ``expect``: what they compare; ``written_parts``: judges a part stage by stage
- ``readers_code``: whether the reader's code is written, and where it fails
- ``own_source``: the text of what the reader wrote; ``my_transformer``: the file that
  keeps it; ``my_translator``: what its Transformer translates once it is trained
"""
