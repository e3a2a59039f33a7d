"""The closed-form networks: exactness, orders and constants."""

import math
from collections.abc import Callable

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.interpolate import CubicHermiteSpline

from xsquared.constructions import (
    CONSTRUCTIONS,
    hermite_gqu,
    interpolating_mlp,
    network_from_pieces,
    predicted_rmse,
    ridge_sum,
)
from xsquared.errors import measured_rmse
from xsquared.functions import PAPER_TARGET, target
from xsquared.geometry import knots
from xsquared.units import UNITS, GatedNetwork, Unit, build, predict

NAMES = list(CONSTRUCTIONS)
BUILDERS = [made.build for made in CONSTRUCTIONS.values()]
intervals = st.tuples(st.floats(-3, 2), st.floats(0.1, 3)).map(
    lambda t: (t[0], t[0] + t[1])
)


@pytest.mark.parametrize("name", NAMES)
def test_error_is_the_prediction_and_the_next_term(name: str) -> None:
    """Derived in the appendix; it is zero for pieces that treat both ends of a cell
    alike.
    """
    f, n = target("exp(2*x)"), 100
    k = CONSTRUCTIONS[name].order
    first, last = f.derivative(k)(np.array([-1.0, 1.0])) ** 2
    beta = -51 / 512 if name == "left_curvature_glu" else 0
    expected = 1 + beta * (2 / n) * (last - first) / f.l2_norm(k) ** 2
    ratio = measured_rmse(CONSTRUCTIONS[name].build(f, n), f) / predicted_rmse(
        name, f, n
    )
    assert ratio == pytest.approx(expected, abs=2e-4)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("text", ["exp(x)", "sin(3*x) + x**2", "1/(2 + x)"])
def test_prediction_holds_on_other_targets_and_intervals(name: str, text: str) -> None:
    f = target(text, (0.0, 2.5))
    network = CONSTRUCTIONS[name].build(f, 120)
    ratio = measured_rmse(network, f) / predicted_rmse(name, f, 120)
    assert abs(ratio - 1) < 0.02


EXACT = [(made, "3*x**2 - x + 1", 1e-11) for made in BUILDERS[1:3]]
EXACT += [(hermite_gqu, "x**3 - 2*x**2 + x - 3", 1e-10)]


@given(n=st.integers(1, 60), domain=intervals, exact=st.sampled_from(EXACT))
@settings(max_examples=60)
def test_polynomials_of_the_units_degree_are_reproduced(
    n: int, domain: tuple[float, float], exact: tuple[Callable, str, float]
) -> None:
    builder, text, error = exact
    f, x = target(text, domain), np.linspace(*domain, 301)
    np.testing.assert_allclose(predict(builder(f, n), x), f(x), atol=error)


@pytest.mark.parametrize("n", [1, 2, 9, 100])
def test_mlp_is_numpys_interpolant_and_gqu_scipys(n: int) -> None:
    nodes, x = np.linspace(-1, 1, n + 1), np.linspace(-1, 1, 777)
    expected = np.interp(x, nodes, PAPER_TARGET(nodes))
    np.testing.assert_allclose(
        predict(interpolating_mlp(PAPER_TARGET, n), x), expected, atol=1e-12
    )
    expected = CubicHermiteSpline(
        nodes, PAPER_TARGET(nodes), PAPER_TARGET.derivative(1)(nodes)
    )(x)
    np.testing.assert_allclose(
        predict(hermite_gqu(PAPER_TARGET, n), x), expected, atol=1e-11
    )


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("n", [1, 5])
def test_knots_are_the_left_ends_of_the_cells(name: str, n: int) -> None:
    network = CONSTRUCTIONS[name].build(PAPER_TARGET, n)
    np.testing.assert_allclose(
        np.unique(knots(network)), np.linspace(-1, 1, n + 1)[:-1]
    )
    assert network.unit is UNITS[CONSTRUCTIONS[name].unit]


def smooth_pieces(factors: int, t: np.ndarray) -> np.ndarray:
    """Random pieces of degree p + 1 with max(p - 1, 0) continuous derivatives."""
    pieces = np.random.default_rng(4).normal(size=(len(t) - 1, factors + 2))
    for k in range(1, len(pieces)):
        left = np.polynomial.Polynomial(pieces[k - 1])
        for j in range(max(factors, 1)):
            pieces[k, j] = left.deriv(j)(t[k] - t[k - 1]) / math.factorial(j)
    return pieces


