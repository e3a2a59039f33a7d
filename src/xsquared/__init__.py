"""xsquared: what a feed-forward layer can approximate, derived, built and measured.

The package is layered: every module imports only from those named before it here.
``functions`` → ``data`` → ``datasets`` → ``networks`` → ``equations`` → ``truncation`` →
``gated_units`` → ``errata`` → ``quadrature`` → ``constructions`` → ``splines`` → ``training`` →
``slopes`` → ``gelu`` → ``sweeps`` → ``experiments`` → ``scaling`` → ``noise`` → ``speedrun``, then
``claims``, ``plotting``, ``book`` and ``cli``. Numerics never import plotting, claims or the book's
machinery.
"""

from importlib.metadata import version

__version__ = version("xsquared")
