"""Target functions: one sympy expression each, from which values and derivatives follow.

An expression consists of arithmetic, ``pi``, ``e``, the variables and the functions of
:data:`FUNCTIONS`. It is built part by part from the syntax tree of its text; nothing is evaluated.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cache

import numpy as np
import sympy as sp

from xsquared.checks import check_choice, check_integer, check_number, quoted, without_warnings
from xsquared.quadrature import gauss_legendre, graded, on_cells, settled

#: Functions that an expression may use.
FUNCTIONS = {
    name: getattr(sp, name)
    for name in ("sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "exp", "log")
} | {"sqrt": sp.sqrt, "erf": sp.erf, "abs": sp.Abs}

#: Names an expression may use for its variables, in the order of the target's arguments.
VARIABLE_NAMES = ("x", "y", "z")

_NAMES = {name: sp.Symbol(name, real=True) for name in VARIABLE_NAMES} | {"pi": sp.pi, "e": sp.E}
# Bounds on an expression. Without them a few characters keep sympy busy for ever: 9**9**9.
_MOST_CHARACTERS = 2000
_MOST_DEPTH = 50  # sympy recurses, and runs out of stack
_MOST_EXPONENT = 10**6
_MOST_BITS = 1100  # of a constant power: what float64 holds, and a little
_MOST_OPERATIONS = 200_000  # of a derivative, extrapolated from the first
_SOUND = "expected real constants that float64 holds and exponents of at most a million"
_TOO_DEEP = f"expected an expression nested at most {_MOST_DEPTH} deep, got a deeper one"
_GRAMMAR = "arithmetic (+ - * / **), finite numbers, variables and functions of one argument"
_LEAST = 1e-130  # of a target's largest value: squares of its smallest errors are no denormals
# Where a target is probed for non-finite values: enough to meet a pole at a simple fraction of the
# domain; no finite grid can promise more.
_PROBES = {1: 2401, 2: 97, 3: 25}

ArrayFunction = Callable[..., np.ndarray]


class _UnsoundError(ValueError):
    """A part of an expression that is no real function of float64 numbers."""


def parse(text: str) -> sp.Expr:
    """Read an expression such as ``"1/(1 + 9*x**2)"``; decimals are exact.

    Raises:
        ValueError: a syntax error, an unknown name, anything beyond the grammar, a constant part
            that is not real or not finite in float64, or text too long or nested too deep.
    """
    if len(text) > _MOST_CHARACTERS:
        found = f"{len(text)}: {quoted(text)}"
        raise ValueError(f"expected text of at most {_MOST_CHARACTERS} characters, got {found}")
    try:
        with without_warnings():  # of the tokeniser, about code that is no expression
            tree = ast.parse(text.strip(), mode="eval")
        return _shallow(_built(tree.body, text.strip()))
    except SyntaxError as error:
        reason: object = error.msg
    except UnicodeEncodeError as error:
        reason = error.reason
    except (RecursionError, MemoryError):
        raise ValueError(_TOO_DEEP) from None
    except _UnsoundError:
        raise ValueError(f"{_SOUND}, got {quoted(text)}") from None
    except (ArithmeticError, AttributeError, LookupError, TypeError):  # of sympy: atan(tan(1e300))
        reason = "its constants cannot be evaluated"
    raise ValueError(f"cannot read the expression {quoted(text)}: {reason}")


def _shallow(expression: sp.Expr) -> sp.Expr:
    """The expression, if its depth leaves sympy stack enough."""
    depth, level = 0, [expression]
    while level := [part for parent in level for part in parent.args]:
        depth += 1
        if depth > _MOST_DEPTH:
            raise ValueError(_TOO_DEEP)
    return expression


def _built(node: ast.AST, text: str) -> sp.Expr:
    """The expression of a syntax tree of the text, whose every part is of the grammar and sound."""
    match node:
        case ast.Constant(value=int() as value) if not isinstance(value, bool):
            part = sp.Integer(value)
        case ast.Constant(value=float() as value) if math.isfinite(value):
            decimal = Decimal(ast.get_source_segment(text, node) or "")
            if not value and decimal:  # 1e-999999999 would fill memory
                raise _UnsoundError
            part = sp.Rational(str(decimal)) if value else sp.Integer(0)  # exactly
        case ast.Name(id=name) if name in _NAMES:
            part = _NAMES[name]
        case ast.Name(id=name):
            known = ", ".join(_NAMES)
            raise ValueError(f"unknown symbol {quoted(name)} in {quoted(text)}; known are {known}")
        case ast.Call(func=ast.Name(id=name), args=[argument], keywords=[]):
            part = FUNCTIONS[check_choice("function", name, FUNCTIONS)](_built(argument, text))
        case ast.UnaryOp(op=op, operand=operand) if type(op) in _OPERATIONS:
            part = _OPERATIONS[type(op)](_built(operand, text))
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATIONS:
            part = _OPERATIONS[type(op)](_built(left, text), _built(right, text))
        case _:
            raise ValueError(f"{quoted(text)} is not allowed: expected {_GRAMMAR}")
    if not _sound(part):
        raise _UnsoundError
    return part


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
        if part.is_Mul:
            return math.isfinite(float(part.as_coeff_Mul()[0]))
        moderate = not part.is_Pow or bool(part.exp.free_symbols)
        return moderate or abs(float(part.exp)) <= _MOST_EXPONENT
    except (OverflowError, TypeError):  # beyond float64, or no number at all
        return False


_OPERATIONS: dict[type[ast.AST], Callable[..., sp.Expr]] = {
    **{ast.UAdd: operator.pos, ast.USub: operator.neg, ast.Add: operator.add, ast.Pow: _power},
    **{ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv},
}


def _text(expression: sp.Basic) -> str:
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

    def numpy(self, *orders: int) -> ArrayFunction:
        """The partial derivative as a function of float64 arrays, one array per variable.

        The function itself without orders, of which there is one per variable, at most 100. The
        result has the broadcast shape of the arguments; it raises ValueError where it is not finite
        or not real. Where terms of its formula cancel, as for tanh(1e16*x), rounding is left.

        Raises:
            ValueError: a derivative of ``abs``, which may have a kink, one that is too long, or,
                with one variable, one of what jumps.
        """
        checked = tuple(check_integer("order", order, 0, 100) for order in orders)
        return _numpy_form(self, checked or (0,) * self.dim)

    def __call__(self, *points: np.ndarray) -> np.ndarray:
        """Values at points: one array per variable; the result has their broadcast shape."""
        return self.numpy()(*points)

    def l2_norm(self, order: int = 0) -> float:
        """The L2 norm over the domain of the derivative of that order (one variable only).

        A feature that lies between all probes, some 20,000, and across which nothing is gained by
        the function or a lower derivative, is not seen, nor what :meth:`numpy` loses by rounding.

        Raises:
            ValueError: a derivative that does not exist, or a square integral that diverges.
        """
        return _l2_norm(self, order)


def target(
    expression: str,
    domain: tuple[float, float] | Sequence[tuple[float, float]] = (-1.0, 1.0),
    name: str | None = None,
) -> Target:
    """A target function.

    Args:
        expression: text such as ``"1/(1 + 9*x**2)"``, in x, y, z, of arithmetic and
            :data:`FUNCTIONS`.
        domain: the interval ``(a, b)``, used for every variable, or one interval per variable.
        name: how to call it; the expression's own text where None.

    Returns:
        The target. Its variables are x, y, z up to the last one in the expression; a constant is a
        function of x.

    Raises:
        TypeError: an expression or a name that is no text.
        ValueError: an unknown symbol or function, an interval that is empty or not finite, a number
            of intervals other than the number of variables, a value that is not finite, or values
            whose squares are too small for float64.
    """
    for text in (expression, "" if name is None else name):
        if not isinstance(text, str):
            raise TypeError(f"expected an expression and a name as text, got {quoted(text)}")
    parsed = parse(expression)
    used = {symbol.name for symbol in parsed.free_symbols}
    count = max((VARIABLE_NAMES.index(symbol) + 1 for symbol in used), default=1)
    variables = tuple(_NAMES[symbol] for symbol in VARIABLE_NAMES[:count])
    made = Target(
        parsed, variables, check_box(domain, count), _text(parsed) if name is None else name
    )
    if 0 < (largest := float(np.abs(made(*_grid(made))).max())) < _LEAST:
        raise ValueError(f"expected zeros or values from {_LEAST:g} on, got at most {largest:g}")
    return made


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
        wanted = f"expected one interval (a, b) or {count} of them"
        raise ValueError(f"domain: {wanted}, got {quoted(domain)}")
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


def _derivative(made: Target, orders: tuple[int, ...]) -> sp.Expr:
    result = made.expression
    for variable, order in zip(made.variables, orders, strict=True):
        if order and any(variable in part.free_symbols for part in result.atoms(sp.Abs)):
            what = f"{made.name} has no derivative of order {orders}"
            raise ValueError(f"{what} on its whole domain: abs may have a kink")
        if order > 1:
            first = sp.diff(result, variable)
            before, after = max(1, sp.count_ops(result)), sp.count_ops(first)
            if before * (after / before) ** order > _MOST_OPERATIONS:
                raise ValueError(f"the derivative of order {orders} of {made.name} is too long")
        result = sp.diff(result, variable, order)
    return result


def _folded(part: sp.Expr) -> sp.Expr:
    """Constants by their values: plain float64 misses some, as sin(exp(40)) and large integers."""
    if part.is_Integer and abs(part) >= 2**63:
        return sp.Float(part, 17)
    if part.is_Atom:
        return part
    if not part.free_symbols:
        value, more = (part.evalf(digits, maxn=3000) for digits in (30, 45))
        if abs(value - more) > 1e-15 * abs(more):
            raise ValueError(f"expected constants that can be evaluated, got {_text(part)}")
        return value.evalf(17)
    parts = part.args
    if part.is_Add or part.is_Mul:  # the constants among the parts as one
        constant, rest = part.as_independent(*part.free_symbols, as_Add=part.is_Add)
        parts = (constant, *part.func.make_args(rest))
    return part.func(*map(_folded, parts), evaluate=False)


@cache
def _numpy_form(made: Target, orders: tuple[int, ...]) -> ArrayFunction:
    expression = _folded(_derivative(made, orders))
    raw = sp.lambdify(made.variables, expression, modules=["scipy", "numpy"], cse=True)

    def evaluate(*points: np.ndarray) -> np.ndarray:
        arrays = [np.asarray(p, dtype=np.float64) for p in points]
        if made.dim > 1:
            arrays = [*np.broadcast_arrays(*arrays)]
        with np.errstate(all="ignore"):
            value = raw(*arrays)
        if isinstance(value, np.ndarray) and value.dtype == float and np.isfinite(value).all():
            return np.array(value)
        # A constant expression comes back as a scalar: give it the points' shape.
        value = np.broadcast_to(value, arrays[0].shape)
        good = np.isfinite(value)
        if np.iscomplexobj(value):
            good &= np.isreal(value)
        if not good.all():
            first = tuple(int(i) for i in np.argwhere(~good)[0])
            at = ", ".join(f"{s}={p[first]:g}" for s, p in zip(made.variables, arrays, strict=True))
            order = orders[0] if made.dim == 1 else orders
            what = f"derivative of order {order}" if any(orders) else "value"
            kind = "finite" if np.isreal(value[first]) else "real"
            raise ValueError(f"the {what} of {made.name} is not {kind} at {at}: {value[first]}")
        return np.array(value.real, dtype=np.float64)

    if made.dim == 1 and orders[0] > 0:
        ((a, b),) = made.domain
        places = a + (b - a) * (np.arange(_PROBES[1]) + 0.5) / _PROBES[1]
        _refuse_jumps(made, orders[0], evaluate, places)
    return evaluate


def _refuse_jumps(
    made: Target, order: int, derivative: ArrayFunction, edges: np.ndarray
) -> np.ndarray:
    """No formula of a derivative shows a jump below it, as of atan(tan(x)): its integral does.

    Cells where increments are not the derivative's integrals are halved, thirty times: what is
    steep comes to agree, a jump does not. Returns the ends of the cells and of their halves.
    """
    lower, (xi, weights) = made.numpy(order - 1), gauss_legendre(8)
    parts = np.stack([edges[:-1], edges[1:]], axis=1)
    largest = before = 0.0
    for level in range(31):
        left, width = parts[:, :1], np.diff(parts)
        gained = (derivative(left + width * xi) * width) @ weights
        ends = lower(parts)
        largest = max(largest, np.abs(ends).max())
        missing = np.abs(np.diff(ends)[:, 0] - gained)
        worst = np.argsort(-missing)[:1000]
        parts = parts[worst[missing[worst] > 1e-6 * largest]]
        if not len(parts):
            return edges
        if level == 20:
            before = missing[worst[0]]
        middle = parts.mean(axis=1)
        edges = np.union1d(edges, middle)
        parts = np.stack([parts[:, 0], middle, middle, parts[:, 1]], axis=1).reshape(-1, 2)
    if missing[worst[0]] > before / 2:
        what = f"derivative of order {order - 1}" if order > 1 else "value"
        jumps = f"the {what} jumps at {parts[0, 0]:.6g}, as float64 computes it"
        raise ValueError(f"{made.name} has no derivative of order {order} everywhere: {jumps}")
    return edges


@cache
def _l2_norm(made: Target, order: int) -> float:
    derivative, (edges,) = made.numpy(order), _grid(made)
    derivative(edges)  # refused before any integral
    # A narrow feature between all nodes shows by what lower derivatives gain across it.
    for below in range(1, order + 1):
        edges = _refuse_jumps(made, below, made.numpy(below), edges)
    edges = graded(edges)
    scale = np.abs(derivative(on_cells(edges)[0])).max() or 1.0  # squares of 1e-170 are zero
    with np.errstate(over="ignore", invalid="ignore"):
        total, moved = settled(
            lambda x: (derivative(x) / scale) ** 2, edges, lambda total: 1e-10 * total
        )
    if not moved <= 1e-7 * total:
        what = f"the square of the derivative of order {order} of {made.name}"
        raise ValueError(f"{what} cannot be integrated: it diverges or is too steep")
    return float(scale * math.sqrt(total))


#: The gated-units paper's target in one dimension (section 4.1), on [-1, 1].
PAPER_TARGET = target("1/(1 + cos(pi*x)**2)", (-1.0, 1.0), "1/(1+cos²(πx))")
