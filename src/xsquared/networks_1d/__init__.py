"""Splines as networks of one input: search, directions of gates, conversion, points."""
