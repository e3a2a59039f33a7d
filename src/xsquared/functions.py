"""Target functions: one sympy expression each, from which values and derivatives follow.

A target's numpy and torch forms and its derivatives of any order are generated from its expression,
so no two of them can disagree. Expressions may be given as text; the parser knows arithmetic,
``pi``, ``e``, the variables and the functions of :data:`FUNCTIONS`, and never evaluates Python.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import sympy as sp
import torch

#: Functions that an expression given as text may use.
FUNCTIONS = {
    name: getattr(sp, name)
    for name in ("sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "exp", "log")
} | {"sqrt": sp.sqrt, "erf": sp.erf, "abs": sp.Abs}

#: Names an expression may use for its variables, in the order of the target's arguments.
VARIABLE_NAMES = ("x", "y", "z")

_CONSTANTS = {"pi": sp.pi, "e": sp.E}
_OPERATORS: dict[type[ast.operator], Callable[[sp.Expr, sp.Expr], sp.Expr]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.Div: lambda a, b: a / b,
    ast.Pow: lambda a, b: a**b,
}
# Where a target is probed for non-finite values: enough to meet a pole at a simple fraction of the
# domain; no finite grid can promise more.
_PROBES = {1: 2401, 2: 97, 3: 25}

ArrayFunction = Callable[..., np.ndarray]
TensorFunction = Callable[..., torch.Tensor]


def parse(text: str) -> sp.Expr:
    """Read an expression such as ``"1/(1 + 9*x**2)"``.

    Args:
        text: Python syntax restricted to numbers, ``+ - * / **``, ``pi``, ``e``, the names of
            :data:`VARIABLE_NAMES` and calls of :data:`FUNCTIONS`.

    Raises:
        TypeError: ``text`` is no string.
        ValueError: a syntax error, an unknown name, or anything beyond that grammar.
    """
    if not isinstance(text, str):
        raise TypeError(f"expected an expression as text, got {type(text).__name__}")
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except SyntaxError as error:
        raise ValueError(f"cannot read the expression {text!r}: {error.msg}") from error
    return _translate(tree.body, text)


def _translate(node: ast.expr, text: str) -> sp.Expr:
    """One node of the syntax tree as sympy; anything outside the grammar is refused."""
    match node:
        case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
            # Decimal text, not the binary float: 0.1 means one tenth.
            return sp.Integer(value) if isinstance(value, int) else sp.Rational(str(value))
        case ast.Name(id=name) if name in VARIABLE_NAMES:
            return sp.Symbol(name, real=True)
        case ast.Name(id=name) if name in _CONSTANTS:
            return _CONSTANTS[name]
        case ast.Name(id=name):
            known = ", ".join([*VARIABLE_NAMES, *_CONSTANTS])
            raise ValueError(f"unknown symbol {name!r} in {text!r}; known are {known}")
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            return _OPERATORS[type(op)](_translate(left, text), _translate(right, text))
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_translate(operand, text)
        case ast.UnaryOp(op=ast.UAdd(), operand=operand):
            return _translate(operand, text)
        case ast.Call(func=ast.Name(id=name), args=[argument], keywords=[]):
            if name not in FUNCTIONS:
                known = ", ".join(FUNCTIONS)
                raise ValueError(f"unknown function {name!r} in {text!r}; known are {known}")
            return FUNCTIONS[name](_translate(argument, text))
    raise ValueError(
        f"{ast.unparse(node)!r} in {text!r} is not allowed: expected arithmetic (+ - * / **), "
        "numbers, variables and functions of one argument"
    )


@dataclass(frozen=True)
class Target:
    """A function on a box, given by a sympy expression. Make one with :func:`target`.

    Attributes:
        expression: the function.
        variables: its variables, in the order of the arguments.
        domain: one interval ``(a, b)`` per variable.
        name: how figures and tables call it.
    """

    expression: sp.Expr
    variables: tuple[sp.Symbol, ...]
    domain: tuple[tuple[float, float], ...]
    name: str

    @property
    def dim(self) -> int:
        """Number of variables."""
        return len(self.variables)

    def derivative(self, *orders: int) -> sp.Expr:
        """The partial derivative as an expression.

        Args:
            orders: order of differentiation per variable; the function itself where none is given.

        Raises:
            ValueError: a wrong number of orders, a negative one, or a derivative that does not
                exist on the whole domain (that of ``abs`` across its kink, for instance).
        """
        return _derivative(self, self._orders(orders))

    def numpy(self, *orders: int) -> ArrayFunction:
        """The partial derivative as a function of float64 arrays, one per variable.

        Args:
            orders: as in :meth:`derivative`.

        Returns:
            A function whose result has the broadcast shape of its arguments.
        """
        return _numpy_form(self, self._orders(orders))

    def torch(self, *orders: int) -> TensorFunction:
        """The partial derivative as a function of float64 tensors, one per variable.

        Args:
            orders: as in :meth:`derivative`.

        Returns:
            A function whose result has the broadcast shape of its arguments; autograd passes.
        """
        return _torch_form(self, self._orders(orders))

    def __call__(self, *points: np.ndarray) -> np.ndarray:
        """Values at points: one array per variable; the result has their broadcast shape."""
        return self.numpy()(*points)

    def l2_norm(self, order: int = 0) -> float:
        """The L2 norm over the domain of the derivative of that order (one variable only).

        Raises:
            ValueError: more than one variable, or a derivative that does not exist.
        """
        if self.dim != 1:
            raise ValueError(f"l2_norm needs a target of one variable, {self.name} has {self.dim}")
        return _l2_norm(self, order)

    def _orders(self, orders: tuple[int, ...]) -> tuple[int, ...]:
        orders = orders or (0,) * self.dim
        if len(orders) != self.dim:
            raise ValueError(f"expected {self.dim} orders of differentiation, got {len(orders)}")
        if any(not isinstance(k, int | np.integer) or k < 0 for k in orders):
            raise ValueError(f"orders of differentiation must be integers >= 0, got {orders}")
        return tuple(int(k) for k in orders)


def target(
    expression: str | sp.Expr,
    domain: tuple[float, float] | Sequence[tuple[float, float]] = (-1.0, 1.0),
    name: str | None = None,
) -> Target:
    """A target function from text or from sympy.

    Args:
        expression: text for :func:`parse`, or an expression in the symbols x, y, z.
        domain: the interval ``(a, b)``, used for every variable, or one interval per variable.
        name: how to call it; the expression's own text where None.

    Returns:
        The target. Its variables are those of the expression in the order x, y, z; a constant is a
        function of x.

    Raises:
        TypeError: the expression is neither text nor sympy.
        ValueError: an unknown symbol, an interval that is empty or not finite, a number of
            intervals other than the number of variables, or a value that is not finite.
    """
    if isinstance(expression, str):
        parsed = parse(expression)
    elif isinstance(expression, sp.Expr):
        parsed = _with_real_symbols(expression)
    else:
        raise TypeError(f"expected text or a sympy expression, got {type(expression).__name__}")
    used = {symbol.name for symbol in parsed.free_symbols}
    count = max((VARIABLE_NAMES.index(symbol) + 1 for symbol in used), default=1)
    variables = tuple(sp.Symbol(symbol, real=True) for symbol in VARIABLE_NAMES[:count])
    box = _box(domain, count)
    made = Target(parsed, variables, box, str(parsed) if name is None else name)
    _require_finite(made, (0,) * count, "value")
    return made


def _with_real_symbols(expression: sp.Expr) -> sp.Expr:
    """The expression in this module's symbols; foreign names are refused."""
    unknown = sorted(s.name for s in expression.free_symbols if s.name not in VARIABLE_NAMES)
    if unknown:
        known = ", ".join(VARIABLE_NAMES)
        raise ValueError(f"unknown symbol {unknown[0]!r} in {expression}; known are {known}")
    return expression.subs({s: sp.Symbol(s.name, real=True) for s in expression.free_symbols})


