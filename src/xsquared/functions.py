"""Target functions: a sympy expression each; values and derivatives follow."""

import ast
import math
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial, reduce
from itertools import pairwise

import numpy as np
import sympy as sp
from scipy.integrate import quad

#: Variables of a target, in the order of its arguments.
VARIABLES = sp.symbols("x y z", real=True)
#: Functions of one argument that text may call.
_FUNCTIONS = {
    "sin": sp.sin,
    "cos": sp.cos,
    "tan": sp.tan,
    "asin": sp.asin,
    "acos": sp.acos,
    "atan": sp.atan,
    "sinh": sp.sinh,
    "cosh": sp.cosh,
    "tanh": sp.tanh,
    "exp": sp.exp,
    "log": sp.log,
    "ln": sp.log,
    "sqrt": sp.sqrt,
    "erf": sp.erf,
    "abs": sp.Abs,
    "sign": sp.sign,
    "floor": sp.floor,
    "relu": lambda argument: sp.Max(0, argument),
}
#: Functions of two arguments or more.
_EXTREMES = {"min": sp.Min, "max": sp.Max}

_NAMES = {str(variable): variable for variable in VARIABLES} | {"pi": sp.pi, "e": sp.E}
_OPERATIONS: dict[type[ast.AST], Callable[..., sp.Expr]] = {
    ast.UAdd: operator.pos,
    ast.USub: operator.neg,
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}
_JUMPING = (sp.sign, sp.floor, sp.ceiling, sp.Heaviside)
_KINKED = (sp.Abs, sp.Max, sp.Min)
#: Points between which jumps are looked for, and their least distance as a share of the
#: interval: a sign of zero is no second jump.
_SEARCHED = 10_000
_SAME_JUMP = 1e-12
#: Halvings of a cell in which a function jumps: to the next float.
_HALVINGS = 60
#: Integers from which Python's own are no numbers to numpy.
_LARGE = 2**64

Interval = tuple[float, float]
_ArrayFunction = Callable[..., np.ndarray]


def parse(text: str) -> sp.Expr:
    """Read an expression such as ``"1/(1 + 9*x**2)"``; decimals are exact.

    It is built from the text's syntax tree, so nothing in it runs.

    Raises:
        ValueError: it is not arithmetic of numbers, x, y, z, pi, e and the functions
            that the message names.
    """

    def build(node: ast.AST) -> sp.Expr:
        match node:
            case ast.Constant(value=value) if type(value) in (int, float):
                return sp.Rational(ast.get_source_segment(text, node))
            case ast.Name(id=name) if name in _NAMES:
                return _NAMES[name]
            case ast.Call(func=ast.Name(id=name), args=[argument], keywords=[]) if (
                name in _FUNCTIONS
            ):
                return _FUNCTIONS[name](build(argument))
            case ast.Call(func=ast.Name(id=name), args=[_, _, *_], keywords=[]) if (
                name in _EXTREMES
            ):
                return _EXTREMES[name](*map(build, node.args))
            case ast.UnaryOp(op=op, operand=operand) if type(op) in _OPERATIONS:
                return _OPERATIONS[type(op)](build(operand))
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATIONS:
                return _OPERATIONS[type(op)](build(left), build(right))
            case ast.BinOp(op=ast.BitXor()):
                raise ValueError(f"{text!r}: a power is written **, not ^")
        known = ", ".join([*_NAMES, *_FUNCTIONS, *_EXTREMES])
        segment = ast.get_source_segment(text, node)
        raise ValueError(
            f"{segment!r} in {text!r}: expected arithmetic (+ - * / **) of {known}"
        )

    text = text.strip()
    try:
        return build(ast.parse(text, mode="eval").body)
    except SyntaxError as error:
        raise ValueError(f"cannot read the expression {text!r}: {error.msg}") from None


@dataclass(frozen=True)
class Target:
    """A sympy expression of VARIABLES on a box of intervals; see :func:`target`."""

    expression: sp.Expr
    domain: tuple[Interval, ...]
    name: str

    @property
    def dim(self) -> int:
        """Number of variables."""
        return len(self.domain)

    def derivative(self, *orders: int) -> _ArrayFunction:
        """Return a partial derivative as a function of float64 arrays.

        ``orders`` are one a variable.

        Raises:
            ValueError: at once by a variable in what has kinks or jumps, such as
                ``abs`` or ``sign``; when called, where it is not finite or not real.
        """
        return _compile(self, orders or (0,) * self.dim)

    def __call__(self, *points: np.ndarray) -> np.ndarray:
        """Evaluate at points, an array a variable, of broadcast shapes."""
        return self.derivative()(*points)

    def jumps(self) -> np.ndarray:
        """Find where ``sign`` and ``floor`` jump: places (m,) in the one interval.

        Quadrature has to know them. Of several within a ten-thousandth one is found;
        those of quotients, as of ``x/abs(x)``, are not looked for.
        """
        return _jumps(self)

    def l2_norm(self, order: int) -> float:
        """Compute a derivative's L2 norm over the domain of one variable."""
        f = self.derivative(order)
        a, b = interval_of(self)

        def square(x: float) -> float:
            return float(f(x)) ** 2

        ends = [a, *self.jumps(), b]
        parts = [
            quad(square, *piece, limit=500, epsabs=0.0, epsrel=1e-11)[0]
            for piece in pairwise(ends)
        ]
        return math.sqrt(sum(parts))


