"""Exercises that answer: ``chNN`` registers those of chapter NN.

``checking`` holds them and says what is wrong with an answer, ``differences`` where it
first differs from the right one.
"""
