"""The slips that are not a numbered equation, each proved; and the list itself."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
import sympy as sp
import torch

from xsquared.feature_maps.learned import Protocol, Training, draw_pairs, pair_rmse, train
from xsquared.feature_maps.series import gelu, largest_error, series_coefficients
from xsquared.geometry import spline_gates
from xsquared.papers import errata as module
from xsquared.papers import gated_units, gelu_linearization
from xsquared.papers.errata import errata
from xsquared.units import GLU, parameter_count

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


@pytest.mark.proves("gl-linear-combinations")
def test_lifting_is_not_linear() -> None:
    w = np.array([1.0, -2.0])
    np.testing.assert_array_equal(np.kron(2 * w, 2 * w), 4 * np.kron(w, w))


@pytest.mark.proves("gl-psi-argument")
def test_one_element_of_x_does_not_determine_the_output() -> None:
    W, x_one, x_two = np.array([[1.0, 1.0], [1.0, -1.0]]), np.array([1.0, 0]), np.array([1.0, 2])
    assert x_one[0] == x_two[0]
    assert abs(gelu(W @ x_one)[0] - gelu(W @ x_two)[0]) > 1


@pytest.mark.proves("gl-antiderivative")
@pytest.mark.parametrize("n", range(6))
def test_antiderivative(n: int) -> None:
    density_term = (-1) ** n * x ** (2 * n) / (2**n * sp.factorial(n))
    printed = (-1) ** n * x ** (2 * n + 2) / (2**n * sp.factorial(n) * (2 * n + 2))
    right = (-1) ** n * x ** (2 * n + 1) / (2**n * sp.factorial(n) * (2 * n + 1))
    assert sp.simplify(sp.diff(right, x) - density_term) == 0
    assert sp.simplify(sp.diff(printed, x) - x * density_term) == 0
    assert sp.simplify(sp.diff(printed, x) - density_term) != 0


@pytest.mark.proves("gl-multinomial")
@pytest.mark.parametrize(("d", "power"), [(2, 2), (2, 4), (3, 2), (3, 4)])
def test_multinomial_expansion(d: int, power: int) -> None:
    w, v = sp.symbols(f"w1:{d + 1}"), sp.symbols(f"x1:{d + 1}")
    whole = sum(a * b for a, b in zip(w, v, strict=True)) ** power
    right, printed = sp.Integer(0), sp.Integer(0)
    for k in product(range(power + 1), repeat=d):
        if sum(k) == power:
            count = sp.factorial(power) / sp.prod([sp.factorial(i) for i in k])
            right += count * sp.prod([(w[m] * v[m]) ** k[m] for m in range(d)])
            printed += count * sp.prod([(w[0] * v[0]) ** k[m] for m in range(d)])
    assert sp.expand(whole - right) == 0
    assert sp.expand(whole - printed) != 0
    assert sp.expand(printed - d**power * (w[0] * v[0]) ** power) == 0


@pytest.mark.proves("gl-transposes")
def test_shapes_of_kronecker_squares() -> None:
    row, column = torch.randn(1, 2), torch.randn(2, 1)
    lifted_row, lifted_column = torch.kron(row, row), torch.kron(column, column)
    with pytest.raises(RuntimeError):
        lifted_row @ lifted_column.T
    torch.testing.assert_close(lifted_row @ lifted_column, (row @ column) ** 2)


@pytest.mark.proves("gl-term-count")
def test_five_even_terms_are_six_terms_and_their_features() -> None:
    powers = [1, *(2 * i + 2 for i in range(5))]
    assert len(powers) == len(range(5 + 1))
    assert sum(3**p for p in powers) == 66432
    assert np.count_nonzero(series_coefficients(5)) == len(powers)


@pytest.mark.proves("gl-table1-rounding")
def test_third_row_of_table_1_is_cut_off() -> None:
    error = largest_error(5, 5.0)
    assert abs(error - 785.2) < 0.05
    assert round(error, -1) == 790


@pytest.mark.proves("gl-loss-mean")
@pytest.mark.parametrize("d", [2, 16])
def test_listed_loss_is_the_printed_one_over_d(d: int) -> None:
    predicted, exact = torch.randn(7, d), torch.randn(7, d)
    printed = ((predicted - exact) ** 2).sum(dim=1).mean()
    torch.testing.assert_close(torch.nn.MSELoss()(predicted, exact), printed / d)


@pytest.mark.proves("gl-bmm")
def test_bmm_operands() -> None:
    batch, d, m = 5, 2, 16
    w_prime, x_prime = torch.randn(batch, d, m), torch.randn(batch, m)
    with pytest.raises(RuntimeError):
        torch.bmm(x_prime, w_prime.unsqueeze(-1))
    right = torch.bmm(w_prime, x_prime.unsqueeze(-1)).squeeze(-1)
    torch.testing.assert_close(right, torch.einsum("bdm,bm->bd", w_prime, x_prime))


@pytest.fixture(scope="module")
def trained() -> tuple[Training, torch.Tensor, torch.Tensor, torch.Tensor]:
    """Eight seeds of the paper's networks for 30 epochs, measured at 10 and 30, and test pairs."""
    W, x, y = draw_pairs(2, 500, [[3]])
    run = train(Protocol(), range(8), 480, lambda n: pair_rmse(n, W, x, y), [160, 480])
    return run, W, x, y


@pytest.mark.proves("gl-unbiased")
def test_trained_maps_are_biased(trained) -> None:
    """By Student's t over eight trainings; unbiased, 1% of the outputs would lie beyond 3.5."""
    run, W, x, y = trained
    errors = (run.networks.predict(W.expand(8, -1, -1, -1), x.expand(8, -1, -1)) - y).numpy()
    t_values = errors.mean(axis=0) / (errors.std(axis=0, ddof=1) / np.sqrt(8))
    assert np.mean(np.abs(t_values) > 3.5) > 0.15


@pytest.mark.proves("gl-overfitting")
def test_thirty_epochs_are_better_than_ten_but_not_on_every_pair(trained) -> None:
    ten, thirty = (trained[0].measured[step] for step in (160, 480))
    assert ((thirty**2).mean(axis=1) < (ten**2).mean(axis=1)).all()
    assert 0.05 < np.mean(thirty > ten) < 0.2


def test_every_slip_has_a_proof_or_names_its_evidence() -> None:
    marked = {
        mark.args[0]
        for function in globals().values()
        for mark in getattr(function, "pytestmark", [])
        if mark.name == "proves"
    }
    papers = (*gated_units.equations(), *gelu_linearization.equations())
    proved = marked | {equation.key for equation in papers}
    for slip in errata():
        assert bool(slip.evidence) != (slip.key in proved), slip.key
    assert marked <= {slip.key for slip in errata()}


def test_repeated_key_is_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:
    entry = '[[erratum]]\nkey="k"\npaper="gated-units"\nwhere="w"\nprinted="p"\nright="r"\n'
    (tmp_path / "errata.toml").write_text(entry * 2)
    monkeypatch.setattr(module, "files", lambda _: tmp_path)
    with pytest.raises(ValueError, match=r"errata\.toml repeats k"):
        errata.__wrapped__()
