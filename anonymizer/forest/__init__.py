"""Differentially private forests (F15): mechanisms, growing, rules, and the attempt to refute their claim."""
