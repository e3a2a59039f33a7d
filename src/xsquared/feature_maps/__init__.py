"""GELU layers as feature maps: GELU(W x) written as Phi(W) Psi(x), with and without series.

- :mod:`~xsquared.feature_maps.series`: GELU, its power series, the proved remainder.
- :mod:`~xsquared.feature_maps.linearisation`: first order at a reference point.
- :mod:`~xsquared.feature_maps.tensor`: Kronecker and symmetric features of any polynomial.
- :mod:`~xsquared.feature_maps.polynomials`: Chebyshev, Hermite and best uniform polynomials.
- :mod:`~xsquared.feature_maps.random`: random maps that are unbiased, and sketches.
- :mod:`~xsquared.feature_maps.optimal`: closed maps of few features, and the best any map can do.
- :mod:`~xsquared.feature_maps.learned`: the paper's two networks, many seeds at a time.
- :mod:`~xsquared.feature_maps.bridge`: what a gated linear unit has in common with all this.
"""
