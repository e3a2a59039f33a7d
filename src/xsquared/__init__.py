"""xsquared: what a feed-forward layer can approximate, derived, built and measured.

These are the numerics; :mod:`xsquared_studies` runs for hours, :mod:`xsquared_book` makes a book of
both, and neither is imported here. Every room imports only from those named before it:
``checks`` → ``processes`` → ``quadrature`` → ``functions`` → ``slopes`` →
``levenberg_marquardt`` → ``splines`` → ``units`` → ``geometry`` → ``errors`` → ``truncation`` →
``constructions`` → ``data`` → ``feature_maps`` → ``training``.

What a reader needs for data of one's own can be imported from here::

    from xsquared import fit, from_frame
"""

from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from xsquared.data import (
        Dataset,
        from_arrays,
        from_file,
        from_frame,
        from_target,
        load,
        sampled,
    )
    from xsquared.functions import target
    from xsquared.training import (
        LBFGS,
        AdamW,
        Fit,
        FreeKnots,
        Growth,
        Newton,
        VariableProjection,
        fit,
        grow,
    )
    from xsquared.units import Gate, Unit, build, predict, register

__all__ = [
    "LBFGS",
    "AdamW",
    "Dataset",
    "Fit",
    "FreeKnots",
    "Gate",
    "Growth",
    "Newton",
    "Unit",
    "VariableProjection",
    "build",
    "fit",
    "from_arrays",
    "from_file",
    "from_frame",
    "from_target",
    "grow",
    "load",
    "predict",
    "register",
    "sampled",
    "target",
]

__version__ = version("xsquared")


def __getattr__(name: str) -> Any:
    # Only when asked for: the command line and the ground rooms start without torch's solvers.
    if name in __all__:
        for room in ("data", "functions", "training", "units"):
            module = import_module(f"xsquared.{room}")
            if name in getattr(module, "__all__", vars(module)):
                return getattr(module, name)
    raise AttributeError(f"module 'xsquared' has no attribute {name!r}")
