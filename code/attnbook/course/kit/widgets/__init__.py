"""Figures that the reader moves: plain HTML, no kernel, no library.

``steppers`` is a slider over pictures drawn beforehand. All widgets are made of
``controls``; ``pictures`` are drawn here first and then by their script, which
``scripts`` put into the page; ``png_pictures`` are figures of matplotlib.
``explorer.js`` belongs to the explorers, which need a kernel.
"""
