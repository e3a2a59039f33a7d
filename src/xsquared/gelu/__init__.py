"""GELU layers as feature maps: GELU(W x) written as Phi(W) Psi(x), with and without series.

- :mod:`~xsquared.gelu.series`: GELU, its power series, the proved remainder.
- :mod:`~xsquared.gelu.linearisation`: first order at a reference point.
- :mod:`~xsquared.gelu.tensor_features`: Kronecker and symmetric features of any polynomial.
- :mod:`~xsquared.gelu.polynomials`: Chebyshev, Hermite and best uniform polynomials.
- :mod:`~xsquared.gelu.random_features`: random maps that are unbiased, and sketches.
- :mod:`~xsquared.gelu.optimal`: closed maps of few features, and the best any map can do.
- :mod:`~xsquared.gelu.learned`: the paper's two networks, many seeds at a time.
- :mod:`~xsquared.gelu.bridge`: what a gated linear unit has in common with all this.
- :mod:`~xsquared.gelu.derivations`: the paper's numbered equations and ours, link by link.
"""

from __future__ import annotations

from functools import cache

from xsquared.equations import Equation
from xsquared.gelu.derivations import our_equations, paper_equations


@cache
def equations() -> tuple[Equation, ...]:
    """The GELU paper's equations in their order, then ours; the tests prove every link."""
    return (*paper_equations(), *our_equations())
