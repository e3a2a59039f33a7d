"""Splines and their knots: spaces, constants, free and optimal knots, bounds."""
