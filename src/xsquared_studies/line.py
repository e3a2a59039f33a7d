"""Networks of one input: every unit at every width, trained in five ways, judged in one.

Figs. 3 to 5 of the gated-units paper. How its own networks were trained cannot be known: its text
names Newton's method layer by layer and 10,000 points, its public code has neither this target nor
these curves. Two of the protocols are reconstructions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from xsquared.functions import PAPER_TARGET, Target
from xsquared.training import solver_from
from xsquared.units import PAPER_UNITS
from xsquared_studies.trial import Trial

#: By the protocol's name: fields of a trial and settings of its solver, seeds, what is trained how.
LINE_PROTOCOLS: Mapping[str, tuple[Mapping[str, Any], int, str]] = MappingProxyType(
    {
        "trained": (
            {"solver": "free_knots"},
            3,
            "all weights, by variable projection on the integral of the squared error",
        ),
        "frozen": (
            {"solver": "free_knots", "gates": "frozen"},
            1,
            "all weights but the gates, which stay on the paper's equidistant hinges; the least "
            "integral, for the GQU from factors that vanish at the hinges",
        ),
        "newton": (
            {"solver": "newton", "gates": "frozen", "points": 1000, "max_iterations": 10},
            1,
            "the same weights by Newton's method layer by layer on 1,000 points, at most 10 sweeps",
        ),
        "newton-gates": (
            {"solver": "newton", "points": 1000, "joint": False, "max_iterations": 5},
            1,
            "the same, at most 5 sweeps, and then as many with the gates as one more layer",
        ),
        "varpro": (
            {"solver": "varpro", "points": 1000},
            1,
            "all weights, by variable projection on 1,000 points from random gates",
        ),
    }
)
#: Settings that say how long a solver searches.
_BUDGET = ("max_iterations", "trial_iterations", "starts", "moves", "directions")


def line_trials(
    protocol: str,
    widths: Sequence[int],
    seeds: int | None = None,
    target: Target = PAPER_TARGET,
    budget: int = 1,
) -> tuple[Trial, ...]:
    """Every unit of the paper on a target of one input; ``integral_rmse`` of a row is judged.

    Args:
        protocol: a name of :data:`LINE_PROTOCOLS`.
        widths: neurons.
        seeds: of the starts, from 0; the protocol's own number where None.
        target: of one variable.
        budget: by how much iterations, starts and moves of the solver are multiplied.
    """
    fields, own_seeds, _ = LINE_PROTOCOLS[protocol]
    settings = dict(fields)
    own = {name: settings.pop(name) for name in ("solver", "gates", "points") if name in settings}
    if budget > 1:
        known = vars(solver_from(own["solver"], settings))
        settings |= {name: budget * known[name] for name in _BUDGET if name in known}
    return tuple(
        Trial(
            unit,
            n,
            expression=str(target.expression),
            domain=target.domain,
            settings=tuple(settings.items()),
            split="paper",
            seed=seed,
            protocol=protocol,
            **own,
        )
        for n in widths
        for unit in PAPER_UNITS
        for seed in range(own_seeds if seeds is None else seeds)
    )
