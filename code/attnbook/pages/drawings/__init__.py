"""Diagrams as plain SVG: the boxes and arrows, and the drawings of each chapter."""
