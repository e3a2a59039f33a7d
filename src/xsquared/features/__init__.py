"""GELU layers as feature maps: GELU(W x) written as Phi(W) Psi(x), for vectors (...,
d).
"""
