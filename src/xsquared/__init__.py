"""xsquared: what a feed-forward layer can approximate, derived, built and measured.

The package is layered: every module imports only from those named before it here.
``checks`` → ``functions`` → ``quadrature`` → ``slopes`` → ``units`` → ``geometry`` → ``errors`` →
``truncation`` → ``data`` → ``constructions`` → ``splines`` → ``training`` → ``noise`` →
``studies`` → ``feature_maps`` → ``tables`` → ``papers`` → ``plotting`` → ``book`` → ``cli``.
Numerics never import tables, plotting, papers or the book's machinery.
"""

from importlib.metadata import version

__version__ = version("xsquared")
