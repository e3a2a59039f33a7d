"""The closed-form networks: exactness, orders, constants, and what is refused."""

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
    fewest_bilinear,
    hermite_gqu,
    interpolating_mlp,
    network_from_pieces,
    predicted_rmse,
    ridge_sum,
)
from xsquared.errors import measured_rmse
from xsquared.functions import PAPER_TARGET, target
from xsquared.geometry import knots
from xsquared.splines.spaces import combination
from xsquared.units import UNITS, Gate, GatedNetwork, Unit, build, predict, register

NAMES = list(CONSTRUCTIONS)
BUILDERS = [made.build for made in CONSTRUCTIONS.values()]
intervals = st.tuples(st.floats(-3, 2), st.floats(0.1, 3)).map(lambda t: (t[0], t[0] + t[1]))


@pytest.mark.parametrize("name", NAMES)
def test_ratio_to_the_prediction_is_one(name: str) -> None:
    network = CONSTRUCTIONS[name].build(PAPER_TARGET, 400)
    ratio = measured_rmse(network, PAPER_TARGET) / predicted_rmse(name, PAPER_TARGET, 400)
    assert abs(ratio - 1) < 0.002


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
    np.testing.assert_allclose(predict(interpolating_mlp(PAPER_TARGET, n), x), expected, atol=1e-12)
    expected = CubicHermiteSpline(nodes, PAPER_TARGET(nodes), PAPER_TARGET.derivative(1)(nodes))(x)
    np.testing.assert_allclose(predict(hermite_gqu(PAPER_TARGET, n), x), expected, atol=1e-11)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("n", [1, 5])
def test_knots_are_the_left_ends_of_the_cells(name: str, n: int) -> None:
    network = CONSTRUCTIONS[name].build(PAPER_TARGET, n)
    np.testing.assert_allclose(np.unique(knots(network)), np.linspace(-1, 1, n + 1)[:-1])
    assert network.unit is UNITS[CONSTRUCTIONS[name].unit]


def smooth_pieces(factors: int, t: np.ndarray) -> np.ndarray:
    """Random pieces of degree p + 1 with max(p - 1, 0) continuous derivatives."""
    pieces = np.random.default_rng(4).normal(size=(len(t) - 1, factors + 2))
    for k in range(1, len(pieces)):
        left = np.polynomial.Polynomial(pieces[k - 1])
        for j in range(max(factors, 1)):
            pieces[k, j] = left.deriv(j)(t[k] - t[k - 1]) / math.factorial(j)
    return pieces


def assert_is_the_spline(network: GatedNetwork, t: np.ndarray, pieces: np.ndarray) -> None:
    for k in range(len(pieces)):
        x = np.linspace(t[k], t[k + 1], 9)
        expected = np.polynomial.polynomial.polyval(x - t[k], pieces[k])
        np.testing.assert_allclose(predict(network, x), expected, atol=1e-12)


KNOTS = np.array([-1.0, -0.2, 0.1, 0.7, 1.0])


@pytest.mark.parametrize("directions", [None, [1, 1, 1], [-1, 1, 1], [-1, -1, -1], [1, -1, 1]])
@pytest.mark.parametrize("factors", [0, 1, 2, 3])
def test_network_from_pieces_is_the_spline(factors: int, directions: list | None) -> None:
    """For any number of factors, a reader's unit of three included."""
    unit = Unit("own", tuple((letter, letter.lower()) for letter in "UQR"[:factors]))
    pieces = smooth_pieces(factors, KNOTS)
    network = network_from_pieces(unit, KNOTS, pieces, np.array(directions) if directions else None)
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
        pieces[k, :2] = left(KNOTS[k] - KNOTS[k - 1]), left.deriv()(KNOTS[k] - KNOTS[k - 1])
    factors = np.array([[1.0, 2.0], [1.0, 0.0], [-1.0, 3.0]])
    network = network_from_pieces("gqu", KNOTS, pieces, factors=factors)
    assert network.n_hidden == 4
    assert_is_the_spline(network, KNOTS, pieces)


