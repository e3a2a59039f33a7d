"""Target functions: one sympy expression each, from which values and derivatives follow.

A target's numpy and torch forms and its derivatives of any order are generated from its expression,
so no two of them can disagree. Expressions may be given as text; the parser knows arithmetic,
``pi``, ``e``, the variables and the functions of :data:`FUNCTIONS`, and never evaluates Python.
"""

from __future__ import annotations

import ast
import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import sympy as sp
import torch

from xsquared.checks import (
    check_choice,
    check_finite_array,
    check_integer,
    check_number,
    quoted,
)

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
    ast.Pow: lambda a, b: _power(a, b),
}
# Bounds on an expression. Without them a few characters keep sympy busy for ever: 9**9**9.
_MOST_CHARACTERS = 2000
_MOST_DEPTH = 200
_MOST_EXPONENT = 10**6
_MOST_BITS = 1100  # of a constant power: what float64 holds, and a little
_MOST_ORDER = 12
_MOST_OPERATIONS = 200_000  # of a derivative, extrapolated from the first
_SOUND = "expected real constants that float64 holds and exponents of at most a million"
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
        ValueError: a syntax error, an unknown name, anything beyond that grammar, a constant part
            that is not real or not finite in float64, or text too long or nested too deep.
    """
    if not isinstance(text, str):
        raise TypeError(f"expected an expression as text, got {type(text).__name__}")
    if len(text) > _MOST_CHARACTERS:
        raise ValueError(
            f"expected an expression of at most {_MOST_CHARACTERS} characters, got {len(text)}: "
            f"{quoted(text)}"
        )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the tokeniser, about code that is no expression
            tree = ast.parse(text.strip(), mode="eval")
        return _translate(tree.body, text)
    except SyntaxError as error:
        reason: object = error.msg
    except UnicodeEncodeError as error:
        reason = error.reason
    except (RecursionError, MemoryError):
        reason = f"it is nested more than {_MOST_DEPTH} deep"
    except (ArithmeticError, AttributeError, LookupError, TypeError):  # of sympy: atan(tan(1e300))
        reason = "its constants cannot be evaluated"
    raise ValueError(f"cannot read the expression {quoted(text)}: {reason}")


def _translate(node: ast.expr, text: str, depth: int = 0) -> sp.Expr:
    """One node of the syntax tree as sympy; anything outside the grammar is refused."""
    if depth > _MOST_DEPTH:
        raise RecursionError
    match node:
        case ast.Constant(value=int() as value) if not isinstance(value, bool):
            return _required(sp.Integer(value), node, text)
        case ast.Constant(value=float() as value) if math.isfinite(value):
            return sp.Rational(str(value))  # decimal text: 0.1 means one tenth
        case ast.Name(id=name) if name in VARIABLE_NAMES:
            return sp.Symbol(name, real=True)
        case ast.Name(id=name) if name in _CONSTANTS:
            return _CONSTANTS[name]
        case ast.Name(id=name):
            known = ", ".join([*VARIABLE_NAMES, *_CONSTANTS])
            raise ValueError(f"unknown symbol {quoted(name)} in {quoted(text)}; known are {known}")
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            parts = (_translate(part, text, depth + 1) for part in (left, right))
            return _required(_OPERATORS[type(op)](*parts), node, text)
        case ast.UnaryOp(op=ast.USub() | ast.UAdd() as op, operand=operand):
            value = _translate(operand, text, depth + 1)
            return -value if isinstance(op, ast.USub) else value
        case ast.Call(func=ast.Name(id=name), args=[argument], keywords=[]):
            function = FUNCTIONS[check_choice("function", name, FUNCTIONS)]
            return _required(function(_translate(argument, text, depth + 1)), node, text)
    raise ValueError(
        f"{quoted(ast.unparse(node))} in {quoted(text)} is not allowed: expected arithmetic "
        "(+ - * / **), finite numbers, variables and functions of one argument"
    )


def _required(part: sp.Expr, node: ast.expr, text: str) -> sp.Expr:
    if _sound(part):
        return part
    raise ValueError(f"{_SOUND}, got {quoted(ast.unparse(node))} in {quoted(text)}")


def _power(base: sp.Expr, exponent: sp.Expr) -> sp.Expr:
    """A power; sympy's infinity where it would multiply out numbers far beyond float64."""
    if not exponent.free_symbols:
        factor, times = base.as_independent(*base.free_symbols, as_Add=False)[0], exponent
    elif not base.free_symbols:
        factor, times = base, exponent.as_coeff_Add()[0]
    else:
        return base**exponent
    if abs(float(times)) > _MOST_EXPONENT:
        return sp.zoo
    rational = factor.as_coeff_Mul()[0]
    # As integers: numerator and denominator may each leave float64.
    bits = max(abs(math.log2(abs(n))) for n in (float(factor), rational.p, rational.q) if n)
    if bits * abs(float(times)) > _MOST_BITS:
        return sp.zoo
    if exponent.is_Rational and exponent.q > 20 * _MOST_BITS / max(bits, 1.0):
        exponent = sp.Float(exponent, 17)  # for roots sympy takes whole powers of the base first
    return base**exponent