def _box(
    domain: tuple[float, float] | Sequence[tuple[float, float]], count: int
) -> tuple[tuple[float, float], ...]:
    """One checked interval per variable."""
    array = np.asarray(domain, dtype=np.float64)
    if array.shape == (2,):
        array = np.tile(array, (count, 1))
    if array.shape != (count, 2):
        raise ValueError(
            f"expected one interval (a, b) or {count} of them, got shape {array.shape}"
        )
    for a, b in array:
        check_interval(float(a), float(b))
    return tuple((float(a), float(b)) for a, b in array)


def check_interval(a: float, b: float) -> None:
    """Refuse an interval that is empty or not finite.

    Raises:
        ValueError: naming the interval.
    """
    if not (math.isfinite(a) and math.isfinite(b) and a < b):
        raise ValueError(f"expected an interval with finite a < b, got ({a}, {b})")


def _require_finite(made: Target, orders: tuple[int, ...], what: str) -> None:
    """Probe a grid of the domain, ends included."""
    axes = [np.linspace(a, b, _PROBES[made.dim]) for a, b in made.domain]
    points = np.meshgrid(*axes, indexing="ij")
    with np.errstate(all="ignore"):
        values = _numpy_form(made, orders)(*points)
    bad = ~np.isfinite(values)
    if bad.any():
        first = tuple(int(i) for i in np.argwhere(bad)[0])
        where = ", ".join(f"{s}={p[first]:g}" for s, p in zip(made.variables, points, strict=True))
        raise ValueError(f"the {what} of {made.name} is not finite at {where}: {values[first]}")


