"""Figures that move without a kernel: HTML, and scripts that come with it.

``steppers`` is a slider over pictures drawn beforehand. ``figures`` is the frame of all
figures that move, and what puts pictures and a script into it. ``explorer.js`` belongs
to the explorers, which need a kernel.
"""
