"""Diagrams: plain SVG, the same bytes every time.

They are made by ``diagram``, of boxes, text and arrows, or by ``linked``, where boxes
lead to other pages. ``encoder_states`` draws the encoder that chapters 1 and 2 share;
``labels`` sets text, ``shapes`` is how boxes and arrows look.
"""
