"""Networks of one input: every unit at every width, trained in five ways.

Figs. 3 to 5 of the gated-units paper, which does not record how its networks were
trained; two of the protocols are reconstructions. What the rows say: errors by width,
the least found, slopes. Beside them ``smooth_line`` has gates without hinges.
"""

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import pandas as pd

from xsquared.functions import PAPER_TARGET, Target, target
from xsquared.slopes import fit_slope
from xsquared.studies.committed import rows
from xsquared.studies.experiment import make_trial, run_trial
from xsquared.studies.sweep import Study, Trial
from xsquared.training import solver_from
from xsquared.units import PAPER_UNITS, parameter_count

#: Fields of a trial and settings of its solver, seeds, and what is trained how; by the
#: protocol's name.
LINE_PROTOCOLS: Mapping[str, tuple[Mapping[str, Any], int, str]] = {
    "trained": (
        {"solver": "free_knots"},
        3,
        "all weights, by variable projection on the integral of the squared error",
    ),
    "frozen": (
        {"solver": "free_knots", "gates": "frozen"},
        1,
        "all weights but the gates, which stay on the paper's equidistant hinges; "
        "the least integral, for the GQU from factors that vanish at the hinges",
    ),
    "newton": (
        {"solver": "newton", "gates": "frozen", "points": 1000, "max_iterations": 10},
        1,
        "the same weights by Newton's method layer by layer on 1,000 points, "
        "at most 10 sweeps",
    ),
    "newton-gates": (
        {"solver": "newton", "points": 1000, "joint": False, "max_iterations": 5},
        4,
        "the same, at most 5 sweeps, and then as many with the gates as one more layer",
    ),
    "varpro": (
        {"solver": "varpro", "points": 1000},
        1,
        "all weights, by variable projection on 1,000 points from random gates",
    ),
}
#: Fields of :data:`LINE_PROTOCOLS` that are no settings of a solver.
_TRIAL_FIELDS = ("solver", "gates", "points")
#: Settings of solvers that a budget multiplies.
_BUDGETED = ("max_iterations", "starts", "stacked_cells", "directions")


def line_trials(
    protocol: str,
    widths: Sequence[int],
    seeds: int | None = None,
    target: Target = PAPER_TARGET,
    budget: int = 1,
) -> list[Trial]:
    """List every unit of the paper on a target of one input, by its ``integral_rmse``.

    Args:
        protocol: of :data:`LINE_PROTOCOLS`.
        widths: numbers of neurons.
        seeds: how many; the protocol's where None.
        target: what is approximated.
        budget: multiplies the solver's iterations and starts.
    """
    chosen, seeds_of_protocol, _ = LINE_PROTOCOLS[protocol]
    fields = {name: chosen[name] for name in _TRIAL_FIELDS if name in chosen}
    settings = {name: chosen[name] for name in chosen if name not in fields}
    if budget > 1:
        known = vars(solver_from(fields["solver"], settings))
        settings |= {name: budget * known[name] for name in _BUDGETED if name in known}
    return [
        make_trial(
            str(target.expression),
            unit,
            n,
            protocol=protocol,
            domain=target.domain,
            settings=settings,
            split="paper",
            seed=seed,
            **fields,
        )
        for n in widths
        for unit in PAPER_UNITS
        for seed in range(seeds_of_protocol if seeds is None else seeds)
    ]


def _all_line_trials() -> list[Trial]:
    trials = line_trials("trained", range(1, 51), 1, target("1/(1 + 9*x**2)"))
    for protocol in LINE_PROTOCOLS:
        trials += line_trials(protocol, range(1, 51))
        trials += line_trials(protocol, (5, 10, 20, 35, 50), 1, budget=2)
    return trials


def _line_sample() -> list[Trial]:
    trials = []
    for protocol in LINE_PROTOCOLS:
        # Wider fits from random gates end elsewhere on other processors.
        n = 2 if protocol == "varpro" else 5
        trials += line_trials(protocol, [n], 1)
    return trials


LINE = Study(
    "MLP, GLU and GQU of every width on the paper's target in one dimension",
    {name: text for name, (_, _, text) in LINE_PROTOCOLS.items()},
    run_trial,
    _all_line_trials,
    _line_sample,
)


