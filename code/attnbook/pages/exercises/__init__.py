"""Exercises that answer: what they check, and the exercises of each chapter."""
