"""Levenberg-Marquardt: how variable projection and splines with free knots descend.

The first does by :func:`descend`, the second, many fits in step, by :func:`dampings`,
which decides for both what is tried next and where it ends.

Where a damped step lowers the loss the damping falls, where it does not the damping
rises and the step is tried again. Reference: Nocedal and Wright, Numerical
Optimization, section 10.3.
"""

import math
from collections.abc import Callable, Generator, Iterator
from typing import Any, Literal, TypeVar

Status = Literal["converged", "iterations", "stalled"]
#: A place in the descent: its ``loss``, at least 0, is minimised.
P = TypeVar("P", bound=Any)

#: Multiplies the damping after a step that did not lower the loss.
_RAISED = 4.0
#: Damping below which the matrix could be singular.
_LEAST = 1e-12
#: Damping beyond which no step lowers the loss.
_MOST = 1e10


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
    ``"iterations"`` but for a last that converged or stalled.
    """
    run = dampings(point.loss, limit, **rules)
    damping, iterations, status = next(run)
    while damping:
        yield point, iterations, status
        attempt = linearise(point)
        moved = False
        while damping and not moved:
            trial = attempt(damping)
            loss = math.inf if trial is None else trial.loss
            if trial is not None and loss < point.loss:
                point = trial
                moved = True
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
    """Yield dampings to try, 0 at the end; take the losses they lead to.

    With each come the iterations so far and how the descent stands, as
    :func:`descend` yields them. Where even the least step has no finite loss, as from
    gates sharper than the arithmetic bears, a descent has stalled: nothing says that it
    is at a minimum.

    Args:
        loss: that at the start.
        max_iterations: steps that may lower the loss; with none to take the descent
            has converged.
        damping: the first one.
        lowered: divides the damping after a step that lowered the loss.
        stall: share of the loss; ``patience`` steps in a row that lower it by less
            have converged.
        floor: a loss that is low enough.
        rounding: share of the loss by which a step may raise it before it is tried with
            more damping; one that raises it by less has converged.
        patience: as above.
    """
    idle = iterations = 0
    blocked = False
    while iterations < max_iterations and idle < patience and loss > floor:
        trial = yield damping, iterations, "iterations"
        raised = not trial < (1 + rounding) * loss  # also NaN
        if trial < loss:
            idle = idle + 1 if loss - trial < stall * loss else 0
            loss = trial
            damping = max(damping / lowered, _LEAST)
        elif raised and damping * _RAISED < _MOST:
            damping *= _RAISED
            continue
        else:  # no damping lowers the loss, or rounding alone raises it
            blocked = not math.isfinite(trial)
            idle = patience
        iterations += 1
    if blocked:
        yield 0.0, iterations, "stalled"
        return
    ended = idle >= patience or loss <= floor or not max_iterations
    yield 0.0, iterations, "converged" if ended else "iterations"
