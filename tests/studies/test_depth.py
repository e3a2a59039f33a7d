"""Deep networks: derivatives, constructions at several sizes, and trainers that start there."""

import numpy as np
import pytest
from numpy.polynomial import Chebyshev

from xsquared_studies.depth import depth_trials, forward, of_polynomial, of_square, run_depth

X = np.linspace(-1, 1, 301)


@pytest.mark.parametrize("unit", ["mlp", "glu", "swiglu"])
def test_the_jacobian_is_that_of_differences(unit: str) -> None:
    draw, step = np.random.default_rng(0), 1e-6
    weights = draw.normal(size=33 if unit == "mlp" else 61)
    along = draw.normal(size=len(weights))
    ahead, behind = (forward(weights + s * along, X, unit, (4, 4))[0] for s in (step, -step))
    missed = (ahead - behind) / (2 * step) - forward(weights, X, unit, (4, 4))[1] @ along
    assert np.median(abs(missed)) < 1e-7  # but at kinks


@pytest.mark.parametrize("layers", [1, 2, 3, 4])
def test_layers_of_glus_are_any_polynomial(layers: int) -> None:
    draw = np.random.default_rng(layers)
    for degree in range(2**layers + 1):
        p = Chebyshev(draw.normal(size=degree + 1))
        widths = [2**k for k in reversed(range(layers))]
        made = forward(of_polynomial(p, layers), X, "glu", widths)[0]
        np.testing.assert_allclose(made, p(X), rtol=0, atol=1e-9)


@pytest.mark.parametrize(("n", "m"), [(4, 4), (6, 6), (4, 3), (5, 2)])
def test_two_relu_layers_are_the_square_in_so_many_pieces(n: int, m: int) -> None:
    x = np.linspace(-1, 1, 100 * n * m + 1)
    values, _ = forward(of_square(n, m), x, "mlp", (n, m))
    rmse = np.sqrt(np.mean((values - x**2) ** 2))
    # Chords of pieces of length 2/(n m), lowered by a sixth of its square over four.
    assert rmse == pytest.approx(4 / np.sqrt(180) / (n * m) ** 2, rel=0.01)


def test_training_returns_from_nearby_and_says_how_it_ended() -> None:
    near, *_ = [t for t in depth_trials() if ("off", 0.001) in t.settings and t.n_hidden == 2]
    made = run_depth(near)
    assert (made["status"], made["parameters"], made["train_rmse"]) == ("converged", 10, 1e-9)
