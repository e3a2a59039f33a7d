"""Bad inputs for every door of the package: a good call each, and what takes one argument's place.

A door is a public function, method or class. Its good call must pass; every other call of the table
differs from it in one argument and must be refused.
"""

from __future__ import annotations

import math
import reprlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import sympy as sp
import torch

from xsquared import (
    checks,
    constructions,
    errors,
    functions,
    geometry,
    quadrature,
    slopes,
    splines,
    truncation,
    units,
)
from xsquared.feature_maps import (
    check_vectors,
    learned,
    optimal,
    polynomials,
    random,
    series,
    tensor,
)

# What is no integer, no number, no array, no known name. A door adds what is out of its bounds.
INTEGERS = (True, 1.5, "2", None, [1], math.nan, 2**63, np.uint64(2**63), 10**5000, 1 + 0j)
NUMBERS = (True, "1", None, 1j, math.nan, math.inf, 10**400, [1.0], np.array([1.0, 2.0]))
ARRAYS = (
    *(None, "ab", object(), {}, [True, False], [1j, 2.0], [math.nan, 1.0], [1.0, -math.inf]),
    *(["1", "2"], [[1.0], [1.0, 2.0]], np.ma.masked_array([1.0, 2.0], mask=[True, False])),
)
NAMES = ("spam", "", None, 1, ["glu"], "x" * 100_000, "glu\n")
CURVES = ("x", None, 3.0, functions.target("x*y"), functions.PAPER_TARGET.expression)
EXPRESSIONS = ("x", None, 1.5, [1], object())
NETWORKS = ("glu", None, torch.nn.Linear(1, 1), units.UNITS["glu"], 3)


@dataclass(frozen=True)
class Door:
    """A callable, the arguments of a call that passes, and bad values by argument.

    Attributes:
        also: exceptions besides ValueError and TypeError that a bad input may raise.
    """

    function: Callable[..., Any]
    good: Mapping[str, Any]
    bad: Mapping[str, tuple[Any, ...]]
    also: tuple[str, ...] = ()

    def good_call(self) -> Any:
        return self.function(**self.good)


@dataclass(frozen=True)
class Case:
    """One bad value of one argument of one door."""

    door: str
    argument: str
    number: int
    value: Any = field(repr=False)

    def call(self) -> Any:
        found = DOORS[self.door]
        return found.function(**{**found.good, self.argument: self.value})

    def __str__(self) -> str:
        try:
            shown = reprlib.repr(self.value)
        except ValueError:  # an integer that Python does not print
            shown = "huge"
        return f"{self.door}({self.argument}={shown}) #{self.number}"


DOORS: dict[str, Door] = {}


def door(
    name: str,
    function: Callable[..., Any],
    good: Mapping[str, Any],
    /,
    also: tuple[str, ...] = (),
    **bad: tuple[Any, ...],
) -> None:
    assert name not in DOORS
    assert bad
    DOORS[name] = Door(function, good, bad, also)


