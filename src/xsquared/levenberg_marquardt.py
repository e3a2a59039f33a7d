"""The Levenberg-Marquardt loop that every solver of least-squares problems here shares.

Where a damped step lowers the loss the damping falls, where it does not the damping
rises and the step is tried again. Reference: Nocedal and Wright, Numerical
Optimization, section 10.3.
"""

import math
from collections.abc import Callable, Generator, Iterator
from typing import Any, Literal, TypeVar

Status = Literal["converged", "iterations"]
P = TypeVar(
    "P", bound=Any
)  # a place in the descent: its ``loss``, at least 0, is minimised

#: Multiplies the damping after a step that did not lower the loss.
_RAISED = 4.0
#: Damping below which the matrix could be singular, and beyond which no step lowers the
#: loss.
_LEAST, _MOST = 1e-12, 1e10


def descend(
    point: P,
    linearise: Callable[[P], Callable[[float], P | None]],
    limit: int,
    **rules: Any,
) -> Iterator[tuple[P, int, Status]]:
    """Lower a loss step by step as :func:`dampings` say; stop taking to stop early.

    ``linearise`` takes a point and returns a function from a damping to the point after
    that step, or to None where the arithmetic does not allow it. Yields the point at
    the start, then after each iteration, with the iterations so far, and
    ``"iterations"`` but for a last that converged.
    """
    run = dampings(point.loss, limit, **rules)
    damping, iterations, status = next(run)
    while damping:
        yield point, iterations, status
        attempt, moved = linearise(point), False
        while damping and not moved:
            trial = attempt(damping)
            loss = math.inf if trial is None else trial.loss
            if moved := trial is not None and loss < point.loss:
                point = trial
            damping, iterations, status = run.send(loss)
    yield point, iterations, status


def dampings(
    loss: float,
    max_iterations: int,
    damping: float = 1e-2,
    lowered: float = 4.0,
    stall: float = 1e-8,
    floor: float = 1e-30,
    rounding: float = 0.0,
    patience: int = 3,
) -> Generator[tuple[float, int, Status], float]:
    """Yield dampings to try, 0 at the end; take the losses they lead to, down to
    ``floor``.

    The damping is divided by ``lowered`` after a step that lowered the loss;
    ``patience`` in a row that lower it by less than the share ``stall`` end it, or one
    that raises it by ``rounding``.
    """
    stalled = iterations = 0
    while iterations < max_iterations and stalled < patience and loss > floor:
        lower = yield damping, iterations, "iterations"
        if lower < loss:
            stalled = stalled + 1 if loss - lower < stall * loss else 0
            loss, damping = lower, max(damping / lowered, _LEAST)
        else:
            damping = _MOST if lower < (1 + rounding) * loss else damping * _RAISED
            if damping < _MOST:
                continue
            stalled = patience
        iterations += 1
    ended = stalled >= patience or loss <= floor or not max_iterations
    yield 0.0, iterations, "converged" if ended else "iterations"
