"""What chapters share: how a page draws, asks, checks, moves and repeats.

- ``colours``, ``style``: five colours with a meaning, greys; one look for all figures
- ``curves``, ``heat_maps``, ``alignment_maps``, ``exact_match``: bands over seeds and
  labels at lines; weights and masks as cells; the two figures that return
- ``html_tables``, ``tables``: results as tables, and what they are called
- ``equivalence``, ``sources``: ours against a reference; source code in the page
- ``drawings``: the boxes and arrows of diagrams
- ``exercises``: what judges the reader's code, and the file that keeps it
- ``explorers``: figures that PyTorch computes anew as the reader moves a control
- ``widgets``: steppers, and the frame and the scripts of all figures that move
- ``toy_translation`` is the run that four chapters repeat, ``train_toys`` makes the toy
  models that are shipped, ``word_links`` links words of captions to their translations
"""
