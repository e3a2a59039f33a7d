"""The slips that a computation shows and no cell of the derivations does; and the list
itself.
"""

import re
from pathlib import Path

import numpy as np
import pytest
import sympy as sp
import torch

from xsquared.book.papers.figures import paper_points
from xsquared.book.papers.ledger import errata, ledger
from xsquared.features.polynomials import gelu, gelu_tanh, taylor_gelu
from xsquared.slopes import fit_slope
from xsquared.units import parameter_count

x = sp.Symbol("x", positive=True)


def test_every_slip_is_shown_once_or_names_its_evidence() -> None:
    keys = [slip.key for slip in errata()]
    assert len(set(keys)) == len(keys)
    here = Path(__file__).read_text(encoding="utf-8")
    for slip in errata():
        assert bool(slip.shown) != bool(slip.evidence), slip.key
        for test in re.findall(r"`(test_\w+)`", slip.shown):
            assert f"def {test}(" in here
        for claim in re.findall(r"<claim-([^>]*)>", slip.shown):
            assert claim in ledger()


def test_condition_at_hinge() -> None:
    i, h, D, U, u = sp.symbols("i h D U u", real=True)
    neuron = D * (x - i * h) * (U * x + u)
    assert sp.expand(neuron.subs(x, i * h)) == 0
    assert sp.expand(sp.diff(neuron.subs(x, (i + 1) * h), u)) == D * h


def fitted(problem: str, unit: str, first: int = 1, last: int = 10**6) -> float:
    """Fit a slope through the paper's own points, against neurons."""
    errors = paper_points(problem, unit).loc[first:last]
    return fit_slope(errors.index, errors).value


#: Printed slopes by unit, against neurons and against parameters.
LINES = {
    "mlp": (-2.13, -2.18),
    "glu": (-3.08, -3.13),
    "gqu": (-3.5, -3.54),
}


def test_table_1_mixes_regressors() -> None:
    for unit, (slope, _) in LINES.items():
        assert round(fitted("line", unit), 2) == slope


def test_lines_of_figs_3_and_5_have_other_last_digits() -> None:
    for unit, (_, slope) in LINES.items():
        errors = paper_points("line", unit)
        counts = [parameter_count(unit, 1, int(n)) for n in errors.index]
        assert round(fit_slope(counts, errors).value, 2) == slope


def test_figure_3_shows_mean_squares_of_48_widths() -> None:
    for unit, printed in (("mlp", -2.13), ("glu", -3.08)):
        errors = paper_points("line", unit)
        assert errors.index.tolist() == list(range(3, 51))
        slope_of_squares = fit_slope(errors.index, errors**2).value
        assert slope_of_squares == pytest.approx(2 * printed, abs=0.011)


@pytest.mark.parametrize(
    ("curve", "window", "printed", "over_all"),
    [
        (("sine", "mlp"), (20,), -0.91, -0.55),
        (("sine", "glu"), (10,), -1.55, -1.00),
        (("friedman2", "mlp"), (10,), -0.76, -0.77),
        (("airfoil", "mlp"), (10, 500), -0.25, -0.78),
        (("airfoil", "glu"), (10, 100), -0.39, -1.00),
    ],
)
def test_printed_slopes_need_windows(
    curve: tuple[str, str],
    window: tuple[int, ...],
    printed: float,
    over_all: float,
) -> None:
    assert fitted(*curve, *window) == pytest.approx(printed, abs=0.006)
    assert fitted(*curve) == pytest.approx(over_all, abs=0.006)


@pytest.mark.parametrize(
    ("unit", "singular", "first", "without"),
    [("mlp", 77, 20, -0.97), ("glu", 22, 10, -1.45)],
)
def test_two_singular_solves_carry_slopes(
    unit: str, singular: int, first: int, without: float
) -> None:
    errors = paper_points("sine", unit)
    deviation = 1 / 2 - np.sin(8) / 16
    assert errors[singular] > 2 * deviation
    kept = errors.loc[first:].drop(singular)
    assert fit_slope(kept.index, kept).value == pytest.approx(without, abs=0.005)


def test_one_element_does_not_determine_the_output() -> None:
    W = np.array([[1.0, 1.0], [1.0, -1.0]])
    assert abs(gelu(W @ [1.0, 0.0])[0] - gelu(W @ [1.0, 2.0])[0]) > 1


def test_shapes_of_kronecker_squares() -> None:
    row, column = torch.randn(1, 2), torch.randn(2, 1)
    lifted_row, lifted_column = torch.kron(row, row), torch.kron(column, column)
    with pytest.raises(RuntimeError):
        lifted_row @ lifted_column.T
    torch.testing.assert_close(lifted_row @ lifted_column, (row @ column) ** 2)
    matrix = torch.randn(3, 2)
    pairs = torch.kron(matrix, matrix) @ lifted_column
    torch.testing.assert_close(pairs, torch.kron(matrix @ column, matrix @ column))


def test_table_1_is_not_measured_against_the_tanh_form() -> None:
    z = np.linspace(-1, 1, 2001)
    errors = [np.abs(taylor_gelu(z, 5) - exact(z)).max() for exact in (gelu, gelu_tanh)]
    np.testing.assert_allclose(errors, [8.8e-6, 1.6e-4], rtol=0.02)


def test_listed_loss_is_the_printed_one_over_d() -> None:
    predicted, exact = torch.randn(7, 16), torch.randn(7, 16)
    printed = ((predicted - exact) ** 2).sum(dim=1).mean()
    torch.testing.assert_close(torch.nn.MSELoss()(predicted, exact), printed / 16)


def test_bmm_operands() -> None:
    w_prime, x_prime = torch.randn(5, 2, 16), torch.randn(5, 16)
    with pytest.raises(RuntimeError):
        torch.bmm(x_prime, w_prime.unsqueeze(-1))
    right = torch.bmm(w_prime, x_prime.unsqueeze(-1)).squeeze(-1)
    torch.testing.assert_close(right, torch.einsum("bdm,bm->bd", w_prime, x_prime))
