"""What a factor is worth in small language models, and what the seeds could have seen.

All units of a seed see the same passages in the same order. A unit's loss is taken as a
mean over seeds, a seed's deviation, which all units share, and what is left: *scatter*,
whose size is pooled over all units, as three seeds of one pair tell little of it.
"""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from scipy.special import stdtr, stdtrit

#: The comparisons of the protocol ``longest``, by step: the units before and after it.
_STEPS: Mapping[str, tuple[str, str]] = {
    "factor beside ReLU": ("mlp:relu", "glu:relu"),
    "factor beside SiLU": ("mlp:silu", "swiglu:silu"),
    "factor beside GELU": ("mlp:gelu", "geglu:gelu"),
    "GELU: curvature": ("mlp:gelu", "pair:gelu"),
    "GELU: direction": ("pair:gelu", "geglu:gelu"),
}


def scatter(loss: pd.DataFrame) -> tuple[float, int]:
    """Estimate the deviation of one run's loss, once unit and seed are taken out.

    Args:
        loss: rows are seeds (s), columns units (u), each with a row in every seed.

    Returns:
        The deviation and its degrees of freedom, (s - 1) (u - 1).
    """
    by_unit = loss - loss.mean()
    residual = by_unit.sub(by_unit.mean(axis=1), axis=0)
    seeds, units = loss.shape
    freedom = (seeds - 1) * (units - 1)
    return float(np.sqrt((residual**2).to_numpy().sum() / freedom)), freedom


def compare_steps(
    loss: pd.DataFrame, steps: Mapping[str, tuple[str, str]] = _STEPS
) -> pd.DataFrame:
    """Measure what each step saves, with Student's 95% interval and Holm's p.

    Args:
        loss: as for :func:`scatter`, columns named ``unit:gate``.
        steps: columns before and after each.

    Returns:
        A row a step: ``worth``, ``low``, ``high`` in nats a byte, and ``p``.
    """
    deviation, freedom = scatter(loss)
    error_of_mean = deviation * np.sqrt(2 / len(loss))
    half_width = stdtrit(freedom, 0.975) * error_of_mean
    worth = pd.Series(
        {step: (loss[old] - loss[new]).mean() for step, (old, new) in steps.items()}
    )
    p = pd.Series(2 * stdtr(freedom, -abs(worth) / error_of_mean), worth.index)
    return pd.DataFrame(
        {
            "worth": worth,
            "low": worth - half_width,
            "high": worth + half_width,
            "p": holm(p),
        }
    )


def visible_difference(loss: pd.DataFrame) -> float:
    """Estimate the difference of two units that so many seeds see four times in five.

    It is the one whose test at 5%, from a normal mean with the scatter of ``loss``,
    rejects zero with the chance 0.8.
    """
    deviation, freedom = scatter(loss)
    quantiles = stdtrit(freedom, 0.975) + stdtrit(freedom, 0.8)
    return float(quantiles * deviation * np.sqrt(2 / len(loss)))


def holm(p: pd.Series) -> pd.Series:
    """Correct p-values after Holm: the least level at which each is rejected."""
    ascending = p.sort_values()
    factors = np.arange(len(p), 0, -1)
    return (ascending * factors).cummax().clip(upper=1).reindex(p.index)