def _sound(part: sp.Expr) -> bool:
    """Whether a part of an expression can be a real function of float64 numbers."""
    if part.has(sp.I, sp.nan, sp.zoo, sp.oo, -sp.oo):
        return False
    try:
        if not part.free_symbols:
            value = complex(part)
            return math.isfinite(value.real) and value.imag == 0
        moderate = not part.is_Pow or bool(part.exp.free_symbols)
        return moderate or abs(float(part.exp)) <= _MOST_EXPONENT
    except (OverflowError, TypeError):  # beyond float64, or no number at all
        return False


def _text(expression: sp.Expr) -> str:
    """An expression in at most 80 characters."""
    if any(max(abs(n.p), n.q).bit_length() > 10_000 for n in expression.atoms(sp.Rational)):
        return "a number of thousands of digits"  # Python refuses to print it
    text = str(expression)
    return text if len(text) <= 80 else f"{text[:77]}..."


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
            orders: order of differentiation per variable, at most 12; the function itself where
                none is given.

        Raises:
            ValueError: a wrong number of orders, one out of bounds, or a derivative that does not
                exist on the whole domain (that of ``abs`` across its kink, for instance).
        """
        return _derivative(self, self._orders(orders))

    def numpy(self, *orders: int) -> ArrayFunction:
        """The partial derivative as a function of float64 arrays, one per variable.

        Args:
            orders: as in :meth:`derivative`.

        Returns:
            A function whose result has the broadcast shape of its arguments. It raises ValueError
            for points that are no finite numbers and where its value is not finite or not real.
        """
        return _numpy_form(self, self._orders(orders))

    def torch(self, *orders: int) -> TensorFunction:
        """The partial derivative as a function of float64 tensors, one per variable.

        Args:
            orders: as in :meth:`derivative`.

        Returns:
            As :meth:`numpy`; autograd passes.
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
        interval_of(self)
        (order,) = self._orders((order,))
        return _l2_norm(self, order)

    def _orders(self, orders: tuple[int, ...]) -> tuple[int, ...]:
        orders = orders or (0,) * self.dim
        if len(orders) != self.dim:
            raise ValueError(f"expected {self.dim} orders of differentiation, got {len(orders)}")
        return tuple(check_integer("order of differentiation", k, 0, _MOST_ORDER) for k in orders)


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
    if not isinstance(name, str | None):
        raise TypeError(f"expected a name as text, got {type(name).__name__}")
    used = {symbol.name for symbol in parsed.free_symbols}
    count = max((VARIABLE_NAMES.index(symbol) + 1 for symbol in used), default=1)
    variables = tuple(sp.Symbol(symbol, real=True) for symbol in VARIABLE_NAMES[:count])
    made = Target(
        parsed, variables, check_box(domain, count), _text(parsed) if name is None else name
    )
    made(*_grid(made))
    return made


def _with_real_symbols(expression: sp.Expr) -> sp.Expr:
    """The expression in this module's symbols; foreign names are refused, as in :func:`parse`."""
    for symbol in sorted(expression.free_symbols, key=str):
        check_choice("symbol", symbol.name, VARIABLE_NAMES)
    for part in sp.postorder_traversal(expression):
        if isinstance(part, sp.Expr) and not _sound(part):
            raise ValueError(f"{_SOUND}, got {_text(part)} in {_text(expression)}")
    return expression.subs({s: sp.Symbol(s.name, real=True) for s in expression.free_symbols})