@cache
def _derivative(made: Target, orders: tuple[int, ...]) -> sp.Expr:
    result = made.expression
    for variable, order in zip(made.variables, orders, strict=True):
        result = sp.diff(result, variable, order)
    if result.has(sp.Derivative, sp.DiracDelta, sp.Subs) or (
        any(orders) and result.has(sp.sign) and _changes_sign(made)
    ):
        raise ValueError(f"{made.name} has no derivative of order {orders} on its whole domain")
    return result


def _changes_sign(made: Target) -> bool:
    """Whether the argument of some ``abs`` takes both signs on the domain."""
    axes = [np.linspace(a, b, _PROBES[made.dim]) for a, b in made.domain]
    points = np.meshgrid(*axes, indexing="ij")
    for kink in made.expression.atoms(sp.Abs):
        values = _lambdify(made.variables, kink.args[0], "numpy")(*points)
        if np.min(values) < 0 < np.max(values):
            return True
    return False


def _lambdify(
    variables: tuple[sp.Symbol, ...], expression: sp.Expr, module: str
) -> Callable[..., Any]:
    if module == "torch":
        # torch.pow takes no two plain numbers: constants such as pi**2 must be folded beforehand.
        expression = sp.N(expression, 17)
        return sp.lambdify(variables, expression, modules="torch", cse=True)
    return sp.lambdify(variables, expression, modules=["scipy", "numpy"], cse=True)


@cache
def _numpy_form(made: Target, orders: tuple[int, ...]) -> ArrayFunction:
    raw = _lambdify(made.variables, _derivative(made, orders), "numpy")

    def evaluate(*points: np.ndarray) -> np.ndarray:
        if len(points) != made.dim:
            raise TypeError(f"{made.name} takes {made.dim} arrays, got {len(points)}")
        arrays = np.broadcast_arrays(*(np.asarray(p, dtype=np.float64) for p in points))
        # A constant expression comes back as a scalar: give it the points' shape.
        return np.array(np.broadcast_to(raw(*arrays), arrays[0].shape), dtype=np.float64)

    return evaluate


@cache
def _torch_form(made: Target, orders: tuple[int, ...]) -> TensorFunction:
    raw = _lambdify(made.variables, _derivative(made, orders), "torch")

    def evaluate(*points: torch.Tensor) -> torch.Tensor:
        if len(points) != made.dim:
            raise TypeError(f"{made.name} takes {made.dim} tensors, got {len(points)}")
        tensors = torch.broadcast_tensors(
            *(torch.as_tensor(p, dtype=torch.float64) for p in points)
        )
        value = torch.as_tensor(raw(*tensors), dtype=torch.float64)
        return value.expand(tensors[0].shape)

    return evaluate


@cache
def _l2_norm(made: Target, order: int) -> float:
    # Imported here: half a second that nothing but norms needs.
    from scipy.integrate import quad

    _require_finite(made, (order,), f"derivative of order {order}")
    derivative = made.numpy(order)
    ((a, b),) = made.domain
    # Sixteen pieces, so that the adaptive rule cannot overlook a narrow feature.
    edges = np.linspace(a, b, 17)
    pieces = [
        quad(lambda x: float(derivative(x)) ** 2, left, right, epsabs=0.0, epsrel=1e-10, limit=200)
        for left, right in pairwise(edges)
        if _not_identically_zero(derivative, left, right)
    ]
    return math.sqrt(math.fsum(value for value, _ in pieces))


def _not_identically_zero(derivative: ArrayFunction, left: float, right: float) -> bool:
    """A relative tolerance cannot be met on a piece where the integrand vanishes."""
    return bool(np.any(derivative(np.linspace(left, right, 33)) != 0.0))


#: The gated-units paper's target in one dimension (section 4.1), on [-1, 1].
PAPER_TARGET = target("1/(1 + cos(pi*x)**2)", (-1.0, 1.0), "1/(1+cos²(πx))")
