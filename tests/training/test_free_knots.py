"""Networks from free-knot splines: forward passes, both orientations, kinks and steep
ends.
"""

import functools
import math

import numpy as np
import pytest
from scipy.integrate import simpson

from xsquared.functions import PAPER_TARGET, Interval, Target, target
from xsquared.geometry import knots
from xsquared.training.free_knots import FreeKnots, SplineNetwork
from xsquared.units import GatedNetwork, predict

UNITS = ["mlp", "glu", "gqu"]
KINKS = "0.54*abs(x + 0.38) + 0.33*abs(x - 0.15) - 0.42*abs(x - 0.65)"


@functools.cache
def found(f: Target, unit: str, n: int) -> SplineNetwork:
    """What the solver finds, once for all tests that look at it."""
    return FreeKnots().fit_target(f, unit, n)


def error(network: GatedNetwork, f: Target) -> float:
    """Root mean square error by Simpson's rule, on far more points than there are
    waves.
    """
    x = np.linspace(*f.domain[0], 20_001)
    squares = (predict(network, x) - f(x)) ** 2
    return math.sqrt(simpson(squares, x=x) / (x[-1] - x[0]))


@pytest.mark.parametrize(
    ("text", "unit"), [*(("exp(2*x)", u) for u in UNITS), ("x**3", "gqu")]
)
def test_n_neurons_carry_the_spline(text: str, unit: str) -> None:
    f = target(text, (-1.0, 1.5))
    for n in (1, 3):
        made = found(f, unit, n)
        assert made.network.n_hidden == n
        assert math.isclose(
            error(made.network, f), made.rmse, rel_tol=1e-4, abs_tol=1e-12
        )
        if made.spline is not None:
            x = np.linspace(*f.domain[0], 2001)
            np.testing.assert_allclose(
                predict(made.network, x), made.spline(x), atol=1e-8
            )


@pytest.mark.parametrize(
    ("unit", "n", "known"),
    [
        ("mlp", 3, 5.76e-2),
        ("glu", 2, 2.01e-2),
        ("glu", 4, 5.61e-3),
        ("glu", 5, 2.366e-3),
    ],
)
def test_gates_of_both_orientations_are_used(unit: str, n: int, known: float) -> None:
    """What random starts of variable projection on points found, or better; one way is
    worse.
    """
    made = found(PAPER_TARGET, unit, n)
    assert made.rmse <= known
    assert set(np.sign(made.network.G.detach().numpy().ravel())) == {-1.0, 1.0}
    assert (np.abs(knots(made.network)) < 1).all()


def test_one_gqu_neuron_with_its_hinge_inside() -> None:
    """Five times better than a cubic with real factors on the whole interval."""
    assert found(target("exp(2*x)*x"), "gqu", 1).rmse < 0.0819


@pytest.mark.parametrize("unit", UNITS)
def test_no_wide_network_is_far_from_the_splines_with_one_cell_more(unit: str) -> None:
    made, spline = (
        found(PAPER_TARGET, unit, 10),
        FreeKnots().spline(PAPER_TARGET, unit, 11),
    )
    assert 0.99 * spline.rmse <= made.rmse <= 1.3 * spline.rmse


@pytest.mark.parametrize(
    ("text", "domain", "unit", "n", "to"),
    [
        ("log(x)", (1e-6, 1.0), "gqu", 50, 1e-5),
        ("tanh(2000*x)", (-1.0, 1.0), "gqu", 20, 2e-6),
        ("x**1000", (-1.0, 1.0), "glu", 20, 2e-5),
        (f"{KINKS} + 0.27*sin(3*x)", (-1.0, 1.0), "gqu", 40, 2e-7),
        ("exp(2*x) + 10*x**2", (-1.0, 1.0), "glu", 20, 5.3e-5),
    ],
)
def test_ends_kinks_and_jumps(
    text: str, domain: Interval, unit: str, n: int, to: float
) -> None:
    """One-sided sums of splines have forward passes of 9.8, 5.5 and 1.8e13 at the steep
    ends.
    """
    made = found(f := target(text, domain), unit, n)
    assert made.rmse < to
    assert math.isclose(error(made.network, f), made.rmse, rel_tol=1.0)


@pytest.mark.parametrize("text", ["abs(x - 0.3) + x**2", "x**3 + 0.01*sin(3*x)"])
@pytest.mark.parametrize("n", [1, 3])
def test_a_gqu_is_no_worse_than_the_glu_it_contains(text: str, n: int) -> None:
    """Where cells of cubics merge at a kink, and where one neuron's roots are complex."""
    gqu, glu = (found(target(text), unit, n) for unit in ("gqu", "glu"))
    assert gqu.rmse <= glu.rmse * (1 + 1e-6) + 1e-12


def test_where_cells_merge_at_a_kink_the_forward_pass_judges() -> None:
    """Two neurons carry this target; the search for three lets cells merge, and weights
    explode.
    """
    made = found(target("abs(x - 0.3) + x**2"), "glu", 3)
    assert made.holds
    assert made.rmse < 1e-7


def test_seeds_change_the_jittered_starts() -> None:
    one, same, other = (
        FreeKnots().fit_target(PAPER_TARGET, "glu", 6, s) for s in (0, 0, 1)
    )
    assert (one.iterations, one.rmse) == (same.iterations, same.rmse)
    assert one.iterations != other.iterations