def target(
    expression: str | sp.Expr,
    domain: Interval | Sequence[Interval] = (-1.0, 1.0),
    name: str | None = None,
) -> Target:
    """Make a target of text as :func:`parse` reads it, or of sympy, in x, y, z.

    Args:
        expression: text or sympy; the last letter of x, y, z in it counts variables.
        domain: one interval ``(a, b)`` for every variable, or one per variable.
        name: for messages and tables; None takes the expression as sympy writes it.

    Raises:
        ValueError: another letter, or an interval that is not one.
    """
    if isinstance(expression, str):
        parsed = parse(expression)
    else:
        parsed = sp.sympify(expression, strict=True)
    letters = {symbol: str(symbol) for symbol in parsed.free_symbols}
    unknown = set(letters.values()) - {"x", "y", "z"}
    if unknown:
        raise ValueError(
            f"expected an expression in x, y, z, got {min(unknown)} in {parsed}"
        )
    # A symbol of that name without assumptions is another one to sympy.
    parsed = parsed.xreplace({symbol: _NAMES[letters[symbol]] for symbol in letters})
    count = max(
        (VARIABLES.index(symbol) + 1 for symbol in parsed.free_symbols), default=1
    )
    box = np.broadcast_to(np.asarray(domain, dtype=np.float64), (count, 2)).tolist()
    for a, b in box:
        if not (a < b and math.isfinite(b - a)):
            raise ValueError(f"expected an interval with finite a < b, got ({a}, {b})")
    return Target(parsed, tuple((a, b) for a, b in box), name or str(parsed))


def interval_of(target: Target) -> Interval:
    """Return the domain of a target of one variable."""
    (interval,) = target.domain
    return interval


@cache
def _jumps(target: Target) -> np.ndarray:
    """Bisect where a part that jumps has another value than at the point before."""
    a, b = interval_of(target)
    found = [np.empty(0)]
    for part in target.expression.atoms(*_JUMPING):
        step = Target(part, target.domain, str(part))
        points = np.linspace(a, b, _SEARCHED)
        values = step(points)
        cells = np.flatnonzero(np.diff(values))
        low, high, before = points[cells], points[cells + 1], values[cells]
        for _ in range(_HALVINGS):
            middle = low + (high - low) / 2
            is_before = step(middle) == before
            low, high = np.where(is_before, [middle, high], [low, middle])
        found.append(high)
    places = np.unique(np.concatenate(found))
    return places[np.diff(places, prepend=-np.inf) > _SAME_JUMP * (b - a)]


@cache
def _compile(target: Target, orders: tuple[int, ...]) -> _ArrayFunction:
    """Compile a derivative to numpy, checked to be real and finite."""
    raw = sp.lambdify(
        VARIABLES[: target.dim],
        _differentiate(target, orders),
        modules=["scipy", "numpy"],
        cse=True,
    )
    what = f"derivative of order {orders}" if any(orders) else "value"

    def evaluate(*points: np.ndarray) -> np.ndarray:
        arrays = [np.asarray(p, dtype=np.float64) for p in points]
        shape = np.broadcast_shapes(*(array.shape for array in arrays))
        with np.errstate(all="ignore"):
            value = np.array(raw(*arrays))
        if value.shape != shape:  # a constant comes as a scalar
            value = np.array(np.broadcast_to(value, shape))
        kind = "finite"
        good = np.isfinite(value)
        if np.iscomplexobj(value):
            kind = "real"
            good = good & (value.imag == 0)
        if not good.all():
            first = tuple(np.argwhere(~good)[0])
            at = ", ".join(
                f"{variable}={np.broadcast_to(array, shape)[first]:g}"
                for variable, array in zip(VARIABLES, arrays, strict=False)
            )
            raise ValueError(
                f"the {what} of {target.name} is not {kind} at {at}: {value[first]}"
            )
        return value.real.astype(np.float64, copy=False)

    return evaluate


def _differentiate(target: Target, orders: tuple[int, ...]) -> sp.Expr:
    """Differentiate a target's expression, and make it one that numpy can evaluate."""
    expression = target.expression
    for variable, order in zip(VARIABLES, orders, strict=False):
        if not order:
            continue
        for part in expression.atoms(*_KINKED, *_JUMPING):
            if variable in part.free_symbols:
                does = "jump" if isinstance(part, _JUMPING) else "have a kink"
                raise ValueError(
                    f"{target.name} has no derivative of order {order} in {variable}: "
                    f"{part} may {does}"
                )
        expression = sp.diff(expression, variable, order)
    if expression.has(sp.zoo):  # 1/0, which lambdify does not know
        return sp.nan
    integers = expression.atoms(sp.Integer)
    large = {n: sp.Float(n, 20) for n in integers if abs(n) >= _LARGE}
    expression = expression.xreplace(large)
    expression = expression.replace(sp.Max, partial(_nested, "maximum"))
    return expression.replace(sp.Min, partial(_nested, "minimum"))


def _nested(name: str, *arguments: sp.Expr) -> sp.Expr:
    """Nest a numpy function of two arguments; they broadcast with every sympy."""
    return reduce(sp.Function(name), arguments)


#: The gated-units paper's target in one dimension (section 4.1), on [-1, 1].
PAPER_TARGET = target("1/(1 + cos(pi*x)**2)", (-1.0, 1.0), "1/(1+cos²(πx))")