def check_box(
    domain: tuple[float, float] | Sequence[tuple[float, float]], count: int
) -> tuple[tuple[float, float], ...]:
    """One interval per variable, from as many of them or from one for all.

    Raises:
        ValueError: another number of intervals, or one that is empty or not finite.
    """
    try:
        array = np.array(domain, dtype=object)
    except ValueError:  # rows of several lengths
        array = np.zeros(0)
    if array.shape == (2,):
        array = np.tile(array, (count, 1))
    if array.shape != (count, 2):
        raise ValueError(
            f"domain: expected one interval (a, b) or {count} of them, got {quoted(domain)}"
        )
    for a, b in array:
        try:
            width = check_number("b", b) - check_number("a", a)
        except ValueError:
            width = math.nan
        if not 0 < width < math.inf:
            found = f"({quoted(a)}, {quoted(b)})"
            raise ValueError(f"expected an interval with finite a < b, got {found}")
    return tuple((float(a), float(b)) for a, b in array)


def interval_of(target: Target) -> tuple[float, float]:
    """The domain of a target of one variable.

    Raises:
        TypeError: no target.
        ValueError: a target of several variables.
    """
    if not isinstance(target, Target):
        raise TypeError(f"expected a Target of one variable, got {quoted(target)}")
    if target.dim != 1:
        raise ValueError(f"expected a target of one variable, {target.name} has {target.dim}")
    return target.domain[0]


def _grid(made: Target) -> tuple[np.ndarray, ...]:
    """Where a target is probed: a grid of its domain, ends included."""
    axes = [np.linspace(a, b, _PROBES[made.dim]) for a, b in made.domain]
    return tuple(np.meshgrid(*axes, indexing="ij"))


@cache
def _derivative(made: Target, orders: tuple[int, ...]) -> sp.Expr:
    result, signs = _without_kinks(made) if any(orders) else (made.expression, {})
    for variable, order in zip(made.variables, orders, strict=True):
        if order > 1:
            first = sp.diff(result, variable)
            before, after = max(1, sp.count_ops(result)), sp.count_ops(first)
            if before * (after / before) ** order > _MOST_OPERATIONS:
                raise ValueError(f"the derivative of order {orders} of {made.name} is too long")
        result = sp.diff(result, variable, order)
    moved = {variable for variable, k in zip(made.variables, orders, strict=True) if k}
    kinked = any(moved & sign.free_symbols for sign in signs.values())
    if kinked or result.has(sp.Derivative, sp.Subs, sp.DiracDelta):
        raise ValueError(f"{made.name} has no derivative of order {orders} on its whole domain")
    return _with_signs(result, signs)


def _without_kinks(made: Target) -> tuple[sp.Expr, dict[sp.Symbol, sp.Expr]]:
    """The expression with every ``abs`` as its argument times a sign, and what each sign is.

    Off the kinks a sign is constant: a symbol for which nothing need be differentiated. Where the
    argument keeps its sign on the whole domain it is 1 or -1.
    """
    signs: dict[sp.Symbol, sp.Expr] = {}

    def unfolded(inner: sp.Expr) -> sp.Expr:
        form = _lambdify(made.variables, _with_signs(inner, signs), "numpy")
        with np.errstate(all="ignore"):
            values = form(*_grid(made))
        if not np.min(values) < 0 < np.max(values):
            return inner if np.max(values) > 0 else -inner
        sign = sp.Dummy("sign", real=True)
        signs[sign] = sp.sign(inner)
        return sign * inner

    return made.expression.replace(sp.Abs, unfolded), signs


def _with_signs(expression: sp.Expr, signs: dict[sp.Symbol, sp.Expr]) -> sp.Expr:
    """The expression with its signs in their places, those of outer kinks first."""
    for symbol, sign in reversed(signs.items()):
        expression = expression.xreplace({symbol: sign})
    return expression


def _lambdify(
    variables: tuple[sp.Symbol, ...], expression: sp.Expr, module: str
) -> Callable[..., Any]:
    # torch.pow takes no two plain numbers: constants such as pi**2 are folded beforehand. numpy's
    # functions take no integer beyond 64 bits.
    if module == "torch" or any(abs(n) >= 2**63 for n in expression.atoms(sp.Integer)):
        expression = sp.N(expression, 17)
    modules = "torch" if module == "torch" else ["scipy", "numpy"]
    try:
        form: Callable[..., Any] = sp.lambdify(variables, expression, modules=modules, cse=True)
    except (NotImplementedError, KeyError) as error:  # no printer, or infinite when folded
        raise ValueError(
            f"cannot evaluate {_text(expression)} on arrays: {quoted(str(error))}"
        ) from None
    return form


