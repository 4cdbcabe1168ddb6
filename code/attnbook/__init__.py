"""Attention, step by step: the code that the chapters of the book share."""
