"""Training: one door, :func:`fit`, and one file for each solver behind it."""

from xsquared.training.adamw import AdamW
from xsquared.training.fit import fit, grow, solver_from
from xsquared.training.free_knots import FreeKnots
from xsquared.training.growth import Growth
from xsquared.training.lbfgs import LBFGS
from xsquared.training.newton import Newton
from xsquared.training.result import STATUSES, Fit, Gates, Solver
from xsquared.training.variable_projection import VariableProjection

__all__ = ["LBFGS", "AdamW", "FreeKnots", "Growth", "Newton", "VariableProjection"]
__all__ += [
    "STATUSES",
    "Fit",
    "Gates",
    "Solver",
    "fit",
    "grow",
    "solver_from",
]
