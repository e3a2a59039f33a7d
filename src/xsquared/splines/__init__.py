"""Splines and their knots, with no networks: spaces, constants, free and optimal knots,
bounds.
"""
