"""The shared loop on problems whose minimum and steps are known by hand."""

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import pytest

from xsquared.levenberg_marquardt import descend


@dataclass(frozen=True)
class At:
    """A place, and the residuals there."""

    x: np.ndarray
    residual: np.ndarray

    @property
    def loss(self) -> float:
        return float(self.residual @ self.residual)


def line(x: float, least: float = 0.0) -> At:
    """(x - 3)^2 + least."""
    return At(np.array([x]), np.array([x - 3.0, least**0.5]))


def newton_on_the_line(at: At) -> Callable[[float], At]:
    """The damped Gauss-Newton step, which divides the distance by 1 + 1/damping."""
    return lambda damping: line(
        at.x[0] - (at.x[0] - 3.0) / (1 + damping), at.residual[1] ** 2
    )


def rosenbrock(x: np.ndarray) -> At:
    return At(x, np.array([10 * (x[1] - x[0] ** 2), 1 - x[0]]))


def on_the_valley(at: At) -> Callable[[float], At]:
    jacobian = np.array([[-20 * at.x[0], 10.0], [-1.0, 0.0]])
    gram, gradient = jacobian.T @ jacobian, jacobian.T @ at.residual
    return lambda damping: rosenbrock(
        at.x - np.linalg.solve(gram + damping * np.diag(np.diag(gram)), gradient)
    )


def test_a_curved_valley_is_followed_to_its_minimum() -> None:
    points = list(descend(rosenbrock(np.array([-1.2, 1.0])), on_the_valley, 200))
    np.testing.assert_allclose(points[-1][0].x, [1, 1], atol=1e-9)
    assert points[-1][2] == "converged"
    assert (np.diff([at.loss for at, *_ in points]) <= 0).all()


def test_the_damping_falls_after_every_step_that_lowers_the_loss() -> None:
    used = []

    def linearise(at: At) -> Callable[[float], At]:
        def attempt(damping: float) -> At:
            used.append(damping)
            return newton_on_the_line(at)(damping)

        return attempt

    found = list(descend(line(13.0, 1.0), linearise, 4, damping=1.0, lowered=10.0))
    assert used == pytest.approx([1.0, 0.1, 0.01, 0.001])
    distance = list(itertools.accumulate([10.0, *used], lambda d, m: d * m / (1 + m)))
    assert [at.x[0] - 3 for at, *_ in found] == pytest.approx(distance)
    assert found[-1][2] == "iterations"


def test_the_damping_stays_above_what_could_leave_a_matrix_singular() -> None:
    used = []

    def linearise(at: At) -> Callable[[float], At]:
        def attempt(damping: float) -> At:
            used.append(damping)
            return line(3 + (at.x[0] - 3) / 2)

        return attempt

    list(descend(line(13.0), linearise, 30))
    assert used == [max(1e-2 / 4**k, 1e-12) for k in range(30)]


def test_a_step_that_raises_the_loss_or_cannot_be_taken_is_damped() -> None:
    used = []

    def attempt(damping: float) -> At | None:
        used.append(damping)
        if damping < 1e-1:
            return None
        return line(9.0) if damping < 1 else line(3.5)

    found = list(descend(line(4.0), lambda _: attempt, 1, damping=0.02))
    assert used == pytest.approx([0.02, 0.08, 0.32, 1.28])
    assert [(at.x[0], count) for at, count, _ in found] == [(4.0, 0), (3.5, 1)]


def test_where_no_damping_lowers_the_loss_the_descent_has_converged() -> None:
    start = line(13.0)
    found = list(descend(start, lambda _: lambda _: line(-7.0), 9))
    assert found == [(start, 0, "iterations"), (start, 1, "converged")]


def test_where_no_step_can_be_taken_the_descent_has_stalled() -> None:
    start = line(13.0)
    found = list(descend(start, lambda _: lambda _: None, 9))
    assert found == [(start, 0, "iterations"), (start, 1, "stalled")]


def test_a_step_that_raises_the_loss_by_rounding_alone_ends_the_descent() -> None:
    """Two attempts where one may raise it by that much, all dampings where none may."""
    tried: list[float] = []

    def attempt(damping: float) -> At:
        tried.append(damping)
        return line(3.0, (1 + 1e-15) * 0.25 if len(tried) > 1 else 0.5)

    for rounding, attempts in ((1e-13, 2), (0.0, 20)):
        tried.clear()
        *_, (_, count, word) = descend(
            line(3.0, 0.25), lambda _: attempt, 9, rounding=rounding
        )
        assert (count, word, len(tried)) == (1, "converged", attempts)


def test_three_steps_in_a_row_that_hardly_lower_the_loss_end_the_descent() -> None:
    falls: Iterator[float] = iter([0.5, 1e-3, 0.5, 1e-3, 1e-3, 1e-3, 0.5])

    def linearise(at: At) -> Callable[[float], At]:
        lower = at.loss * (1 - next(falls))
        return lambda _: At(at.x, np.array([lower**0.5]))

    found = list(descend(line(13.0), linearise, 7, stall=1e-2))
    assert found[-1][1:] == (6, "converged")


def test_a_loss_below_the_floor_needs_no_step() -> None:
    done = list(descend(line(13.0), newton_on_the_line, 99, floor=1e-6))
    assert done[-1][0].loss <= 1e-6 < done[-2][0].loss
    assert done[-1][2] == "converged"
