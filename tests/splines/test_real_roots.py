"""Real-rooted increments: the least error found is that of cubics with a continuous slope."""

import math

import pytest

from xsquared.splines.constants import equal_cells_constant
from xsquared.splines.real_roots import least_mean_square


@pytest.mark.parametrize("cells", [1, 2])
def test_real_roots_cost_the_smoother_constant(cells: int) -> None:
    smooth = math.factorial(4) ** 2 * float(equal_cells_constant(4, 1) ** 2)
    assert least_mean_square(cells) == pytest.approx(smooth, rel=1e-4)
