"""Target functions: a sympy expression each, from which values, derivatives and norms
follow.
"""

import ast
import math
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import sympy as sp
from scipy.integrate import quad

#: Variables of a target, in the order of its arguments.
VARIABLES = sp.symbols("x y z", real=True)
#: Functions of one argument that text may call.
FUNCTIONS = {
    name: getattr(sp, name)
    for name in (
        "sin",
        "cos",
        "tan",
        "asin",
        "acos",
        "atan",
        "sinh",
        "cosh",
        "tanh",
        "exp",
        "log",
    )
} | {"sqrt": sp.sqrt, "erf": sp.erf, "abs": sp.Abs}

_NAMES = {str(variable): variable for variable in VARIABLES} | {"pi": sp.pi, "e": sp.E}
_OPERATIONS: dict[type[ast.AST], Callable[..., sp.Expr]] = {
    **{ast.UAdd: operator.pos, ast.USub: operator.neg, ast.Pow: operator.pow},
    **{ast.Add: operator.add, ast.Sub: operator.sub},
    **{ast.Mult: operator.mul, ast.Div: operator.truediv},
}

Interval = tuple[float, float]
ArrayFunction = Callable[..., np.ndarray]


def parse(text: str) -> sp.Expr:
    """Read an expression such as ``"1/(1 + 9*x**2)"`` from its syntax tree; decimals
    are exact.

    Nothing in it runs; a ValueError for all but arithmetic of numbers, x, y, z, pi, e,
    FUNCTIONS.
    """

    def build(node: ast.AST) -> sp.Expr:
        match node:
            case ast.Constant(value=value) if type(value) in (int, float):
                return sp.Rational(ast.get_source_segment(text, node))
            case ast.Name(id=name) if name in _NAMES:
                return _NAMES[name]
            case ast.Call(func=ast.Name(id=name), args=[part], keywords=[]) if (
                name in FUNCTIONS
            ):
                return FUNCTIONS[name](build(part))
            case ast.UnaryOp(op=op, operand=operand) if type(op) in _OPERATIONS:
                return _OPERATIONS[type(op)](build(operand))
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATIONS:
                return _OPERATIONS[type(op)](build(left), build(right))
        known = ", ".join([*_NAMES, *FUNCTIONS])
        found = ast.get_source_segment(text, node)
        raise ValueError(
            f"{found!r} in {text!r}: expected arithmetic (+ - * / **) of {known}"
        )

    text = text.strip()
    try:
        return build(ast.parse(text, mode="eval").body)
    except SyntaxError as error:
        raise ValueError(f"cannot read the expression {text!r}: {error.msg}") from None


@dataclass(frozen=True)
class Target:
    """A sympy expression of :data:`VARIABLES` on a box of intervals; see
    :func:`target`.
    """

    expression: sp.Expr
    domain: tuple[Interval, ...]
    name: str

    @property
    def dim(self) -> int:
        """Number of variables."""
        return len(self.domain)

    def derivative(self, *orders: int) -> ArrayFunction:
        """Return a partial derivative, of one order per variable, as a function of
        float64 arrays.

        It raises a ValueError where it is not finite or not real, and at once for one
        of ``abs``.
        """
        return _compile(self, orders or (0,) * self.dim)

    def __call__(self, *points: np.ndarray) -> np.ndarray:
        """Evaluate at points: one array per variable; the result has their broadcast
        shape.
        """
        return self.derivative()(*points)

    def l2_norm(self, order: int = 0) -> float:
        """Compute the L2 norm over the domain of the derivative of that order (one
        variable).
        """
        f, (a, b) = self.derivative(order), interval_of(self)
        square, _ = quad(
            lambda x: float(f(x)) ** 2, a, b, limit=500, epsabs=0.0, epsrel=1e-11
        )
        return math.sqrt(square)


def target(
    expression: str | sp.Expr,
    domain: Interval | Sequence[Interval] = (-1.0, 1.0),
    name: str | None = None,
) -> Target:
    """Make a target of text as :func:`parse` reads it, or of sympy, in x, y, z; named
    by its text.

    The domain is one interval ``(a, b)`` for every variable, or one per variable.
    """
    made = (
        parse(expression)
        if isinstance(expression, str)
        else sp.sympify(expression, strict=True)
    )
    if unknown := {str(symbol) for symbol in made.free_symbols} - {"x", "y", "z"}:
        raise ValueError(
            f"expected an expression in x, y, z, got {min(unknown)} in {made}"
        )
    made = made.xreplace({symbol: _NAMES[str(symbol)] for symbol in made.free_symbols})
    count = max(
        (VARIABLES.index(symbol) + 1 for symbol in made.free_symbols), default=1
    )
    box = np.broadcast_to(np.asarray(domain, dtype=np.float64), (count, 2)).tolist()
    for a, b in box:
        if not (a < b and math.isfinite(b - a)):
            raise ValueError(f"expected an interval with finite a < b, got ({a}, {b})")
    return Target(made, tuple((a, b) for a, b in box), name or str(made))


def interval_of(target: Target) -> Interval:
    """Return the domain of a target of one variable."""
    (interval,) = target.domain
    return interval


@cache
def _compile(made: Target, orders: tuple[int, ...]) -> ArrayFunction:
    expression = made.expression
    for variable, order in zip(VARIABLES, orders, strict=False):
        if order and any(
            variable in part.free_symbols for part in expression.atoms(sp.Abs)
        ):
            raise ValueError(
                f"{made.name} has no derivative of order {order}: abs may have a kink"
            )
        expression = sp.diff(expression, variable, order)
    if expression.has(sp.zoo):  # 1/0, which lambdify does not know
        expression = sp.nan
    # Python's own large integers are no numbers to numpy.
    large = {
        n: sp.Float(n, 20) for n in expression.atoms(sp.Integer) if abs(n) >= 2**64
    }
    expression = expression.xreplace(large)
    raw = sp.lambdify(
        VARIABLES[: made.dim], expression, modules=["scipy", "numpy"], cse=True
    )

    def evaluate(*points: np.ndarray) -> np.ndarray:
        arrays = [np.asarray(p, dtype=np.float64) for p in points]
        with np.errstate(all="ignore"):
            value = np.array(raw(*arrays))
        if (shape := np.broadcast_shapes(*(p.shape for p in arrays))) != value.shape:
            value = np.array(
                np.broadcast_to(value, shape)
            )  # a constant comes as a scalar
        kind, good = "finite", np.isfinite(value)
        if np.iscomplexobj(value):
            kind, good = "real", good & (value.imag == 0)
        if not good.all():
            first = tuple(np.argwhere(~good)[0])
            places = (np.broadcast_to(p, shape)[first] for p in arrays)
            at = ", ".join(
                f"{s}={p:g}" for s, p in zip(VARIABLES, places, strict=False)
            )
            what = f"derivative of order {orders}" if any(orders) else "value"
            raise ValueError(
                f"the {what} of {made.name} is not {kind} at {at}: {value[first]}"
            )
        return value.real.astype(np.float64, copy=False)

    return evaluate


#: The gated-units paper's target in one dimension (section 4.1), on [-1, 1].
PAPER_TARGET = target("1/(1 + cos(pi*x)**2)", (-1.0, 1.0), "1/(1+cos²(πx))")
