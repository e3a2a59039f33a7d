"""Training: one door, :func:`fit`, and one file for each solver behind it."""

from xsquared.training.first_order import LBFGS as LBFGS
from xsquared.training.first_order import AdamW as AdamW
from xsquared.training.fit import SOLVERS as SOLVERS
from xsquared.training.fit import fit as fit
from xsquared.training.fit import grow as grow
from xsquared.training.fit import solver_from as solver_from
from xsquared.training.growth import Growth as Growth
from xsquared.training.newton import Newton as Newton
from xsquared.training.result import STATUSES as STATUSES
from xsquared.training.result import Fit as Fit
from xsquared.training.result import Gates as Gates
from xsquared.training.result import Solver as Solver
from xsquared.training.spline_network import FreeKnots as FreeKnots
from xsquared.training.variable_projection import VariableProjection as VariableProjection