@cache
def _numpy_form(made: Target, orders: tuple[int, ...]) -> ArrayFunction:
    raw = _lambdify(made.variables, _derivative(made, orders), "numpy")

    def evaluate(*points: np.ndarray) -> np.ndarray:
        if len(points) != made.dim:
            raise TypeError(f"{made.name} takes {made.dim} arrays, got {len(points)}")
        arrays = [check_finite_array("points", p) for p in points]
        if made.dim > 1:
            arrays = [*np.broadcast_arrays(*arrays)]
        with np.errstate(all="ignore"):
            # A constant expression comes back as a scalar: give it the points' shape.
            value = np.broadcast_to(_applied(raw, made, arrays), arrays[0].shape)
        good = np.isfinite(value)
        if np.iscomplexobj(value):
            good &= np.isreal(value)
        if not good.all():
            raise _not_finite(made, orders, arrays, value, good)
        return np.array(value.real, dtype=np.float64)

    return evaluate


@cache
def _torch_form(made: Target, orders: tuple[int, ...]) -> TensorFunction:
    raw = _lambdify(made.variables, _derivative(made, orders), "torch")

    def evaluate(*points: torch.Tensor) -> torch.Tensor:
        if len(points) != made.dim:
            raise TypeError(f"{made.name} takes {made.dim} tensors, got {len(points)}")
        for p in points:
            check_finite_array("points", p)
        tensors = torch.broadcast_tensors(
            *(torch.as_tensor(p, dtype=torch.float64) for p in points)
        )
        value = torch.as_tensor(_applied(raw, made, tensors)).expand(tensors[0].shape)
        good = torch.isfinite(value) & torch.isreal(value)
        if not good.all():
            arrays = [tensor.detach().numpy() for tensor in tensors]
            raise _not_finite(made, orders, arrays, value.detach().numpy(), good.numpy())
        return value.to(torch.float64)

    return evaluate


def _applied(raw: Callable[..., Any], made: Target, points: Sequence[Any]) -> Any:
    """What sympy's function gives; foreign sympy functions have no form for arrays."""
    try:
        return raw(*points)
    except (ArithmeticError, AttributeError, NameError, RuntimeError, TypeError) as error:
        raise ValueError(f"cannot evaluate {made.name} on arrays: {quoted(str(error))}") from error


def _not_finite(
    made: Target,
    orders: tuple[int, ...],
    points: Sequence[np.ndarray],
    values: np.ndarray,
    good: np.ndarray,
) -> ValueError:
    """The error for the first point without a finite real value."""
    first = tuple(int(i) for i in np.argwhere(~good)[0])
    where = ", ".join(f"{s}={p[first]:g}" for s, p in zip(made.variables, points, strict=True))
    order = orders[0] if made.dim == 1 else orders
    what = f"derivative of order {order}" if any(orders) else "value"
    kind = "finite" if np.isreal(values[first]) else "real"
    return ValueError(f"the {what} of {made.name} is not {kind} at {where}: {values[first]}")


@cache
def _l2_norm(made: Target, order: int) -> float:
    # Imported here: half a second that nothing but norms needs.
    from scipy.integrate import quad

    derivative = made.numpy(order)
    derivative(*_grid(made))  # refused before any integral
    ((a, b),) = made.domain

    def square(x: float) -> float:
        value = float(derivative(x))
        return value * value

    # Sixteen pieces, so that the adaptive rule cannot overlook a narrow feature.
    pieces = [
        quad(square, left, right, epsabs=0.0, epsrel=1e-10, limit=200)
        for left, right in pairwise(np.linspace(a, b, 17))
        # A relative tolerance cannot be met on a piece where the integrand vanishes.
        if derivative(np.linspace(left, right, 33)).any()
    ]
    return math.sqrt(math.fsum(value for value, _ in pieces))


#: The gated-units paper's target in one dimension (section 4.1), on [-1, 1].
PAPER_TARGET = target("1/(1 + cos(pi*x)**2)", (-1.0, 1.0), "1/(1+cos²(πx))")
