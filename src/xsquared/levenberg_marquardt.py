"""The Levenberg-Marquardt loop that every solver of least-squares problems here shares.

Where a damped step lowers the loss the damping falls, where it does not the damping rises and the
step is tried again. Reference: Nocedal and Wright, Numerical Optimization, section 10.3.
"""

from collections.abc import Callable, Iterator
from typing import Any, Literal, TypeVar

P = TypeVar("P", bound=Any)  # a place in the descent: its ``loss``, at least 0, is minimised

#: Multiplies the damping after a step that did not lower the loss.
_RAISED = 4.0
#: Damping below which the matrix could be singular, and beyond which no step lowers the loss.
_LEAST, _MOST = 1e-12, 1e10
#: So many steps in a row that hardly lower the loss end the descent.
_PATIENCE = 3


def descend(
    point: P,
    linearise: Callable[[P], Callable[[float], P | None]],
    max_iterations: int,
    damping: float = 1e-2,
    lowered: float = 4.0,
    stall: float = 1e-8,
    floor: float = 1e-30,
    rounding: float = 0.0,
) -> Iterator[tuple[P, int, Literal["converged", "iterations"]]]:
    """Lower a loss step by step, down to ``floor``; stop taking to stop early.

    ``linearise`` takes a point and returns a function from a damping to the point after that step,
    or to None where the arithmetic does not allow it. Yields the point at the start, then after
    each iteration, with the iterations so far, and ``"iterations"`` but for a last that converged.

    The damping is divided by ``lowered`` after a step that lowered the loss. One that lowers it by
    less than the share ``stall`` hardly does; one that raises it by less than ``rounding`` is last.
    """
    stalled, iterations = 0, 0
    while iterations < max_iterations and stalled < _PATIENCE and point.loss > floor:
        yield point, iterations, "iterations"
        iterations += 1
        attempt, lower = linearise(point), None
        while lower is None and damping < _MOST:
            trial = attempt(damping)
            if trial is not None and trial.loss < point.loss:
                lower = trial
            elif trial is not None and trial.loss < (1 + rounding) * point.loss:
                damping = _MOST
            else:
                damping *= _RAISED
        if lower is None:
            break
        stalled = stalled + 1 if point.loss - lower.loss < stall * point.loss else 0
        point, damping = lower, max(damping / lowered, _LEAST)
    ended = damping >= _MOST or stalled >= _PATIENCE or point.loss <= floor or not max_iterations
    yield point, iterations, "converged" if ended else "iterations"
