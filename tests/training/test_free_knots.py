"""Data of one input against least-squares splines whose knots are optimised; frozen
gates against splines on equal cells, forward passes, exact cases.
"""

import math

import numpy as np
import pytest
from scipy.interpolate import BSpline, make_lsq_spline
from scipy.optimize import least_squares

from tests.data import unscaled
from xsquared.data import Dataset, Points, Split, from_arrays
from xsquared.functions import PAPER_TARGET
from xsquared.geometry import knots
from xsquared.splines.constants import least_squares_spline_rmse
from xsquared.training import FreeKnots, VariableProjection, fit
from xsquared.training.free_knots import fit_frozen, smoothing_spline
from xsquared.training.variable_projection import to_network
from xsquared.units import PAPER_UNITS, find_unit, predict

#: Degree of the pieces, and multiplicity of the knots.
SPLINES = {"mlp": (1, 1), "glu": (2, 2), "gqu": (3, 2)}


def scattered(
    count: int, noise: float, split: Split = "paper", seed: int = 0
) -> Dataset:
    draw = np.random.default_rng(seed)
    x = np.sort(draw.uniform(-1, 1, count))
    y = PAPER_TARGET(x) + noise * draw.standard_normal(count)
    return from_arrays(x[:, None], y, split=split)


def peer(points: Points, unit: str, cells: int, starts: int) -> float:
    """RMSE of scipy's least-squares spline, the logarithms of its cells' widths
    optimised.
    """
    (degree, copies), x, y = SPLINES[unit], points.x[:, 0], points.y
    order = np.argsort(x)
    x, y, draw = x[order], y[order], np.random.default_rng(0)

    def residual(logs: np.ndarray) -> np.ndarray:
        share = np.cumsum(np.exp(logs - logs.max()))
        inner = np.repeat(x[0] + (x[-1] - x[0]) * share[:-1] / share[-1], copies)
        t = np.r_[[x[0]] * (degree + 1), inner, [x[-1]] * (degree + 1)]
        try:
            left = make_lsq_spline(x, y, t, degree)(x) - y
        except (ValueError, np.linalg.LinAlgError):  # too few points in a cell
            left = y
        return np.where(np.isfinite(left), left, y) / np.sqrt(len(y))

    ends = [least_squares(residual, draw.normal(0, 0.5 * (k > 0), cells), max_nfev=40)
            for k in range(starts)]  # fmt: skip
    return float(np.sqrt(2 * min(end.cost for end in ends)))


@pytest.mark.parametrize("noise", [0.0, 0.05])
@pytest.mark.parametrize("unit", list(SPLINES))
@pytest.mark.parametrize("n", [5, 20])
@pytest.mark.slow
def test_the_default_comes_near_splines_with_optimised_knots(
    unit: str, n: int, noise: float
) -> None:
    data = scattered(400, noise)
    made = fit(data, unit, n)
    assert made.train_rmse <= 1.1 * peer(data.train, unit, n, starts=3)


def test_free_knots_train_one_input_by_default() -> None:
    data = scattered(60, 0.0)
    assert isinstance(fit(data, "mlp", 1).solver, FreeKnots)
    assert isinstance(fit(data, "mlp", 1, gates="frozen").solver, VariableProjection)
    assert isinstance(fit(data, "geglu", 1).solver, VariableProjection)
    same = unscaled(Points(np.ones((9, 1)), np.arange(9.0)))
    assert isinstance(fit(same, "mlp", 1).solver, VariableProjection)


def test_noise_attracts_no_cells_and_copies_count() -> None:
    noisy, plain = scattered(1000, 0.1).train, scattered(1000, 0.0).train
    few, many = smoothing_spline(noisy).spline, smoothing_spline(plain).spline
    assert len(few.t) < 40 < 200 < len(many.t)
    deviation = np.std(plain.y)
    assert np.std(many(plain.x[:, 0]) - plain.y) < 1e-6 * deviation
    x = np.array([0.0, 1.0, 2.0, 3.0, 3.0, 3.0])
    y = np.array([0.0, 0.0, 0.0, 0.0, 3.0, 3.0])
    assert smoothing_spline(Points(x[:, None], y)).spline(3.0) == pytest.approx(2.0)


@pytest.mark.parametrize("seed", range(12))
def test_cells_are_chosen_by_generalised_cross_validation(seed: int) -> None:
    """Against the trace of a dense hat matrix, for few noisy points."""
    rng = np.random.default_rng(seed)
    x = np.sort(rng.uniform(-1, 1, 18))
    y = np.sin(4 * x) + 0.3 * rng.standard_normal(18)
    scores = {}
    for cells in (1, 2, 4):
        ends = np.interp(np.linspace(0, 17, cells + 1), np.arange(18), x)
        t = np.r_[[x[0]] * 3, ends, [x[-1]] * 3]
        design = BSpline.design_matrix(x, t, 3).toarray()
        hat = design @ np.linalg.pinv(design)
        scores[cells] = np.linalg.norm(y - hat @ y) / (1 - np.trace(hat) / 18)
    spline = smoothing_spline(Points(x[:, None], y)).spline
    assert len(spline.t) - 7 == min(scores, key=lambda cells: scores[cells])


def test_on_a_held_out_split_validation_chooses() -> None:
    """Forty GLUs have 201 parameters, the training part 256 points with noise."""
    data = scattered(400, 0.2, "held-out")
    made = fit(data, "glu", 40)
    assert made.network is not made.training_minimiser
    errors = [
        data.error(one, data.validation)
        for one in (made.network, made.training_minimiser)
    ]
    assert errors[0] < errors[1]
    assert data.error(made.training_minimiser, data.train) < made.train_rmse


@pytest.mark.parametrize("n", [2, 3, 6, 11])
@pytest.mark.parametrize("unit", ["mlp", "glu"])
def test_the_minimum_is_that_of_splines_on_equal_cells(unit: str, n: int) -> None:
    frozen = fit_frozen(PAPER_TARGET, unit, n, 1)
    splines = least_squares_spline_rmse(PAPER_TARGET, find_unit(unit).order, n - 1, 0)
    assert frozen.rmse == pytest.approx(splines, rel=1e-8)
    assert (frozen.iterations, frozen.status) == (0, "converged")


@pytest.mark.parametrize("n", [1, 2, 5, 9])
@pytest.mark.parametrize("unit", PAPER_UNITS)
def test_the_forward_pass_has_the_reported_rmse_and_the_papers_knots(
    unit: str, n: int
) -> None:
    frozen = fit_frozen(PAPER_TARGET, unit, n, 50)
    network = to_network(frozen, find_unit(unit))
    ends = np.linspace(-1, 1, n) if n > 1 else [-1.0]
    np.testing.assert_allclose(knots(network), ends, atol=1e-15)
    fine = np.linspace(-1, 1, 20_001)
    sampled = math.sqrt(np.mean((predict(network, fine) - PAPER_TARGET(fine)) ** 2))
    assert math.isclose(sampled, frozen.rmse, rel_tol=1e-3)
