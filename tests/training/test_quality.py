"""Trained networks against splines on equal cells and against fits on points: the study's rows.

A network of n neurons carries n pieces at least; n - 1 are asked of a unit of two factors, which
cannot have n in general: the chapter on the gated quadratic unit proves it of the splines below.
"""

import itertools

import numpy as np
import pytest

from xsquared.functions import target
from xsquared.splines.constants import least_squares_spline_rmse
from xsquared.splines.spaces import ungated_signs
from xsquared.training.spline_network import FreeKnots
from xsquared_studies import rows
from xsquared_studies.experiment import target_of, unit_of
from xsquared_studies.line import quality_trials
from xsquared_studies.sweep import Trial, trial_key

#: By how much a network may be worse, as a share of the error, and what is rounding of the values.
TOLERANCE, ROUNDING = 1e-3, 1e-10
TRIALS = quality_trials()
INTEGRAL = [trial for trial in TRIALS if trial["solver"] == "free_knots"]


def excess(trial: Trial, reached: float, other: float) -> float:
    """The share by which a network's error exceeds another, above rounding."""
    a, b = trial["domain"][0]
    size = float(np.abs(target_of(trial)(np.linspace(a, b, 501))).max())
    return (reached - ROUNDING * size) / other - 1 if other else np.inf * (reached > 0)


def name(trial: Trial) -> tuple[str, int, str]:
    return trial["unit"], trial["n"], trial["problem"]


def missed(found: list[tuple[float, Trial]]) -> dict[tuple[str, int, str], float]:
    """Where networks are worse by more than the tolerance, and by how much."""
    return {name(trial): share for share, trial in found if share > TOLERANCE}


@pytest.fixture(scope="module")
def reached() -> dict[str, float]:
    return rows("quality").set_index("key")["integral_rmse"].to_dict()


def test_no_network_of_the_study_is_worse_than_equal_cells(reached: dict[str, float]) -> None:
    found = []
    for trial in INTEGRAL:
        if pieces := trial["n"] - (len(unit_of(trial).factors) > 1):
            equal = least_squares_spline_rmse(target_of(trial), unit_of(trial).order, pieces)
            found.append((excess(trial, reached[trial_key(trial)], equal), trial))
    assert len(found) == 34 * (3 * 7 - 1)
    assert not missed(found)


def test_no_network_is_worse_than_a_fit_on_points(reached: dict[str, float]) -> None:
    on_points = {
        (*name(trial), str(trial["domain"])): reached[trial_key(trial)]
        for trial in TRIALS
        if trial["solver"] == "varpro"
    }
    found = [
        (excess(trial, reached[trial_key(trial)], on_points[where]), trial)
        for trial in INTEGRAL
        if (where := (*name(trial), str(trial["domain"]))) in on_points
    ]
    assert len(found) == len(on_points) == 34 * 3 * 6
    assert not missed(found)


@pytest.mark.parametrize("n", [1, 2])
@pytest.mark.slow
def test_one_gqu_more_than_cells_carries_every_spline_and_as_many_do_not(n: int) -> None:
    """The polynomial behind all gates rises everywhere, as no cubic with real roots does."""
    knots = np.linspace(-1, 1, n + 1)[1:-1]
    steps = (f"((x - ({t}) + abs(x - ({t})))/2)**3" for t in knots)
    f = target(" + ".join(["x**3 + x", *steps]))
    assert least_squares_spline_rmse(f, 4, n) < 1e-12
    polynomial = np.polynomial.Polynomial([0, 1, 0, 1])
    cells = [polynomial + sum(np.polynomial.Polynomial([-t, 1]) ** 3 for t in knots[:k])
             for k in range(n)]  # fmt: skip
    for directions in itertools.product((1, -1), repeat=n - 1):
        behind = sum(s * p for s, p in zip(ungated_signs(np.array(directions)), cells, strict=True))
        _, c1, c2, c3 = behind.coef
        assert c2**2 < 3 * c1 * c3
    few, enough = (FreeKnots().fit_target(f, "gqu", n + more).rmse for more in (0, 1))
    assert enough < 1e-9
    assert few > 1e-5