def test_no_neuron_carries_a_constant_behind_the_gates() -> None:
    """The second cell is flat: gates beside it open away from it."""
    pieces = np.array([[2.0, -1.0], [1.2, 0.0], [1.2, 2.0], [2.4, 0.5]])
    network = network_from_pieces("mlp", KNOTS, pieces, np.array([-1, 1, 1]), np.empty((0, 2)))
    assert network.n_hidden == 3
    assert_is_the_spline(network, KNOTS, pieces)


@pytest.mark.parametrize("seed", range(5))
def test_the_combination_is_what_stands_behind_all_gates(seed: int) -> None:
    """On its open side a neuron adds its change; take those away and the combination is left."""
    directions = np.random.default_rng(seed).choice([-1, 1], 3)
    pieces = smooth_pieces(1, KNOTS)
    network = network_from_pieces("glu", KNOTS, pieces, directions)
    x = np.linspace(-1, 1, 7)
    behind = sum(
        sign * np.polynomial.polynomial.polyval(x - t, piece)
        for sign, t, piece in zip(combination(directions), KNOTS, pieces, strict=False)
    )
    with torch.no_grad():
        network.D[0, 1:] = 0.0
    np.testing.assert_allclose(predict(network, x), behind, atol=1e-12)


@pytest.mark.parametrize(
    ("unit", "pieces"),
    [("mlp", [[0.0, 1.0], [2.0, 0.0]]), ("gqu", [[0.0, 1.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0]])],
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


def quadratic(form: np.ndarray, x: np.ndarray) -> np.ndarray:
    """The polynomial of a symmetric matrix of size d + 1 at points (N, d)."""
    lifted = np.column_stack([x, np.ones(len(x))])
    return np.einsum("ni,ij,nj->n", lifted, form, lifted)


def inertia(form: np.ndarray) -> int:
    """The larger number of eigenvalues of one sign: no fewer products of two linear forms do."""
    values = np.linalg.eigvalsh(form)
    cut = 1e-9 * np.abs(values).max()
    return max(int(np.sum(values > cut)), int(np.sum(values < -cut)))


def form_of(signs: list[int], beyond: bool, seed: int) -> np.ndarray:
    """A matrix whose A has these signs in a random basis, and whose b leaves A's range or not."""
    rng = np.random.default_rng(seed)
    basis = np.linalg.qr(rng.normal(size=(len(signs), len(signs))))[0]
    within = basis * np.array(signs) * rng.uniform(0.5, 2, len(signs))
    linear = within @ rng.normal(size=len(signs))
    linear = linear + beyond * basis @ (np.array(signs) == 0)
    form = np.zeros((len(signs) + 1, len(signs) + 1))
    form[:-1, :-1], form[-1, -1] = within @ basis.T, rng.normal()
    form[:-1, -1] = form[-1, :-1] = linear
    return (form + form.T) / 2


#: Signs of A's eigenvalues, whether b leaves A's range, and the neurons that it takes.
FORMS = [
    ([1, 1, 1], False, 3),
    ([1, 1, -1], False, 2),
    ([1, -1, 0], False, 1),
    ([1, -1, 0], True, 2),
    ([1, 1, 0], True, 3),
    ([1, 0, 0], True, 2),
    ([-1, -1, -1, 1, 0], True, 4),
    ([1, 1, -1, -1, -1, 1], False, 3),
    ([0, 0], True, 1),
    ([1], False, 1),
    ([0], True, 1),
]


@pytest.mark.parametrize(("signs", "beyond", "count"), FORMS)
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e4])
def test_fewest_bilinear_is_the_polynomial_and_none_is_smaller(
    signs: list[int], beyond: bool, count: int, scale: float
) -> None:
    """Nor is one with another output bias: inertia counts what each would need."""
    form = scale * form_of(signs, beyond, seed=len(signs))
    made = fewest_bilinear(form)
    x = np.random.default_rng(1).normal(size=(200, len(signs)))
    assert np.abs(predict(made, x) - quadratic(form, x)).max() < 1e-10 * scale
    assert made.n_hidden == count <= len(signs)
    corner = np.zeros_like(form)
    corner[-1, -1] = 1.0
    bias = float(made.d.detach().numpy()[0])
    assert inertia(form - bias * corner) == count
    biases = [scale * c for c in (-30.0, -3.0, -0.3, 0.0, 0.3, 3.0, 30.0)]
    assert min(inertia(form - c * corner) for c in biases) >= count


