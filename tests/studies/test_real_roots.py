"""Real-rooted increments: the least error found is that of cubics with a continuous slope."""

import math

import numpy as np
import pytest

from xsquared.splines.constants import equal_cells_constant
from xsquared_studies.real_roots import _discriminants, _pattern, least_mean_square


@pytest.mark.parametrize("cells", [1, 2])
def test_real_roots_cost_the_smoother_constant(cells: int) -> None:
    smooth = math.factorial(4) ** 2 * float(equal_cells_constant(4, 1) ** 2)
    assert least_mean_square(cells) == pytest.approx(smooth, rel=1e-4)


def test_patterns_meet_at_knots_whatever_their_widths() -> None:
    u = np.random.default_rng(0).normal(size=12)
    h, c = _pattern(u)
    assert h.sum() == pytest.approx(3)
    np.testing.assert_allclose(c.sum(axis=1), np.roll(c[:, 0], -1), atol=1e-12)
    # Against the polynomials themselves.
    left, right = ([np.poly1d((c[i] / h[i] ** np.arange(5))[::-1]) for i in order]
                   for order in ((0, 1, 2), (2, 0, 1)))  # fmt: skip
    for i in range(3):
        jump = [(right[i].deriv(j)(h[i - 1]) - left[i].deriv(j)(0)) / math.factorial(j)
                for j in (1, 2, 3)]  # fmt: skip
        assert _discriminants(u)[i] == pytest.approx(jump[1] ** 2 - 4 * jump[0] * jump[2])
