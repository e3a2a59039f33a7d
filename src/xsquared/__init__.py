"""xsquared: what a feed-forward layer can approximate, derived, built and measured.

Three layers: the numerics; :mod:`xsquared.studies`, which runs for hours;
:mod:`xsquared.book`, which makes a book of both. None imports a later one
(``pyproject.toml`` names the order, also that of the numerics' modules).

Names are imported when they are first asked for (PEP 562): splines need no torch.
"""

from importlib import import_module, metadata
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xsquared.data import load
    from xsquared.errors import rmse
    from xsquared.functions import target
    from xsquared.geometry import knots
    from xsquared.regressor import GatedRegressor
    from xsquared.training import (
        LBFGS,
        AdamW,
        FreeKnots,
        Growth,
        Newton,
        VariableProjection,
        fit,
        grow,
    )
    from xsquared.units import Gate, Unit, build, predict, register

__all__ = ["Gate", "GatedRegressor", "Unit", "build", "predict", "register"]
__all__ += ["knots", "load", "rmse", "target"]
__all__ += [
    "LBFGS",
    "AdamW",
    "FreeKnots",
    "Growth",
    "Newton",
    "VariableProjection",
    "fit",
    "grow",
]
__version__ = metadata.version("xsquared")

#: The module of each public name.
_MODULES = {
    **dict.fromkeys(("Gate", "Unit", "build", "predict", "register"), "units"),
    "GatedRegressor": "regressor",
    "knots": "geometry",
    "load": "data",
    "rmse": "errors",
    "target": "functions",
    **dict.fromkeys(("LBFGS", "AdamW", "FreeKnots", "Growth", "Newton"), "training"),
    **dict.fromkeys(("VariableProjection", "fit", "grow"), "training"),
}


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module 'xsquared' has no attribute {name!r}")
    return getattr(import_module(f"xsquared.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