@pytest.mark.parametrize(
    ("knots", "directions"), [([-1, 0, 1], [2]), ([-1, 0, 1], [np.nan]), ([1, 0, -1], [1])]
)
def test_knots_ascend_and_gates_open_to_one_side(knots: list, directions: list) -> None:
    with pytest.raises(ValueError, match="expected ascending knots and directions of 1 and -1"):
        network_from_pieces("mlp", np.array(knots), np.zeros((2, 2)), np.array(directions))


def test_a_form_of_float32_has_no_neuron_too_many() -> None:
    one = np.array([0.3, 0.7, -0.2, 0.4])
    assert fewest_bilinear(np.outer(one, one).astype(np.float32)).n_hidden <= 3
    exact = np.array([0.5, -1.0, 2.0, 0.25])
    assert fewest_bilinear(np.outer(exact, exact).astype(np.float32)).n_hidden == 1


def test_a_ridge_sum_keeps_the_gate_whatever_its_name_means_by_now() -> None:
    register(Gate("passing", torch.tanh))
    register(Unit("passing", (), "passing"))
    part, x = build("passing", 1, 3), np.linspace(-1, 1, 7)
    register(Gate("passing", torch.sin))
    np.testing.assert_allclose(
        predict(ridge_sum([part], np.eye(1)), x), predict(part, x), rtol=1e-14
    )
    with pytest.raises(ValueError, match="expected networks of one unit"):
        ridge_sum([part, build("passing", 1, 3)], np.eye(2))


def test_a_constant_has_one_neuron_of_zeros() -> None:
    made = fewest_bilinear(np.diag([0.0, 0.0, 2.5]))
    assert made.n_hidden == 1
    assert (predict(made, np.ones((3, 2))) == 2.5).all()


@pytest.mark.parametrize(
    ("unit", "pieces", "got"),
    [
        ("relu2_mlp", [[0.0, 0.0, 1.0], [1.0, 2.0, 1.0]], "unit 'relu2_mlp' with gate 'relu2'"),
        ("geglu", [[0.0, 0.0, 1.0], [1.0, 2.0, 1.0]], "unit 'geglu' with gate 'gelu'"),
        ("mlp", [[0.0, 0.0, 1.0], [1.0, 2.0, 1.0]], r"pieces of shape \(2, 3\)"),
        ("glu", [[0.0, 0.0, 1.0], [math.nan, 2.0, 1.0]], "do not meet at the knots"),
    ],
)
def test_no_network_is_made_of_pieces_that_its_unit_lacks(
    unit: str, pieces: list[list[float]], got: str
) -> None:
    with pytest.raises(ValueError, match=got):
        network_from_pieces(unit, np.arange(3.0), np.array(pieces))


def test_what_a_construction_is_not_for_is_refused() -> None:
    with pytest.raises(ValueError, match=r"networks of one unit, 'mlp', got {'glu'} too"):
        ridge_sum([build("mlp", 1, 2), build("glu", 1, 2)], np.eye(2))
    with pytest.raises(ValueError, match=r"networks of one input and output, got sizes {\(2, 1\)}"):
        ridge_sum([build("mlp", 2, 2)], np.eye(2))
    for size in (1e-9, 1.0, 1e9):
        with pytest.raises(ValueError, match="expected a symmetric matrix"):
            fewest_bilinear(size * np.array([[1.0, 2.0], [0.0, 1.0]]))
    with pytest.raises(ValueError, match="n_cells: expected an integer >= 1, got 0"):
        interpolating_mlp(PAPER_TARGET, 0)


@pytest.mark.parametrize("scale", [1e-170, 1e160])
def test_a_form_whose_squares_leave_float64_is_refused(scale: float) -> None:
    """Its linear part was lost: a norm underflowed."""
    form = np.array([[1.0, 0, 0], [0, 0, 1], [0, 1, 0]])
    with pytest.raises(ValueError, match="largest entry from 1e-100 to 1e100"):
        fewest_bilinear(scale * form)
    with pytest.raises(ValueError, match="expected a square matrix"):
        fewest_bilinear(form[:2])
    assert predict(fewest_bilinear(1e-90 * form), np.array([[0.0, 1.0]])) == pytest.approx(2e-90)
