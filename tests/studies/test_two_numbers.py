"""The study ``two_numbers``: its targets have the poles that were drawn."""

import numpy as np
import pytest
import torch

from xsquared.functions import target
from xsquared.studies.two_numbers import (
    UNITS,
    _starting_gates,
    _targets_with_poles,
)
from xsquared.training.variable_projection import iterates, last
from xsquared.units import find_unit, parameter_count


def test_targets_are_real_parts_of_simple_poles() -> None:
    """The text of a target is the sum of Re r / (x - p), with what was drawn."""
    draw = np.random.default_rng(7)
    x = np.linspace(-1, 1, 11)
    for text in _targets_with_poles(7):
        wanted = np.zeros_like(x)
        for _ in range(3):
            real = round(draw.uniform(-0.8, 0.8), 3)
            pole = complex(real, round(draw.uniform(0.15, 0.6), 3))
            residue = complex(*draw.normal(size=2).round(3))
            wanted += (residue / (x - pole)).real
        np.testing.assert_allclose(target(text)(x), wanted, rtol=1e-12)


def test_units_start_alike_at_equal_parameters() -> None:
    """Narrower units have the first gates of wider ones; all have 28 to 31 numbers."""
    few, many = _starting_gates(6, 3), _starting_gates(10, 3)
    assert few.gate.equal(many.gate[:6])
    for (name, gate), n in UNITS.items():
        assert 28 <= parameter_count(find_unit(name, gate), 1, n) <= 31


@pytest.mark.parametrize(
    ("gate", "factor"), [("silu", "swiglu"), ("relu", "glu"), ("gelu", "geglu")]
)
def test_two_numbers_span_what_a_factor_does(gate: str, factor: str) -> None:
    """With the same gates and readouts solved both kinds miss a target by as much."""
    x = torch.linspace(-1, 1, 200, dtype=torch.float64)
    y = 1 / (1 + 25 * x**2)
    errors = [
        last(
            iterates(unit, x[:, None], y, _starting_gates(4, 1), max_iterations=0)
        ).rmse
        for unit in (find_unit("pair", gate), find_unit(factor))
    ]
    assert errors[0] == pytest.approx(errors[1], rel=1e-6)
