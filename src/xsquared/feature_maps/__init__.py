"""GELU layers as feature maps: GELU(W x) written as Phi(W) Psi(x), with and without series.

- :mod:`~xsquared.feature_maps.series`: GELU, its power series, the proved remainder.
- :mod:`~xsquared.feature_maps.polynomials`: Chebyshev, Hermite and best uniform polynomials.
- :mod:`~xsquared.feature_maps.tensor`: Kronecker and symmetric features of any polynomial.
- :mod:`~xsquared.feature_maps.random`: random maps that are unbiased.
- :mod:`~xsquared.feature_maps.optimal`: the best that any map can do, and the map that does it.
- :mod:`~xsquared.feature_maps.learned`: the paper's two networks, many seeds at a time.
"""

from __future__ import annotations

import math

import numpy as np

from xsquared.checks import check_finite_array, check_size


def check_vectors(v: object, d: int, features: int, power: int = 1) -> np.ndarray:
    """What every map asks of its arguments: vectors of d finite numbers, (..., d), as float64.

    Raises:
        ValueError: something else, features larger than a gibibyte, or entries so large that
            float64 does not hold the power of a sum of d of them.
    """
    array = check_finite_array("vectors", v)
    if array.ndim < 1 or array.shape[-1] != d:
        raise ValueError(f"vectors: expected shape (..., {d}), got {array.shape}")
    largest = float(np.abs(array).max(initial=0.0))
    if power * math.log(max(1.0, d * largest)) > 700:
        limit = math.exp(700 / power) / d
        raise ValueError(f"vectors: expected entries below {limit:.3g}, got {largest:.3g}")
    check_size("features", math.prod(array.shape[:-1]), features)
    return array
