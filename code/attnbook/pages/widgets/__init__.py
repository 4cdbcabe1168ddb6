"""Figures that the reader moves: plain HTML, no kernel, no library.

- ``steppers``: a slider over pictures drawn beforehand
- ``calculator``: attention with numbers to change, laboratory page 4
- ``local_window``: the window of local attention, chapter 3
- ``mask_explorer``: masks and weights by length and kind, chapter 6

Each has a script of the same name. All are made of ``controls``; ``pictures`` are drawn
here first and then by their script, which ``scripts`` put into the page;
``png_pictures`` are figures of matplotlib. ``explorer.js`` belongs to the explorers,
which need a kernel.
"""
