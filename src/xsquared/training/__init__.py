"""Training: one door, :func:`fit`, and one file for each solver behind it."""

from xsquared.training.first_order import LBFGS, AdamW
from xsquared.training.fit import SOLVERS, fit, grow, solver_from
from xsquared.training.growth import Growth
from xsquared.training.newton import Newton
from xsquared.training.result import STATUSES, Fit, Gates, Solver, Status, Trained
from xsquared.training.spline_network import FreeKnots
from xsquared.training.variable_projection import VariableProjection

__all__ = [
    "LBFGS",
    "SOLVERS",
    "STATUSES",
    "AdamW",
    "Fit",
    "FreeKnots",
    "Gates",
    "Growth",
    "Newton",
    "Solver",
    "Status",
    "Trained",
    "VariableProjection",
    "fit",
    "grow",
    "solver_from",
]
