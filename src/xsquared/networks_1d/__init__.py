"""Splines as networks of one input: directions of gates, weights, a curve from points."""
