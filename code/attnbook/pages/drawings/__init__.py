"""Diagrams: ``chNN`` draws those of chapter NN, plain SVG, the same bytes every time.

They are made by ``diagram``, of boxes, text and arrows, or by ``linked``, where boxes
lead to other pages: ``labels`` sets text, ``shapes`` is how all looks, ``arrows`` the
geometry of lines.
"""
