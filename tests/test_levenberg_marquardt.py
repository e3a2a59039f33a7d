"""The shared loop on problems whose minimum and steps are known by hand."""

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import pytest

from xsquared.levenberg_marquardt import DAMPING, Damping, descend


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


def newton_on_the_line(least: float = 0.0) -> Callable[[At], Callable[[float], At]]:
    """The damped Gauss-Newton step, which divides the distance by 1 + 1/damping."""
    return lambda at: lambda damping: line(at.x[0] - (at.x[0] - 3.0) / (1 + damping), least)


def rosenbrock(x: np.ndarray) -> At:
    return At(x, np.array([10 * (x[1] - x[0] ** 2), 1 - x[0]]))


def on_the_valley(at: At) -> Callable[[float], At]:
    jacobian = np.array([[-20 * at.x[0], 10.0], [-1.0, 0.0]])
    gram, gradient = jacobian.T @ jacobian, jacobian.T @ at.residual
    return lambda damping: rosenbrock(
        at.x - np.linalg.solve(gram + damping * np.diag(np.diag(gram)), gradient)
    )


def test_a_curved_valley_is_followed_to_its_minimum() -> None:
    points = list(descend(rosenbrock(np.array([-1.2, 1.0])), on_the_valley, 200, DAMPING))
    np.testing.assert_allclose(points[-1][0].x, [1, 1], atol=1e-9)
    assert points[-1][2] == "converged"
    assert (np.diff([at.loss for at, *_ in points]) <= 0).all()
    assert {word for *_, word in points[:-1]} == {"iterations"}
    assert [count for _, count, _ in points] == list(range(len(points)))


def test_the_damping_falls_after_every_step_that_lowers_the_loss() -> None:
    used = []

    def linearise(at: At) -> Callable[[float], At]:
        def attempt(damping: float) -> At:
            used.append(damping)
            return newton_on_the_line(least=1.0)(at)(damping)

        return attempt

    damping = Damping(start=1.0, lowered=10.0, least=0.005, patience=99)
    found = list(descend(line(13.0, 1.0), linearise, 5, damping))
    assert used == pytest.approx([1.0, 0.1, 0.01, 0.005, 0.005])
    distance = list(itertools.accumulate([10.0, *used], lambda d, m: d * m / (1 + m)))
    assert [at.x[0] - 3 for at, *_ in found] == pytest.approx(distance)


def test_a_step_that_raises_the_loss_or_cannot_be_taken_is_damped() -> None:
    used = []

    def linearise(at: At) -> Callable[[float], At | None]:
        def attempt(damping: float) -> At | None:
            used.append(damping)
            if damping < 1e-1:
                return None
            return line(at.x[0] + 5) if damping < 1 else line((at.x[0] + 3) / 2)

        return attempt

    found = list(descend(line(4.0), linearise, 1, Damping(start=0.01, raised=10.0)))
    # At 0.1 the loss rises; up to rounding the next damping is 1.
    assert used[:3] == pytest.approx([0.01, 0.1, 1.0])
    assert found[-1][0].loss < found[0][0].loss
    assert [count for _, count, _ in found] == [0, 1]


def test_the_limit_of_iterations_is_reported() -> None:
    slow = Damping(start=1e3, lowered=1.0)
    found = list(descend(line(13.0), newton_on_the_line(), 4, slow))
    assert [count for _, count, _ in found] == [0, 1, 2, 3, 4]
    assert found[-1][2] == "iterations"


def test_a_step_that_leaves_the_loss_as_it_is_counts_as_none() -> None:
    found = list(descend(line(13.0), lambda _: lambda _: line(-7.0), 9, DAMPING))
    assert [count for _, count, _ in found] == [0, 1]
    assert found[-1][0].x[0] == 13
    assert found[-1][2] == "converged"


def test_where_no_damping_lowers_the_loss_the_descent_has_converged() -> None:
    tried = []

    def linearise(_: At) -> Callable[[float], At | None]:
        return lambda damping: tried.append(damping)

    start, damping = line(13.0), Damping(start=1.0, raised=10.0, most=500.0)
    assert list(descend(start, linearise, 0, damping)) == [(start, 0, "converged")]
    assert list(descend(start, linearise, 9, damping)) == [
        (start, 0, "iterations"),
        (start, 1, "converged"),
    ]
    assert tried == [1.0, 10.0, 100.0]


def test_a_step_that_raises_the_loss_by_rounding_alone_ends_the_descent() -> None:
    """Two attempts where one may raise it by that much, all dampings where none may."""
    tried: list[float] = []

    def nowhere(at: At) -> Callable[[float], At]:
        def attempt(damping: float) -> At:
            tried.append(damping)
            return line(at.x[0], (1 + 1e-15) * 0.25) if len(tried) > 1 else line(at.x[0], 0.5)

        return attempt

    start = line(3.0, 0.25)
    for rounding, attempts in ((1e-13, 2), (0.0, 20)):
        tried.clear()
        *_, (_, iterations, word) = descend(start, nowhere, 9, replace(DAMPING, rounding=rounding))
        assert (iterations, word, len(tried)) == (1, "converged", attempts)


def test_a_descent_that_ends_at_its_limit_has_converged_all_the_same() -> None:
    """No lower loss, patience at its end, a loss of zero: each in the last iteration allowed."""
    start = line(13.0)
    assert list(descend(start, lambda _: lambda _: None, 1, DAMPING))[-1] == (start, 1, "converged")
    slow = Damping(start=1e3, lowered=1.0, stall=0.1, patience=2)
    assert list(descend(start, newton_on_the_line(), 2, slow))[-1][1:] == (2, "converged")
    assert list(descend(start, newton_on_the_line(), 1, slow))[-1][1:] == (1, "iterations")
    exact = list(descend(start, lambda _: lambda _: line(3.0), 1, DAMPING))
    assert exact[-1][1:] == (1, "converged")


def test_steps_that_hardly_lower_the_loss_end_the_descent() -> None:
    """As many in a row as there is patience; one good step starts the count anew."""
    falls = [0.5, 1e-3, 0.5, 1e-3, 1e-3, 1e-3, 0.5]
    for patience, expected in ((1, 2), (2, 5), (3, 6)):
        left = iter(falls)

        def linearise(at: At, left: Iterator[float] = left) -> Callable[[float], At]:
            lower = at.loss * (1 - next(left))
            return lambda _: At(at.x, np.array([lower**0.5]))

        damping = Damping(stall=1e-2, patience=patience)
        found = list(descend(line(13.0), linearise, 7, damping))
        assert found[-1][1:] == (expected, "converged")


def test_a_loss_of_zero_needs_no_step() -> None:
    damping = replace(DAMPING, floor=1e-6)
    assert list(descend(line(3.0005), newton_on_the_line(), 9, damping))[-1][1:] == (0, "converged")
    done = list(descend(line(13.0), newton_on_the_line(), 99, damping))
    assert done[-1][0].loss <= 1e-6 < done[-2][0].loss
    assert done[-1][2] == "converged"


def test_the_defaults_are_the_books() -> None:
    """What the book's numbers were computed with: another default is another protocol."""
    steps = {"start": 1e-2, "lowered": 4.0, "raised": 4.0, "least": 1e-12, "most": 1e10}
    assert Damping(**steps, stall=1e-8, patience=3, floor=1e-30) == DAMPING
