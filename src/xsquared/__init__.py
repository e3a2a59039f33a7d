"""xsquared: what a feed-forward layer can approximate, derived, built and measured.

These are the numerics; :mod:`xsquared_studies` runs for hours, :mod:`xsquared_book` makes a book of
both, and neither is imported here. Every room imports only from those named before it:
``quadrature`` → ``functions`` → ``slopes`` → ``levenberg_marquardt`` → ``splines`` → ``units`` →
``geometry`` → ``errors`` → ``truncation`` → ``constructions`` → ``data`` → ``feature_maps`` →
``training`` → ``regressor``.
"""

from importlib import import_module, metadata
from typing import TYPE_CHECKING

from xsquared.data import load
from xsquared.errors import rmse
from xsquared.functions import target
from xsquared.geometry import knots
from xsquared.training import LBFGS, AdamW, FreeKnots, Growth, Newton, VariableProjection, fit, grow
from xsquared.units import Gate, Unit, build, predict, register

if TYPE_CHECKING:
    from xsquared.regressor import GatedRegressor

__all__ = ["Gate", "GatedRegressor", "Unit", "build", "predict", "register"]
__all__ += ["knots", "load", "rmse", "target"]
__all__ += ["LBFGS", "AdamW", "FreeKnots", "Growth", "Newton", "VariableProjection", "fit", "grow"]
__version__ = metadata.version("xsquared")


def __getattr__(name: str) -> object:
    if name != "GatedRegressor":  # scikit-learn takes a second to import
        raise AttributeError(f"module 'xsquared' has no attribute {name!r}")
    return import_module("xsquared.regressor").GatedRegressor