def line_errors(
    widths: Sequence[int], seeds: int | None = None, budget: int = 1, jobs: int = 1
) -> pd.DataFrame:
    """Read the errors of every protocol; networks that have no row are trained.

    Args:
        widths: numbers of neurons.
        seeds: how many of each protocol; its own number where None.
        budget: multiplies the solvers' iterations and starts.
        jobs: trials to train at a time.

    Returns:
        ``integral_rmse``, a row a width and seed, a column a protocol and unit; without
        a value where a protocol has fewer seeds.
    """
    trials = [
        trial
        for protocol in LINE_PROTOCOLS
        for trial in line_trials(protocol, widths, seeds, budget=budget)
    ]
    trained = rows("line", trials, jobs)
    return trained.pivot_table("integral_rmse", ["n", "seed"], ["protocol", "unit"])


def least_found(errors: pd.DataFrame) -> pd.DataFrame:
    """Give the least error of all networks of at most each width, a column a unit.

    Args:
        errors: as :func:`line_errors` returns them; a network of fewer neurons counts,
            as another neuron can stay silent.
    """
    least = errors.T.groupby(level="unit").min().T
    return least.groupby(level="n").min().cummin()


def slopes(errors: pd.DataFrame, first: int = 0, parameters: bool = False) -> pd.Series:
    """Fit the slope of log error against log size for each column.

    Args:
        errors: a row a width, in ascending order; columns are units, or end with one.
        first: the least width that counts.
        parameters: whether sizes are numbers of parameters in place of neurons.
    """
    fitted = {}
    for name, column in errors.loc[first:].items():
        kept = column.dropna()
        unit = name[-1] if isinstance(name, tuple) else name
        sizes = [
            parameter_count(str(unit), 1, n) if parameters else n for n in kept.index
        ]
        fitted[name] = fit_slope(sizes, kept).value
    return pd.Series(fitted)


def seed_slopes(
    errors: pd.DataFrame, first: int = 0, parameters: bool = False
) -> pd.DataFrame:
    """Fit the slopes of each seed: a row a seed, a column a unit.

    Args:
        errors: of one protocol, as :func:`line_errors` returns them.
        first: the least width that counts.
        parameters: whether sizes are numbers of parameters in place of neurons.
    """
    by_seed = errors.dropna(how="all").unstack("seed").swaplevel(axis=1)
    return slopes(by_seed, first, parameters).unstack()


def farthest_seed(by_seed: pd.DataFrame, slope: pd.Series) -> pd.Series:
    """Take each unit's slope of the seed that is farthest from a slope.

    Args:
        by_seed: as :func:`seed_slopes` returns them.
        slope: what each unit's are compared with.
    """
    seeds = (by_seed - slope).abs().idxmax()
    return pd.Series({unit: by_seed[unit][seed] for unit, seed in seeds.items()})


def another_factor(errors: pd.DataFrame, least: pd.DataFrame) -> float:
    """Say by how much each further factor multiplies what training misses.

    What it misses is the median over widths of the error over the least found; of the
    GLU's over the MLP's and the GQU's over the GLU's the smaller one is returned.

    Args:
        errors: a row a width, a column a unit.
        least: as :func:`least_found` returns it.
    """
    missed = (errors / least).median()
    steps = missed["glu"] / missed["mlp"], missed["gqu"] / missed["glu"]
    return float(min(steps))


def smooth_line_trials(
    widths: Sequence[int] = (4, 8, 12, 16, 24, 32, 64), seeds: int = 10
) -> list[Trial]:
    """List MLPs with smooth gates on the paper's target and Runge's."""
    targets = (str(PAPER_TARGET.expression), "1/(1+25*x**2)")
    budgets = (("frozen", 1), ("trained", 300), ("trained", 600))
    cases = product(widths, targets, ("gelu", "silu"), budgets, range(seeds))
    bounded = {"ridge": 1e-14, "sharpest": 16.0, "starts": 1}
    return [
        make_trial(
            text,
            "mlp",
            n,
            "varpro",
            "smooth",
            domain=((-1, 1),),
            gate=gate,
            settings={"max_iterations": steps, **bounded},
            gates=gates,
            split="paper",
            points=500,
            seed=seed,
        )
        for n, text, gate, (gates, steps), seed in cases
    ]


def _smooth_line_sample() -> list[Trial]:
    """Take frozen gates: linear least squares, which every processor solves alike."""
    return [
        trial for trial in smooth_line_trials((8,), 1) if trial["gates"] == "frozen"
    ]


SMOOTH_LINE = Study(
    "MLPs with GELU and SiLU gates on two analytic targets of one input",
    {
        "smooth": "gates that start no sharper than 16, trained or frozen; "
        "on the training points"
    },
    run_trial,
    smooth_line_trials,
    _smooth_line_sample,
)
