"""The slips that are not a numbered equation, each proved; and the list itself."""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp
import torch

from xsquared import errata as module
from xsquared.errata import errata
from xsquared.gated_units import equations
from xsquared.networks import GLU, parameter_count, spline_gates

x, h = sp.symbols("x h", positive=True)


@pytest.mark.proves("gu-linspace")
@pytest.mark.parametrize("n", [2, 3, 10, 51])
def test_linspace_spacing(n: int) -> None:
    _, g = spline_gates(n, (0.0, 1.0), "one-way")
    np.testing.assert_allclose(np.diff(-g), 1 / (n - 1), rtol=1e-12)
    assert abs((-g)[1] - 1 / n) > 1e-4


@pytest.mark.proves("gu-neuron-count")
@pytest.mark.parametrize("n", [1, 4, 50])
def test_neuron_count(n: int) -> None:
    neurons = len(range(n + 1))
    assert neurons == n + 1
    own_count = sum(p.numel() for p in GLU(1, neurons).parameters())
    assert parameter_count("glu", 1, n) == 5 * n + 1
    assert own_count - parameter_count("glu", 1, n) == 5


@pytest.mark.proves("gu-lineup")
def test_condition_at_hinge() -> None:
    i, D, U, u = sp.symbols("i D U u", real=True)
    neuron = D * (x - i * h) * (U * x + u)
    assert sp.expand(neuron.subs(x, i * h)) == 0
    assert sp.expand(sp.diff(neuron.subs(x, (i + 1) * h), u)) == D * h


@pytest.mark.proves("gu-curvature-increment")
@pytest.mark.parametrize("cell", [0, 1, 2, 3])
def test_curvature_increment(cell: int) -> None:
    second = sp.Function("c")
    printed = sum(2 * second(k * h) / 2 for k in range(cell + 1))
    mended = second(0 * h) + sum(second(k * h) - second((k - 1) * h) for k in range(1, cell + 1))
    assert sp.expand(mended - second(cell * h)) == 0
    assert (sp.expand(printed - second(cell * h)) == 0) == (cell == 0)


@pytest.mark.proves("gu-table1-target")
def test_table1_target() -> None:
    t = sp.Symbol("t", real=True)
    printed, meant = 1 / (1 + sp.cos(sp.pi * t)) ** 2, 1 / (1 + sp.cos(sp.pi * t) ** 2)
    for end, side in ((1, "-"), (-1, "+")):
        assert sp.limit(printed, t, end, side) == sp.oo
        assert meant.subs(t, end) == sp.Rational(1, 2)


@pytest.mark.proves("gl-eq1")
def test_gelu_integral() -> None:
    t, z = sp.symbols("t z", real=True)
    density = sp.exp(-(t**2) / 2) / sp.sqrt(2 * sp.pi)
    printed = z * sp.integrate(t * density, (t, -sp.oo, z))
    assert sp.simplify(printed + z * density.subs(t, z)) == 0
    right = z * sp.integrate(density, (t, -sp.oo, z))
    gelu = z * (1 + sp.erf(z / sp.sqrt(2))) / 2
    assert sp.simplify((right - gelu).rewrite(sp.erf)) == 0
    assert sp.simplify(printed - gelu) != 0


@pytest.mark.proves("gl-antiderivative")
@pytest.mark.parametrize("n", range(6))
def test_antiderivative(n: int) -> None:
    density_term = (-1) ** n * x ** (2 * n) / (2**n * sp.factorial(n))
    printed = (-1) ** n * x ** (2 * n + 2) / (2**n * sp.factorial(n) * (2 * n + 2))
    right = (-1) ** n * x ** (2 * n + 1) / (2**n * sp.factorial(n) * (2 * n + 1))
    assert sp.simplify(sp.diff(right, x) - density_term) == 0
    assert sp.simplify(sp.diff(printed, x) - x * density_term) == 0
    assert sp.simplify(sp.diff(printed, x) - density_term) != 0


@pytest.mark.proves("gl-bmm")
def test_bmm_operands() -> None:
    batch, d, m = 5, 2, 16
    w_prime, x_prime = torch.randn(batch, d, m), torch.randn(batch, m)
    with pytest.raises(RuntimeError):
        torch.bmm(x_prime, w_prime.unsqueeze(-1))
    right = torch.bmm(w_prime, x_prime.unsqueeze(-1)).squeeze(-1)
    torch.testing.assert_close(right, torch.einsum("bdm,bm->bd", w_prime, x_prime))


def test_every_slip_has_a_proof_or_names_its_evidence() -> None:
    marked = {
        mark.args[0]
        for function in globals().values()
        for mark in getattr(function, "pytestmark", [])
        if mark.name == "proves"
    }
    proved = marked | {equation.key for equation in equations()}
    for slip in errata():
        assert bool(slip.evidence) != (slip.key in proved), slip.key
    assert marked <= {slip.key for slip in errata()}


def test_repeated_key_is_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:
    entry = '[[erratum]]\nkey="k"\npaper="gated-units"\nwhere="w"\nprinted="p"\nright="r"\n'
    (tmp_path / "errata.toml").write_text(entry * 2)
    monkeypatch.setattr(module, "files", lambda _: tmp_path)
    with pytest.raises(ValueError, match=r"errata\.toml repeats k"):
        errata.__wrapped__()
