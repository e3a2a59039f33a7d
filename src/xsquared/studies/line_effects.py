"""What the rows of the study ``line`` say: errors by width, the least found, slopes."""

from collections.abc import Sequence

import pandas as pd

from xsquared.functions import PAPER_TARGET, Target
from xsquared.slopes import fit_slope
from xsquared.studies.committed import rows
from xsquared.studies.line import LINE_PROTOCOLS, line_trials
from xsquared.units import parameter_count


def line_errors(
    widths: Sequence[int],
    target: Target = PAPER_TARGET,
    seeds: int | None = None,
    budget: int = 1,
    jobs: int = 1,
) -> pd.DataFrame:
    """Read the errors of every protocol; networks that have no row are trained.

    Args:
        widths: numbers of neurons.
        target: what is approximated.
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
        for trial in line_trials(protocol, widths, seeds, target, budget)
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
