"""GELU(W x) to first order at a reference point, as a product of feature maps (section 2.3.1).

With z0 = W x0 and either derivative of GELU, d + 1 features suffice:

    Phi(W) = [diag(GELU'(z0)) W, GELU(z0)],    Psi(x) = [x - x0; 1].

Because GELU'' = phi(z)(2 - z^2) is at most 2 phi(0) in absolute value, the error is at most
(z - z0)^2 / sqrt(2 pi), everywhere; :mod:`xsquared.papers.gelu_linearization` proves it under the key
``xs-gelu-curvature``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from xsquared.feature_maps.series import gelu, gelu_derivative, gelu_tanh, gelu_tanh_derivative

Form = Literal["erf", "tanh"]
_FORMS = {"erf": (gelu, gelu_derivative), "tanh": (gelu_tanh, gelu_tanh_derivative)}


@dataclass(frozen=True)
class PointMap:
    """The feature maps of one reference point.

    Attributes:
        reference: (d,) the point x0.
        form: which GELU, ``"erf"`` or ``"tanh"``.

    Raises:
        ValueError: a reference that is no finite vector, or an unknown form.
    """

    reference: np.ndarray
    form: Form = "erf"

    def __post_init__(self) -> None:
        reference = np.asarray(self.reference, dtype=np.float64)
        if reference.ndim != 1 or not len(reference) or not np.isfinite(reference).all():
            raise ValueError(f"expected a finite vector as reference, got shape {reference.shape}")
        if self.form not in _FORMS:
            raise ValueError(f"form must be one of {', '.join(_FORMS)}, got {self.form!r}")
        object.__setattr__(self, "reference", reference)

    def phi(self, W: np.ndarray) -> np.ndarray:
        """Features of a weight matrix: (rows, d) -> (rows, d + 1).

        Raises:
            ValueError: ``W`` has another shape.
        """
        W = np.asarray(W, dtype=np.float64)
        d = len(self.reference)
        if W.ndim != 2 or W.shape[1] != d:
            raise ValueError(f"expected W of shape (rows, {d}), got {W.shape}")
        value, slope = _FORMS[self.form]
        z0 = W @ self.reference
        return np.column_stack([slope(z0)[:, None] * W, value(z0)])

    def psi(self, x: np.ndarray) -> np.ndarray:
        """Features of inputs: (..., d) -> (..., d + 1).

        Raises:
            ValueError: ``x`` has another last dimension.
        """
        x = np.asarray(x, dtype=np.float64)
        d = len(self.reference)
        if x.ndim < 1 or x.shape[-1] != d:
            raise ValueError(f"expected x of shape (..., {d}), got {x.shape}")
        return np.concatenate([x - self.reference, np.ones((*x.shape[:-1], 1))], axis=-1)


def linearisation_bound(distance: np.ndarray | float) -> np.ndarray:
    """Proved bound on the erf form's error where z is that far from z0: distance^2 / sqrt(2 pi)."""
    return np.asarray(distance, dtype=np.float64) ** 2 / math.sqrt(2 * math.pi)