def assert_is_the_spline(
    network: GatedNetwork, t: np.ndarray, pieces: np.ndarray
) -> None:
    for k in range(len(pieces)):
        x = np.linspace(t[k], t[k + 1], 9)
        expected = np.polynomial.polynomial.polyval(x - t[k], pieces[k])
        np.testing.assert_allclose(predict(network, x), expected, atol=1e-12)


KNOTS = np.array([-1.0, -0.2, 0.1, 0.7, 1.0])


@pytest.mark.parametrize(
    "directions", [None, [1, 1, 1], [-1, 1, 1], [-1, -1, -1], [1, -1, 1]]
)
@pytest.mark.parametrize("factors", [0, 1, 2, 3])
def test_network_from_pieces_is_the_spline(
    factors: int, directions: list | None
) -> None:
    """For any number of factors, a reader's unit of three included."""
    unit = Unit("own", tuple((letter, letter.lower()) for letter in "UQR"[:factors]))
    pieces = smooth_pieces(factors, KNOTS)
    network = network_from_pieces(
        unit, KNOTS, pieces, np.array(directions) if directions else None
    )
    assert network.n_hidden == len(pieces) + max(factors - 1, 0)
    assert_is_the_spline(network, KNOTS, pieces)
    inside = network.G[-3:, 0].tolist()
    assert inside == (directions or [1, 1, 1])


def test_one_neuron_carries_a_product_behind_the_gates() -> None:
    """The first piece is s (s + 2)(3 - s) + 5, its gate open on the interval."""
    pieces = smooth_pieces(2, KNOTS)
    pieces[0] = [5.0, 6.0, 1.0, -1.0]
    for k in range(1, 4):
        left = np.polynomial.Polynomial(pieces[k - 1])
        pieces[k, :2] = (
            left(KNOTS[k] - KNOTS[k - 1]),
            left.deriv()(KNOTS[k] - KNOTS[k - 1]),
        )
    factors = np.array([[1.0, 2.0], [1.0, 0.0], [-1.0, 3.0]])
    network = network_from_pieces("gqu", KNOTS, pieces, factors=factors)
    assert network.n_hidden == 4
    assert_is_the_spline(network, KNOTS, pieces)


def test_no_neuron_carries_a_constant_behind_the_gates() -> None:
    """The second cell is flat: gates beside it open away from it."""
    pieces = np.array([[2.0, -1.0], [1.2, 0.0], [1.2, 2.0], [2.4, 0.5]])
    network = network_from_pieces(
        "mlp", KNOTS, pieces, np.array([-1, 1, 1]), np.empty((0, 2))
    )
    assert network.n_hidden == 3
    assert_is_the_spline(network, KNOTS, pieces)


@pytest.mark.parametrize(
    ("unit", "pieces"),
    [
        ("mlp", [[0.0, 1.0], [2.0, 0.0]]),
        ("gqu", [[0.0, 1.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0]]),
    ],
)
def test_pieces_that_do_not_meet_are_refused(unit: str, pieces: list) -> None:
    with pytest.raises(ValueError, match=f"do not meet at the knots as a {unit} needs"):
        network_from_pieces(unit, np.arange(3.0), np.array(pieces))


@given(st.sampled_from(NAMES), st.integers(1, 4), st.integers(0, 10**6))
@settings(max_examples=20)
def test_a_ridge_sum_is_the_sum_of_its_parts(name: str, dim: int, seed: int) -> None:
    draw = np.random.default_rng(seed)
    parts = [CONSTRUCTIONS[name].build(PAPER_TARGET, n) for n in (3, 1, 5)]
    along, x = draw.standard_normal((3, dim)), draw.standard_normal((20, dim))
    expected = sum(predict(part, x @ a) for part, a in zip(parts, along, strict=True))
    np.testing.assert_allclose(predict(ridge_sum(parts, along), x), expected, atol=1e-9)


def test_a_ridge_sum_keeps_the_two_numbers_of_paired_neurons_apart() -> None:
    draw = torch.Generator().manual_seed(1)
    parts = [build("pair", 1, n, generator=draw) for n in (3, 1, 5)]
    along = np.array([[1.0, 0.5], [-2.0, 1.0], [0.0, 3.0]])
    x = np.random.default_rng(0).standard_normal((20, 2))
    expected = sum(predict(part, x @ a) for part, a in zip(parts, along, strict=True))
    np.testing.assert_allclose(predict(ridge_sum(parts, along), x), expected, atol=1e-9)