def _spread(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of several arguments as one of their tuple."""
    return lambda orders: function(*orders)


# ---- checks: they must hold against what they exist for.
door(
    "checks.check_choice",
    checks.check_choice,
    {"name": "unit", "value": "mlp", "known": ("mlp", "glu")},
    value=NAMES,
)
door("checks.check_integer", checks.check_integer, {"name": "n", "value": 1}, value=(*INTEGERS, -1))
door("checks.check_number", checks.check_number, {"name": "w", "value": 1}, value=NUMBERS)
door(
    "checks.check_finite_array",
    checks.check_finite_array,
    {"name": "x", "values": [1.0]},
    values=ARRAYS,
)
door(
    "checks.check_size",
    lambda sizes: checks.check_size("x", *sizes),
    {"sizes": (2, 3)},
    sizes=((2**28,), (2**14, 2**14), (10**3000, 2)),
)

# ---- functions
TEXTS = (
    *("log(-1)", "(-8)**(1/3)", "sqrt(-4)*x + x", "sqrt(-4*x**2)", "asin(2)", "acos(-1.5) + x"),
    *("1/0", "x/0", "1/(x-x)", "log(0)", "tan(pi/2)", "0**-1", "log(x-x)", "1/sin(pi)", "0/0"),
    *("9**9**9", "9**9**9**9", "2**2**2**2**2**2", "pi**pi**pi**pi", "9**9**9 - 9**9**9"),
    *("exp(10**20)", "exp(exp(exp(10)))", "sin(10**1000)", "10**400", "1e400", "1e200*1e200*x"),
    *("(9*x)**(10**9)", "(x-x+9)**(9**9)", "2**(x+10**9)/2**x", "(1+1e-300)**(10**6)*x"),
    *("x**(10**300)", "(x**1000000)**1000000", "2**-2000*x", "9" * 400, "9" * 5000, "exp(1e308)"),
    *("-" * 300 + "x", "-" * 5000 + "x", "(" * 300 + "x" + ")" * 300, "x+" * 900 + "x"),
    *(
        "not " * 400 + "x",
        "x." + "a." * 900 + "b",
        "[" * 199 + "]" * 199,
        "x*" * 50_000,
        "w" * 1999,
    ),
    *("", " ", "\0", "\ud800", "x +", "x y", "x^2", "x!", "2x", "1if x else 2", "x # \n y", "x;x"),
    *("w", "x1", "X", "alpha", "i", "I", "oo", "nan", "inf", "_", "__import__('os')", "sp.pi"),
    *("gamma(x)", "sin", "sin()", "sin(x, x)", "sin(x=1)", "sin(*x)", "sin x", "log(x, 2)", "x(2)"),
    *("lambda: 0", "x if x else 1", "x < 1", "x and x", "[x]", "{x}", "(x,)", "x[0]", "x.real"),
    *(
        "True",
        "None",
        "...",
        "'x'",
        "b'x'",
        "f'{x}'",
        "1j",
        "x*1j",
        "x := 1",
        "*x",
        "x // 2",
        "x % 2",
    ),
    *("x @ x", "x | x", "~x", "not x", "yield", "await x", "print(x)", "eval('x')", "exec('x')"),
)
# Read well, and refused for their values on [-1, 1].
VALUES = (
    *("1/x", "log(x)", "sqrt(x)", "x**0.1", "x**(1/3)", "acos(2*x)", "exp(1000*x)", "1/(x**2-1/4)"),
    *(
        "(-8*x**2)**(1/3)",
        "x**x",
        "0**x",
        "7**(x*10**9)",
        "exp(exp(exp(exp(x))))",
        "1/(1+cos(pi*x))",
    ),
    *("tan(x)/(x-y)", "log(x*y*z)", "x**-1", "1/(x-x**2)", "log(abs(x))", "sqrt(x**2 - 1)"),
)
x = sp.Symbol("x")
SYMPY = (
    *(
        sp.I,
        sp.oo,
        sp.nan,
        sp.zoo * x,
        sp.sqrt(-4) * x,
        sp.Integer(10) ** 400,
        sp.Integer(10) ** 9999,
    ),
    *(sp.Symbol("t"), sp.Function("f")(x), sp.Derivative(sp.Function("f")(x), x), sp.Order(x)),
    *(sp.DiracDelta(x), sp.Subs(x, x, 1), sp.Piecewise((x, x > 0)), sp.MatrixSymbol("A", 2, 2)),
    *(sp.Integral(sp.exp(x**2), x), x ** sp.Integer(10) ** 30, sp.gamma(x), 1 / x),
)
DOMAINS = (
    *((1, -1), (0, 0), (0, math.inf), (math.nan, 1), (-1.7e308, 1.7e308), ("a", "b"), (None, 1)),
    *((0, 1j), (False, True), (0, 10**400), (0, 1, 2), (0,), (), 3, None, "ab", {}, ((0, 1), (1,))),
    *(((0, 1), (0, 1)), np.zeros((3, 2)), [[[0, 1]]], object()),
)
ORDERS = (*INTEGERS, -1, 13)
door(
    "functions.parse", functions.parse, {"text": "x"}, text=(*TEXTS, None, 3, b"x", sp.Symbol("x"))
)
door(
    "functions.target",
    functions.target,
    {"expression": "x", "domain": (0, 1), "name": "line"},
    expression=(*TEXTS, *SYMPY, None, 3.0, b"x", ["x"]),
    domain=DOMAINS,
    name=(3, b"x", ["x"]),
)
door("functions.Target", lambda text: functions.target(text), {"text": "x"}, text=VALUES)
door(
    "functions.check_interval",
    functions.check_interval,
    {"a": 0, "b": 1},
    a=(*NUMBERS, 1, 2),
    b=(*NUMBERS, 0, -1),
)
door(
    "functions.interval_of",
    functions.interval_of,
    {"target": functions.PAPER_TARGET},
    target=CURVES,
)
for _name in ("derivative", "has_derivative", "almost_everywhere", "numpy", "torch"):
    door(
        f"functions.Target.{_name}",
        _spread(getattr(functions.PAPER_TARGET, _name)),
        {"orders": (1,)},
        orders=(*((k,) for k in ORDERS), (1, 1)),
    )
door(
    "functions.Target.l2_norm",
    lambda made, order: made.l2_norm(order),
    {"made": functions.PAPER_TARGET, "order": 1},
    made=(functions.target("x*y"), functions.target("sqrt(x)", (0, 1)), functions.target("abs(x)")),
    order=ORDERS,
)
# Points: what is no array of numbers, and one at which exp leaves float64.
door(
    "functions.Target.__call__",
    lambda points: functions.target("exp(x)")(points),
    {"points": [0.5]},
    points=(*ARRAYS, [1.0, 1e6]),
)

# ---- quadrature, slopes, splines, truncation
door(
    "quadrature.gauss_legendre", quadrature.gauss_legendre, {"count": 5}, count=(*INTEGERS, 0, 1001)
)
door(
    "quadrature.on_cells",
    quadrature.on_cells,
    {"edges": [0.0, 1.0], "nodes": 8},
    edges=(*ARRAYS, [], [0.0], [1.0, 0.0], 3.0, [[0.0, 1.0]]),
    nodes=(*INTEGERS, 0, 1001),
)
_SIZES, _ERRORS = [5, 8, 13], [0.3, 0.2, 0.1]
_VECTORS = (
    *ARRAYS,
    [],
    [1.0],
    [1.0, 2.0],
    [[1.0, 2.0, 3.0]],
    [1.0, 2.0, 0.0],
    [1.0, 2.0, -3.0],
    3.0,
)
_REGRESSION = {"sizes": (*_VECTORS, [5, 5, 8]), "errors": _VECTORS}
door(
    "slopes.fit_slope",
    slopes.fit_slope,
    {"sizes": _SIZES, "errors": _ERRORS, "floor": 0.0},
    **_REGRESSION,
    floor=(*NUMBERS, -1.0, 1.0),
)
door(
    "slopes.require_sizes",
    slopes.require_sizes,
    {"name": "widths", "sizes": [5, 8], "first": 5},
    sizes=(*ARRAYS, [], [5], [5, 5], [1, 2, 3], 3.0, range(0)),
    first=INTEGERS,
)
door(
    "slopes.local_slopes", slopes.local_slopes, {"sizes": _SIZES, "errors": _ERRORS}, **_REGRESSION
)
door(
    "slopes.fit_slope_over_seeds",
    slopes.fit_slope_over_seeds,
    {"sizes": _SIZES, "errors": [_ERRORS, [0.4, 0.2, 0.1]], "draws": 10, "seed": 0},
    sizes=_REGRESSION["sizes"],
    errors=(*ARRAYS, [], [_ERRORS], [[0.1], [0.2]], [_ERRORS, [0.1, 0.2, -0.1]], [[_ERRORS]]),
    draws=(*INTEGERS, 0, 2**31 - 1),
    seed=(*INTEGERS, -1),
)
door(
    "slopes.steepest_within",
    slopes.steepest_within,
    {"sizes": _SIZES, "errors": _ERRORS, "factor": 1.5},
    **_REGRESSION,
    factor=(*NUMBERS, 0.9),
)
_SPLINE = {"target": functions.PAPER_TARGET, "order": 2, "n_cells": 3}
_FAMILY = (*NAMES, "Smooth")
_ORDER, _CELLS = (*INTEGERS, 0, -1, 101), (*INTEGERS, 0, -1)
_DEEP = functions.target("sin(" * 20 + "x" + ")" * 20)
door(
    "splines.error_constant",
    splines.error_constant,
    {"order": 2, "family": "smooth"},
    order=_ORDER,
    family=_FAMILY,
)
for _name in ("predicted_uniform", "predicted_free"):
    door(
        f"splines.{_name}",
        getattr(splines, _name),
        {**_SPLINE, "family": "smooth"},
        target=(*CURVES, functions.target("abs(x)")),
        order=(*_ORDER, 13),
        n_cells=_CELLS,
        family=_FAMILY,
    )
door(
    "splines.least_squares_spline_rmse",
    splines.least_squares_spline_rmse,
    _SPLINE,
    also=("FloatingPointError",),
    target=(*CURVES, functions.target("1e300*exp(x)")),
    order=(*_ORDER, 1, 21),
    n_cells=(*_CELLS, 10**6 + 1),
)
door("truncation.target", truncation.target, {"at": truncation.h}, at=EXPRESSIONS)
door(
    "truncation.target_derivative",
    truncation.target_derivative,
    {"order": 2, "at": truncation.h},
    order=(*INTEGERS, -1, 6),
    at=EXPRESSIONS,
)
door(
    "truncation.quadratic_piece",
    truncation.quadratic_piece,
    {"theta": sp.Integer(1)},
    theta=EXPRESSIONS,
)
for _name in ("truncation_error", "leading_term", "leading_constant"):
    door(
        f"truncation.{_name}", getattr(truncation, _name), {"name": "interpolating_mlp"}, name=NAMES
    )
for _name in ("terms_of_degree", "terms_up_to"):
    door(
        f"truncation.{_name}",
        getattr(truncation, _name),
        {"expression": truncation.x, "degree": 1},
        expression=EXPRESSIONS,
        degree=(*INTEGERS, -1, 101),
    )
door(
    "truncation.root_mean_square",
    truncation.root_mean_square,
    {"error": truncation.x},
    error=EXPRESSIONS,
)

# ---- units, geometry, errors, constructions
_glu = units.build("glu", 1, 3, generator=torch.Generator().manual_seed(0))
_plane = units.build("mlp", 2, 3, generator=torch.Generator().manual_seed(0))
_smooth = units.build("geglu", 1, 3)
_vector = units.build("mlp", 1, 3, 2)
_DIMENSION = (*INTEGERS, 0, -1)
_BUILD = {"unit": "glu", "n_in": 1, "n_hidden": 3, "n_out": 1}
door(
    "units.register",
    units.register,
    {"record": units.Unit("fuzzed")},
    record=(
        "mlp",
        None,
        3,
        {},
        units.Unit("mlp"),
        units.Gate("relu", torch.relu),
        units.Unit("new", activation="spam"),
    ),
)
door(
    "units.Unit",
    units.Unit,
    {"name": "new", "factors": (), "activation": "relu", "module": None},
    name=(None, 3, "", ["a"]),
    factors=(
        (("G", "g"),),
        (("U", "U"),),
        (("U",),),
        (("U", "u"), ("U", "v")),
        (("1", "2"),),
        "Uu",
        None,
        3,
        ((1, 2),),
    ),
    activation=(None, 3, ["relu"]),
    module=(torch.nn.Linear, "mlp", 3, _glu),
)
door(
    "units.Gate",
    units.Gate,
    {"name": "new", "value": torch.relu, "degree": 1, "hinged": True},
    name=(None, 3, "", ["a"]),
    value=(
        None,
        "relu",
        3,
        torch.sin,
        lambda z: z[:1],
        lambda z: z.float(),
        lambda z: z * math.nan,
    ),
    degree=(True, 1.5, "1", [1], -1, 2**63, 2),
    hinged=(False, None, 1, "yes"),
)
door("units.find_gate", units.find_gate, {"name": "relu"}, name=NAMES)
door(
    "units.find_unit",
    units.find_unit,
    {"unit": "glu", "activation": "relu"},
    unit=NAMES,
    activation=tuple(n for n in NAMES if n is not None),
)
door(
    "units.build",
    units.build,
    _BUILD,
    unit=NAMES,
    n_in=(*_DIMENSION, 2**30),
    n_hidden=(*_DIMENSION, 2**30),
    n_out=(*_DIMENSION, 2**30),
)
door(
    "units.parameter_count",
    units.parameter_count,
    _BUILD,
    unit=NAMES,
    n_in=_DIMENSION,
    n_hidden=_DIMENSION,
    n_out=_DIMENSION,
)
door(
    "units.Unit.parameter_count",
    units.UNITS["mlp"].parameter_count,
    {"n_in": 1, "n_hidden": 1, "n_out": 1},
    n_in=_DIMENSION,
    n_hidden=_DIMENSION,
    n_out=_DIMENSION,
)
door(
    "units.GatedNetwork.forward",
    lambda x: _glu(x),
    {"x": torch.zeros(2, 1, dtype=torch.float64)},
    x=(
        torch.zeros(2),
        torch.zeros(2, 2),
        torch.zeros(1, 2, 1),
        np.zeros((2, 1)),
        None,
        [[1.0]],
        torch.zeros(2, 1),
    ),
)
door(
    "units.predict",
    units.predict,
    {"network": _glu, "x": [0.5]},
    network=(*NETWORKS, _vector),
    x=(*ARRAYS, [[1.0, 2.0]], [[[1.0]]]),
)
door(
    "units.set_parameters",
    lambda network, letter, value: units.set_parameters(network, **{letter: value}),
    {"network": _glu, "letter": "g", "value": [1.0, 2.0, 3.0]},
    network=NETWORKS,
    letter=("Q", "spam", "gate", "hidden"),
    value=(*ARRAYS, [1.0], 3.0, [[1.0, 2.0, 3.0]]),
)
_SPLINES = (*NETWORKS, _plane, _smooth)
door(
    "geometry.neuron_contributions",
    geometry.neuron_contributions,
    {"network": _glu, "x": [0.5]},
    network=NETWORKS,
    x=(*ARRAYS, [[1.0, 2.0]]),
)
door(
    "geometry.neuron_polynomials",
    geometry.neuron_polynomials,
    {"network": _glu},
    network=(*_SPLINES, _vector),
)
door("geometry.knots", geometry.knots, {"network": _glu}, network=_SPLINES)
_BOXES = (
    ((0, 1),),
    ((0, 1), (1, 0)),
    ((0, 1), (0, math.inf)),
    None,
    3,
    "ab",
    ((0, 1), (0, 1), (0, 1)),
    (("a", "b"), (0, 1)),
)
for _name in ("hinge_segments", "count_cells"):
    door(
        f"geometry.{_name}",
        getattr(geometry, _name),
        {"network": _plane, "box": ((0, 1), (0, 1))},
        network=(*NETWORKS, _glu),
        box=_BOXES,
    )
door(
    "geometry.spline_gates",
    geometry.spline_gates,
    {"n": 3, "domain": (0, 1), "orientation": "one-way"},
    n=(*INTEGERS, 1, 0, 2**30),
    domain=((1, 0), (0, math.nan), None, 3, (0,), (0, 1, 2), "ab", (False, True)),
    orientation=NAMES,
)
_ONE = {"network": _glu, "target": functions.PAPER_TARGET}
door("errors.measured_rmse", errors.measured_rmse, _ONE, network=_SPLINES, target=CURVES)
door(
    "errors.sampled_rmse",
    errors.sampled_rmse,
    {**_ONE, "n_points": 10},
    network=(*NETWORKS, _plane, _vector),
    target=CURVES,
    n_points=(*INTEGERS, 1, 2**30),
)
_XY = {"network": _glu, "x": [[0.5], [0.6]], "y": [1.0, 2.0]}
_Y = (*ARRAYS, [1.0], 3.0, [[1.0, 2.0]], [])
door("errors.rmse", errors.rmse, _XY, network=(*NETWORKS, _vector), x=(*ARRAYS, [[1.0, 2.0]]), y=_Y)
door(
    "errors.confined_rmse",
    errors.confined_rmse,
    {**_XY, "seen": [0.0, 1.0], "margin": 0.1},
    network=(*NETWORKS, _vector),
    x=(*ARRAYS, [[1.0, 2.0]]),
    y=_Y,
    seen=(*ARRAYS, []),
    margin=(*NUMBERS, -0.1),
)
for _name in constructions.CONSTRUCTIONS:
    door(
        f"constructions.{_name}",
        getattr(constructions, _name),
        {"target": functions.PAPER_TARGET, "n_cells": 3},
        target=CURVES,
        n_cells=(*_CELLS, 2**30),
    )
door("constructions.construction", constructions.construction, {"name": "hermite_gqu"}, name=NAMES)
door(
    "constructions.predicted_rmse",
    constructions.predicted_rmse,
    {"name": "hermite_gqu", "target": functions.PAPER_TARGET, "n_cells": 3},
    name=NAMES,
    target=(*CURVES, functions.target("abs(x)")),
    n_cells=_CELLS,
)
door(
    "constructions.network_from_pieces",
    constructions.network_from_pieces,
    {"unit": "mlp", "knots": [0.0, 1.0], "pieces": [[1.0, 2.0]]},
    unit=(*NAMES, "swiglu", "relu2_mlp"),
    knots=(*ARRAYS, [], [0.0], [1.0, 0.0], [0.0, 0.5, 1.0], 3.0),
    pieces=(*ARRAYS, [], [[1.0]], [1.0, 2.0], 3.0),
)

# ---- feature_maps
_D, _DEGREE, _SCALE = (*INTEGERS, 0, -1), (*INTEGERS, 0, -1, 10**6), (*NUMBERS, 0.0, -1.0, 1e200)
_V = (*ARRAYS, [], [1.0], [[1.0]], 3.0, [1e300, 1.0])
_map = tensor.TensorMap("symmetric", 2, np.array([0.0, 1.0, 0.5]))
_drawn = random.draw_random_maclaurin(2, 4, 1.0, 0)
_closed = optimal.ClosedMap("radial", 2)
_nets = learned.initial_networks(learned.Protocol(n_pairs=64), [0])
door(
    "feature_maps.check_vectors",
    check_vectors,
    {"v": [1.0, 2.0], "d": 2, "features": 3, "power": 3},
    v=_V,
)
for _name in ("gelu", "gelu_even", "gelu_tanh"):
    door(f"feature_maps.series.{_name}", getattr(series, _name), {"z": [1.0, 2.0]}, z=ARRAYS)
_TERMS = (*INTEGERS, -1, 10**6)
door(
    "feature_maps.series.series_coefficients",
    series.series_coefficients,
    {"n_terms": 3},
    n_terms=_TERMS,
)
for _name in ("taylor_gelu", "remainder_bound"):
    door(
        f"feature_maps.series.{_name}",
        getattr(series, _name),
        {"z": [1.0], "n_terms": 3},
        z=ARRAYS,
        n_terms=_TERMS,
    )
door(
    "feature_maps.series.largest_error",
    series.largest_error,
    {"n_terms": 3, "radius": 1.0},
    n_terms=_TERMS,
    radius=_SCALE,
)
for _name, _scale in (
    ("chebyshev_fit", "radius"),
    ("best_uniform_fit", "radius"),
    ("hermite_coefficients", "sigma"),
    ("hermite_fit", "sigma"),
):
    door(
        f"feature_maps.polynomials.{_name}",
        getattr(polynomials, _name),
        {"degree": 4, _scale: 1.0},
        degree=_DEGREE,
        **{_scale: _SCALE},
    )
door(
    "feature_maps.polynomials.max_error",
    polynomials.max_error,
    {"coefficients": [0.0, 0.5, 0.4], "radius": 1.0},
    coefficients=(*ARRAYS, [], 3.0, [[1.0]]),
    radius=_SCALE,
)
door(
    "feature_maps.tensor.feature_dimension",
    tensor.feature_dimension,
    {"kind": "symmetric", "d": 2, "powers": (1, 2)},
    kind=NAMES,
    d=_D,
    powers=((1.5,), (-1,), (True,), (10**9,), None, 3, ("a",)),
)
door(
    "feature_maps.tensor.TensorMap",
    tensor.TensorMap,
    {"kind": "symmetric", "d": 2, "coefficients": [0.0, 1.0]},
    kind=NAMES,
    d=_D,
    coefficients=(*ARRAYS, [], [0.0], 3.0, [[1.0]], [0.0] * 2000 + [1.0]),
)
door("feature_maps.tensor.TensorMap.phi", _map.phi, {"w": [1.0, 2.0]}, w=_V)
door("feature_maps.tensor.TensorMap.psi", _map.psi, {"x": [1.0, 2.0]}, x=_V)
door(
    "feature_maps.tensor.multiplicities",
    tensor.multiplicities,
    {"d": 2, "p": 3},
    d=(*_D, 10**6),
    p=(*INTEGERS, -1, 10**6),
)
door(
    "feature_maps.random.draw_random_maclaurin",
    random.draw_random_maclaurin,
    {"d": 2, "n_features": 4, "rate": 1.0, "seed": 0},
    d=(*_D, 2**30),
    n_features=(*_D, 2**30),
    rate=_SCALE,
    seed=(*INTEGERS, -1),
)
door("feature_maps.random.RandomMaclaurin.phi", _drawn.phi, {"W": [1.0, 2.0]}, W=_V)
door("feature_maps.random.RandomMaclaurin.psi", _drawn.psi, {"x": [1.0, 2.0]}, x=_V)
door(
    "feature_maps.random.sign_moment",
    random.sign_moment,
    {"w": [1.0, 2.0], "x": [1.0, 2.0]},
    w=_V,
    x=_V,
)
door(
    "feature_maps.random.draw_variance",
    random.draw_variance,
    {"w": [1.0, 2.0], "x": [1.0, 2.0], "rate": 1.0},
    w=_V,
    x=_V,
    rate=_SCALE,
)
for _name in ("second_moment", "singular_values", "best_mse"):
    door(f"feature_maps.optimal.{_name}", getattr(optimal, _name), {"d": 3}, d=(*_D, 1, 10**6))
door(
    "feature_maps.optimal.harmonics",
    optimal.harmonics,
    {"d": 3, "degree": 2},
    d=(*_D, 1, 10**6),
    degree=(*INTEGERS, -1, 2**30),
)
door(
    "feature_maps.optimal.ClosedMap",
    optimal.ClosedMap,
    {"name": "affine", "d": 2},
    name=NAMES,
    d=(*_D, 1, 10**6),
)
door("feature_maps.optimal.ClosedMap.phi", _closed.phi, {"w": [1.0, 2.0]}, w=_V)
door("feature_maps.optimal.ClosedMap.psi", _closed.psi, {"x": [1.0, 2.0]}, x=_V)
door(
    "feature_maps.learned.Protocol",
    learned.Protocol,
    {"d": 2, "m": 4, "n_pairs": 64, "batch": 8, "hidden": 8, "rate": 1e-3},
    d=_D,
    m=_D,
    n_pairs=(True, 1.5, "2", 4, -1),
    batch=_D,
    hidden=_D,
    rate=(*NUMBERS, 0.0, -1.0),
)
door(
    "feature_maps.learned.initial_networks",
    learned.initial_networks,
    {"protocol": learned.Protocol(), "seeds": [0]},
    protocol=(None, "spam", {}),
    seeds=([], [-1], [1.5], [True], None, 3, "ab"),
)
door(
    "feature_maps.learned.draw_pairs",
    learned.draw_pairs,
    {"d": 2, "n": 3, "keys": [[0]]},
    d=(*_D, 2**30),
    n=(*_D, 2**30),
    keys=([], [[-1]], [["a"]], None, 3),
)
_W, _x, _y = learned.draw_pairs(2, 3, [[0]])
for _name in ("pair_errors", "pair_rmse"):
    door(
        f"feature_maps.learned.{_name}",
        getattr(learned, _name),
        {"networks": _nets, "W": _W, "x": _x, "y": _y},
        networks=(None, "spam", _glu),
        W=(None, "ab", torch.zeros(2)),
        x=(None, "ab", torch.zeros(2)),
        y=(None, "ab", torch.zeros(7)),
    )
_SHORT = learned.Protocol(n_pairs=64, hidden=8, m=4)
door(
    "feature_maps.learned.train",
    learned.train,
    {
        "protocol": _SHORT,
        "seeds": [0],
        "steps": 2,
        "measure": lambda _: np.zeros(1),
        "at_steps": [1],
    },
    protocol=(None, "spam"),
    seeds=([], [-1], None, 3),
    steps=(*INTEGERS, 0, 2**30),
    measure=(None, "ab"),
    at_steps=([0], [3], [True], ["a"]),
)

#: Public functions without bad inputs, by a pattern of their names, and why.
EXEMPT = {
    r"truncation\.(linear_piece|hermite_piece)": "takes no argument",
    r"checks\.quoted": "takes anything",
    r"cli\.build_parser": "takes no argument; its grammar is tried as cli.main",
    r"plotting\.use_style": "takes no argument",
    r"papers\.(gated_units|gelu_linearization)\..*": "takes no argument or a step of a proof",
    r"papers\.errata\.errata": "takes no argument",
    r"papers\.gated_units\..*|papers\.(gelu_linearization\.)?.*equations": "takes no argument",
    r"book\..*": "called by the command line or Sphinx on the project's own files",
    r"data\.rebuild\..*": "a maintainer's script that rebuilds the shipped tables",
}

#: Every bad value of every argument of every door.
CASES = tuple(
    Case(name, argument, number, value)
    for name, found in DOORS.items()
    for argument, values in found.bad.items()
    for number, value in enumerate(values)
)
