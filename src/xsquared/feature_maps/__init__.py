"""GELU layers as feature maps: GELU(W x) written as Phi(W) Psi(x).

- :mod:`~xsquared.feature_maps.series`: GELU, its power series, the proved remainder.
- :mod:`~xsquared.feature_maps.polynomials`: Chebyshev, Hermite and best uniform polynomials.
- :mod:`~xsquared.feature_maps.tensor`: Kronecker and symmetric features of any polynomial.
- :mod:`~xsquared.feature_maps.random`: random maps that are unbiased.
- :mod:`~xsquared.feature_maps.optimal`: the best that any map can do, and the map that does it.
- :mod:`~xsquared.feature_maps.learned`: the paper's two networks, many seeds at a time.

Vectors are arrays of shape (..., d) with finite entries.
"""
