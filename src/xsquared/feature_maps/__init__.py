"""GELU layers as feature maps: GELU(W x) written as Phi(W) Psi(x), for vectors (..., d).

- :mod:`~xsquared.feature_maps.series`, ``polynomials``: what stands for GELU, and how far it is.
- :mod:`~xsquared.feature_maps.tensor`, ``random``: features of any polynomial; unbiased ones.
- :mod:`~xsquared.feature_maps.optimal`: the best that any map can do, and the map that does it.
- :mod:`~xsquared.feature_maps.learned`: the paper's two networks, many seeds at a time.
"""
