"""Bad inputs for every door of the package: a good call each, and what takes one argument's place.

A door is a public function, method or class. Its good call must pass; every other call of the table
differs from it in one argument and must be refused.
"""

from __future__ import annotations

import contextlib
import io
import math
import reprlib
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import sympy as sp
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from xsquared import (
    checks,
    cli,
    constructions,
    errors,
    functions,
    geometry,
    plotting,
    quadrature,
    slopes,
    splines,
    training,
    truncation,
    units,
)
from xsquared import tables as shown
from xsquared.data import dataset, problems, tables
from xsquared.feature_maps import (
    check_vectors,
    learned,
    optimal,
    polynomials,
    random,
    series,
    tensor,
)
from xsquared.papers import claims, figures, ledger, table1
from xsquared.studies import committed, experiment, line, scaling, sweep, trial
from xsquared.studies.declared import STUDIES
from xsquared.training import free_knots, frozen_gates, knot_density, optimal_knots, spline_space
from xsquared.training import start as training_start

# What is no integer, no number, no array, no known name. A door adds what is out of its bounds.
INTEGERS = (True, 1.5, "2", None, [1], math.nan, 2**63, np.uint64(2**63), 10**5000, 1 + 0j)
NUMBERS = (True, "1", None, 1j, math.nan, math.inf, 10**400, [1.0], np.array([1.0, 2.0]))
ARRAYS = (
    *(None, "ab", object(), {}, [True, False], [1j, 2.0], [math.nan, 1.0], [1.0, -math.inf]),
    *(["1", "2"], [[1.0], [1.0, 2.0]], np.ma.masked_array([1.0, 2.0], mask=[True, False])),
    [torch.tensor(True), torch.tensor(2.0)],
    [np.ma.masked_array([1.0, 2.0], mask=[True, False])] * 2,
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


def _axes() -> Axes:
    return Figure().subplots()


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
door(
    "checks.check_settings",
    lambda joint: checks.check_settings(training.Newton(joint=joint)),
    {"joint": False},
    joint=("no", "", 0, 1, None, [True], np.True_),
)
door(
    "checks.check_fit_size",
    checks.check_fit_size,
    {"solver": "varpro", "n_hidden": 2, "points": 3, "numbers": 2**20},
    numbers=(2**28, 10**3000),
)

door(
    "checks.check_integers",
    checks.check_integers,
    {"name": "n", "values": [1]},
    values=(*([value] for value in INTEGERS), [-1], [], None, 3, "12"),
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
    "functions.interval_of",
    functions.interval_of,
    {"target": functions.PAPER_TARGET},
    target=CURVES,
)
door(
    "functions.check_box", functions.check_box, {"domain": (0, 1), "count": 2}, domain=DOMAINS[:-6]
)
for _name in ("derivative", "numpy", "torch"):
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
    {"sizes": _SIZES, "errors": _ERRORS},
    **_REGRESSION,
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
    {"sizes": _SIZES, "errors": [_ERRORS, [0.4, 0.2, 0.1]]},
    sizes=_REGRESSION["sizes"],
    errors=(*ARRAYS, [], [_ERRORS], [[0.1], [0.2]], [_ERRORS, [0.1, 0.2, -0.1]], [[_ERRORS]]),
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
door(
    "splines.predicted_uniform",
    splines.predicted_uniform,
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
_CONTINUITY = (*INTEGERS, -2, 1)
for _name in ("monospline", "equal_cells_constant"):
    door(
        f"splines.{_name}",
        getattr(splines, _name),
        {"order": 2, "continuity": 0},
        order=(*INTEGERS, 0, 13),
        continuity=_CONTINUITY,
    )
door(
    "splines.segments",
    splines.segments,
    {"target": functions.PAPER_TARGET, "order": 2},
    target=(*CURVES, functions.target("x")),
    order=_ORDER,
)
door(
    "splines.least_errors",
    splines.least_errors,
    {"target": functions.PAPER_TARGET, "order": 2, "grid": [-1.0, 0.0, 1.0], "longest": 2},
    target=CURVES,
    order=_ORDER,
    grid=(*ARRAYS, [], [0.0], [1.0, 0.0], 3.0, range(20_000)),
    longest=(*INTEGERS, 0),
)
door(
    "splines.certified_lower_bounds",
    splines.certified_lower_bounds,
    {"bounds": np.zeros((3, 3)), "most": 1},
    bounds=(*ARRAYS, [], [[1.0]], [[1.0, 2.0]], 3.0),
    most=(*INTEGERS, 0, 2),
)
door(
    "splines.lower_bounds",
    splines.lower_bounds,
    {"target": functions.PAPER_TARGET, "order": 2, "most": 2},
    target=(*CURVES, functions.target("x")),
    order=_ORDER,
    most=(*INTEGERS, 0, 201),
)
door(
    "training.optimal_knots.optimal_knots",
    optimal_knots.optimal_knots,
    {**_SPLINE, "continuity": 0, "start": None, "max_iterations": 1},
    target=(*CURVES, functions.target("x"), functions.target("abs(x)")),
    order=(*INTEGERS, 0, 9),
    n_cells=(*INTEGERS, 0, 10**6),
    continuity=_CONTINUITY,
    start=(*ARRAYS[1:], [], [-1.0, 1.0], [-1.0, 0.5, 0.0, 1.0], 3.0),
    max_iterations=(*INTEGERS, 0),
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
    "units.check_network",
    units.check_network,
    {"network": _glu, "n_in": 1, "n_out": 1},
    network=(*NETWORKS, _plane, _vector),
)
door("units.as_points", units.as_points, {"x": [0.5]}, x=ARRAYS)
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
_ridge = constructions.interpolating_mlp(functions.PAPER_TARGET, 2)
door(
    "constructions.ridge_sum",
    constructions.ridge_sum,
    {"networks": [_ridge], "directions": [[1.0, -1.0]]},
    networks=(None, 3, [], "ab", _ridge, [None], [_ridge, _ridge], [units.build("mlp", 2, 3)]),
    directions=(*ARRAYS, [], [1.0, -1.0], [[]], [[1.0], [2.0]], 3.0),
)
door(
    "constructions.fewest_bilinear",
    constructions.fewest_bilinear,
    {"form": [[1.0, 0.5], [0.5, 2.0]]},
    form=(*ARRAYS, [], 3.0, [1.0, 2.0], [[]], [[1.0]], [[1.0, 2.0]], [[1.0, 2.0], [0.0, 1.0]]),
)

# ---- feature_maps
_D, _DEGREE, _SCALE = (*INTEGERS, 0, -1), (*INTEGERS, 0, -1, 10**6), (*NUMBERS, 0.0, -1.0, 1e200)
_V = (*ARRAYS, [], [1.0], [[1.0]], 3.0, [1e300, 1.0])
_MOMENT = (*ARRAYS, [], [[1.0]], 0.0, -1.0, 1e200, [0.0, 0.0], [-1.0, 1.0], [1.0, 601.0])
_map = tensor.TensorMap("symmetric", 2, np.array([0.0, 1.0, 0.5]))
_drawn = random.draw_random_maclaurin(2, 4, 1.0, 0)
_best = optimal.OptimalMap(2, 3)
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
    {"d": 2, "n_features": 4, "moment": 1.0, "seed": 0, "exact": 1},
    d=(*_D, 2**30),
    n_features=(*_D, 2**30),
    moment=_MOMENT,
    seed=(*INTEGERS, -1),
    exact=(*INTEGERS, -1, 10**6),
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
    {"w": [0.5, 1.0], "x": [0.5, 1.0], "moment": 1.0, "exact": 1},
    w=_V,
    x=_V,
    moment=_MOMENT,
    exact=(*INTEGERS, -1, 10**6),
)
_DIM, _DEVIATION = (*_D, 1, 10**6), (*NUMBERS, 0.0, -1.0, 1e9)
for _name, _more, _bad in (
    ("second_moment", {}, {}),
    ("levels", {"left_over": 1e-3, "features": 4}, {"left_over": _SCALE, "features": (-1, 1.5)}),
    ("best_mse", {"m": 3}, {"m": (True, 1.5, "2", None, -1, [-1], [1.5])}),
    ("features_needed", {"error": 0.1}, {"error": _SCALE}),
):
    door(
        f"feature_maps.optimal.{_name}",
        getattr(optimal, _name),
        {"d": 3, "scale": 1.0} | _more,
        d=_DIM,
        scale=_DEVIATION,
        **_bad,
    )
door(
    "feature_maps.optimal.harmonics",
    optimal.harmonics,
    {"d": 3, "degree": 2},
    d=_DIM,
    degree=(*INTEGERS, -1, 2**30),
)
door(
    "feature_maps.optimal.unit_harmonics",
    optimal.unit_harmonics,
    {"d": 2, "degree": 2, "count": 2, "unit": [0.6, 0.8]},
    d=_DIM,
    degree=(*INTEGERS, -1, 2**30),
    count=(*_D, 3),
    unit=_V,
)
door(
    "feature_maps.optimal.OptimalMap",
    optimal.OptimalMap,
    {"d": 2, "m": 3, "scale": 1.0},
    d=_DIM,
    m=_D,
    scale=_DEVIATION,
)
door("feature_maps.optimal.OptimalMap.phi", _best.phi, {"w": [1.0, 2.0]}, w=_V)
door("feature_maps.optimal.OptimalMap.psi", _best.psi, {"x": [1.0, 2.0]}, x=_V)
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
    decay=(1, None, "a"),
    single=(1, None, "a"),
)
for _name in ("initial_networks", "optimal_networks"):
    door(
        f"feature_maps.learned.{_name}",
        getattr(learned, _name),
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

# ---- data
_FRAME = pd.DataFrame({"a": np.arange(20.0), "b": np.arange(20) ** 2, "y": np.sin(np.arange(20.0))})
_ROWS = {"x": _FRAME[["a", "b"]], "y": _FRAME["y"], "seed": 0, "split": "held-out", "points": None}
_SEED, _COUNT = (*INTEGERS, -1), (*(n for n in INTEGERS if n is not None), 0, -1, 3, 10**6)
_DATA = dataset.from_arrays(**_ROWS)
_LINE = dataset.sampled(functions.PAPER_TARGET, 50)


def _from_text(text: str, name: str, y: str) -> dataset.Dataset:
    """A file of that text, read."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_text(text, encoding="utf-8")
        return dataset.from_file(path, y)


_CSV = _FRAME.to_csv(index=False)
door(
    "data.dataset.Points",
    dataset.Points,
    {"x": [[1.0], [2.0]], "y": [1.0, 2.0]},
    x=(*ARRAYS, [1.0, 2.0], [[1.0]]),
    y=(*ARRAYS, [1.0], 3.0, [[1.0, 2.0]]),
)
door(
    "data.dataset.sampled",
    dataset.sampled,
    {"target": functions.PAPER_TARGET, "n_points": 10},
    target=CURVES,
    n_points=(*INTEGERS, 0, 1, 2**30),
)
door(
    "data.dataset.from_target",
    dataset.from_target,
    {"target": functions.PAPER_TARGET, "seed": 0, "split": "paper", "points": 50},
    target=("x", None, 3.0),
    seed=_SEED,
    split=NAMES,
    points=(*_COUNT[:-2], 2**30),
)
door(
    "data.dataset.from_arrays",
    dataset.from_arrays,
    _ROWS,
    x=(*ARRAYS, [], [[1.0]], np.ones((20, 2)), np.full((20, 2), 1e200) * np.arange(20)[:, None]),
    y=(*ARRAYS, [], [1.0], np.ones(20), np.ones((20, 1))),
    seed=_SEED,
    split=NAMES,
    points=_COUNT,
)
_FROM_FRAME = {"frame": _FRAME, "y": "y", "seed": 0, "split": "held-out", "points": None}
door(
    "data.dataset.from_frame",
    dataset.from_frame,
    _FROM_FRAME,
    y=("spam", None, 3, ["y"]),
    seed=_SEED,
    split=NAMES,
    points=_COUNT,
    frame=(
        None,
        "ab",
        {},
        [[1.0]],
        _FRAME.assign(a="text"),
        _FRAME.assign(a=True),
        _FRAME.assign(a=math.nan),
        _FRAME.assign(y=None),
        _FRAME[["y"]],
        _FRAME[:3],
        _FRAME.assign(a=1.0),
        _FRAME.assign(y=2.0),
        _FRAME.rename(columns={"a": "b"}),
    ),
)
door(
    "data.dataset.from_file",
    _from_text,
    {"text": _CSV, "name": "mine.csv", "y": "y"},
    y=("spam", "Y", ""),
    name=("mine.xls", "mine", "mine.parquet"),
    text=(
        "",
        "a,y\n",
        "a,y\n1,2\n",
        "a,y\n1,x\n" * 9,
        "a,y\n1,2,3\n" * 9,
        '"',
        "a,y\n1,\n" * 9,
        "\0" * 100,
        _CSV.replace("3.0", "three"),
        _CSV.replace("3.0", "1e999"),
    ),
)
door(
    "data.dataset.Dataset.predict",
    _DATA.predict,
    {"network": units.build("glu", 2, 3), "x": [[1.0, 2.0]]},
    network=(*NETWORKS, _glu),
    x=(*ARRAYS, [[1.0]], [1.0, 2.0], [[[1.0, 2.0]]], _FRAME[["a"]]),
)
door(
    "data.problems.load",
    problems.load,
    {"name": "friedman1", "seed": 0, "split": "held-out", "points": 50},
    name=NAMES,
    seed=(*_SEED, 2**33),
    split=NAMES,
    points=(*_COUNT[:-1], 2**30),
)
door("data.problems.find_problem", problems.find_problem, {"name": "friedman1"}, name=NAMES)
for _name in ("read", "read_text"):
    door(f"data.tables.{_name}", getattr(tables, _name), {"name": "airfoil"}, name=NAMES)

# ---- training
_FIT = {
    "data": _LINE,
    "unit": "glu",
    "n_hidden": 2,
    "solver": training.AdamW(max_iterations=1),
    "gates": "trained",
    "activation": "relu",
    "seed": 0,
}
door(
    "training.fit.fit",
    training.fit,
    _FIT,
    data=(None, "ab", (1, 2), _FRAME, _LINE.train, functions.PAPER_TARGET),
    unit=NAMES,
    n_hidden=(*_DIMENSION, 10**8, 10**6),
    solver=("varpro", 3, training.AdamW, object()),
    gates=NAMES,
    activation=tuple(n for n in NAMES if n is not None),
    seed=_SEED,
)
door(
    "training.fit.grow",
    training.grow,
    {
        "data": _FIT["data"],
        "unit": "glu",
        "widths": [1, 2],
        "solver": training.Growth(candidates=2, exchanges=1, iterations=1, max_iterations=1),
        "gates": "trained",
        "activation": "relu",
        "seed": 0,
    },
    data=(None, "ab", (1, 2), _FRAME, _LINE.train, functions.PAPER_TARGET),
    unit=NAMES,
    widths=(None, 3, "ab", [], [0], [2, 1], [1, 1], [1.5], [True], [10**8]),
    solver=("growth", 3, training.Growth, training.AdamW(), object()),
    gates=NAMES,
    activation=tuple(n for n in NAMES if n is not None),
    seed=_SEED,
)
door(
    "training.fit.solver_from",
    training.solver_from,
    {"name": "varpro", "settings": {"starts": 1}},
    name=NAMES,
    settings=(
        {"spam": 1},
        {"starts": 0},
        {"starts": True},
        {"starts": "1"},
        {1: 2},
        3,
        "ab",
        [("starts", 1)],
    ),
)
_WHOLE, _SHARE = (*INTEGERS, -1), (*NUMBERS, -1.0)
for _solver, _counts, _scales in (
    (
        training.VariableProjection,
        ("max_iterations", "starts", "trial_iterations"),
        ("ridge",),
    ),
    (
        training.Growth,
        ("candidates", "few", "iterations", "max_iterations", "exchanges"),
        ("share", "exchanged", "moved", "margin"),
    ),
    (
        training.FreeKnots,
        (
            "max_iterations",
            "starts",
            "moves",
            "directions",
            "trial_iterations",
            "narrow",
            "jumps",
            "random_starts",
        ),
        ("jitter",),
    ),
    (
        training.Newton,
        ("max_iterations", "patience", "halvings", "elements"),
        ("singular", "rcond", "stall", "armijo"),
    ),
    (training.AdamW, ("max_iterations", "records"), ("learning_rate",)),
    (training.LBFGS, ("max_iterations", "pairs", "inner"), ("stall",)),
):
    door(
        f"{_solver.__module__.removeprefix('xsquared.')}.{_solver.__name__}",
        _solver,
        {},
        **dict.fromkeys(_counts, _WHOLE),
        **dict.fromkeys(_scales, _SHARE),
        # None is no bound.
        **({"sharpest": [v for v in _SHARE if v is not None]} if "ridge" in _scales else {}),
    )


def _trained(solver: Any, n_hidden: int, gates: Any = "trained") -> Any:
    return training.fit(_LINE, "glu", n_hidden, solver=solver, gates=gates)


# Widths whose layer would fit into memory, but not what the solver makes of it.
for _trainer, _width in (
    (training.VariableProjection(max_iterations=1, starts=1), 4000),
    (training.Growth(candidates=2, exchanges=1, iterations=1, max_iterations=1), 3000),
    (training.FreeKnots(max_iterations=1, starts=1, random_knots=1), 20_000),
    (training.Newton(max_iterations=1), 1500),
    (training.AdamW(max_iterations=1), 700_000),
    (training.LBFGS(max_iterations=50), 100_000),
):
    door(
        f"{type(_trainer).__module__.removeprefix('xsquared.')}.{type(_trainer).__name__}.train",
        _trained,
        {"solver": _trainer, "n_hidden": 2},
        n_hidden=(_width, 10**6),
    )
_KNOTS = (*ARRAYS, [], [0.0], [1.0, -1.0], [-1.0, 0.0], [-1.0, -1.0, 1.0], 3.0)
_UNIT = (*NAMES, "swiglu", "bilinear")
door("training.spline_space.space", spline_space.space, {"unit": "glu"}, unit=_UNIT)
door(
    "training.free_knots.fit_free_knots",
    free_knots.fit_free_knots,
    {
        "target": functions.PAPER_TARGET,
        "unit": "glu",
        "knots": [-1.0, 0.0, 1.0],
        "max_iterations": 1,
    },
    target=CURVES,
    unit=_UNIT,
    knots=_KNOTS,
    max_iterations=_WHOLE,
)
door(
    "training.knot_density.equidistributed_knots",
    knot_density.equidistributed_knots,
    {"target": functions.PAPER_TARGET, "unit": "glu", "n_cells": 3},
    target=CURVES,
    unit=_UNIT,
    n_cells=(*_CELLS, 2**30, 10**5),
)
door(
    "training.frozen_gates.fit_frozen",
    frozen_gates.fit_frozen,
    {"target": functions.PAPER_TARGET, "unit": "glu", "n_hidden": 3, "max_iterations": 1},
    target=CURVES,
    unit=NAMES,
    n_hidden=(*_DIMENSION, 2**30, 5000),
    max_iterations=_WHOLE,
)
door(
    "training.start.alternating_gates",
    training_start.alternating_gates,
    {"n": 3, "domain": (0, 1)},
    n=(*INTEGERS, 0, 2**30),
    domain=((1, 0), (0, math.nan), None, 3, "ab"),
)

# ---- tables, plotting, papers
_SHOWN = {"frame": _FRAME, "caption": "Rows.", "name": "tab-rows", "formats": ".2f"}
door(
    "tables.Table",
    shown.Table,
    _SHOWN,
    frame=(
        None,
        "ab",
        [[1.0]],
        _FRAME[:0],
        _FRAME.T.T.set_axis(pd.MultiIndex.from_product([["a"], list("abc")]), axis=1),
    ),
    caption=(None, 3),
    name=("rows", "", None, 3, "tab-A", "x" * 100_000),
    formats=("spam", {"spam": ".2f"}, None, 3, {}),
)
door(
    "tables.glue_numbers",
    shown.glue_numbers,
    {"numbers": {"a": 1.5}, "digits": 2},
    numbers=({"a": None}, {"a": True}, {"a": [1.0]}, {1: 2.5}, None, 3, "ab"),
    digits=({}, {"b": 1}, None, "2", True, 1.5, -1),
)
door("plotting.line_look", plotting.line_look, {"name": "glu"}, name=NAMES)
door(
    "plotting.draw_knots",
    lambda knots: plotting.draw_knots(_axes(), knots),
    {"knots": [0.5]},
    knots=ARRAYS,
)
door(
    "plotting.draw_hinges",
    lambda network, box: plotting.draw_hinges(_axes(), network, box),
    {"network": _plane, "box": ((0, 1), (0, 1))},
    network=(*NETWORKS, _glu),
    box=_BOXES,
)
_CLAIM = next(claim for claim in ledger.ledger().values() if claim.value is not None)
door(
    "papers.claims.judge",
    claims.judge,
    {"claim": _CLAIM, "measured": 1.0, "note": ""},
    also=("ClaimError",),
    claim=(None, "ab"),
    measured=(True, "1", math.nan, math.inf, 1j, [1.0], {}, {"spam": 1.0}, {_CLAIM.protocol: "1"}),
)
door(
    "papers.claims.settle",
    claims.settle,
    {"measured": {_CLAIM.id: 1.0}},
    also=("ClaimError",),
    measured=({}, {"spam": 1.0}, {_CLAIM.id: True}, {_CLAIM.id: "1"}, None, 3, "ab", [1]),
)
door("papers.ledger.foundations", ledger.foundations, {"key": "gu-eq9"}, key=NAMES)
_CURVE = {"figure": "6", "problem": "sine", "unit": "mlp"}
door("papers.figures.paper_points", figures.paper_points, _CURVE, **dict.fromkeys(_CURVE, NAMES))
door(
    "papers.table1.table1_slopes",
    table1.table1_slopes,
    {"found": {}, "problem": "sine", "unit": "mlp"},
    problem=NAMES,
    unit=NAMES,
)

# ---- studies
_TRIAL = {"unit": "glu", "n_hidden": 3, "problem": "friedman1"}
_TEXTUAL = dict.fromkeys(("data", "sha256", "y", "protocol"), (None, 3, ["a"]))
door(
    "studies.trial.Trial",
    trial.Trial,
    _TRIAL,
    **_TEXTUAL,
    unit=NAMES,
    n_hidden=_DIMENSION,
    seed=_SEED,
    points=_COUNT[:-2],
    split=NAMES,
    gates=NAMES,
    problem=("spam", "", None, 3, "x" * 100_000),
    expression=("x", None, 3),
    domain=(((0, 1),), None, 3, "ab", ((1, 0),), (("a", "b"),)),
    activation=("spam", None, 3),
    solver=("", None, 3, ["varpro"]),
    settings=(
        None,
        3,
        "ab",
        (("starts",),),
        (("starts", 1), ("starts", 2)),
        (("starts", object()),),
        ((1, {}),),
    ),
)
door(
    "studies.trial.Trial.expression",
    lambda expression, domain: trial.Trial("glu", 3, expression=expression, domain=domain),
    {"expression": "x", "domain": ((0, 1),)},
    expression=(*TEXTS[:40], "1/x", "x*y"),
    domain=DOMAINS[:8],
)
door(
    "studies.trial.file_sum",
    trial.file_sum,
    {"path": __file__},
    also=("OSError",),
    path=("missing.csv", ".", "/", "\0"),
)
door(
    "studies.trial.checked_values",
    trial.checked_values,
    {"returned": {"a": 1.0}},
    returned=(None, 3, [1.0], {"a": [1.0]}, {"a": np.arange(3)}, {"seed": 1}, {"a": {}}),
)
door(
    "studies.line.line_trials",
    line.line_trials,
    {"protocol": "frozen", "widths": [2], "seeds": 1, "budget": 1},
    protocol=NAMES,
    widths=([0], [True], ["2"], [2.5], 3, [], [2**63]),
    seeds=(*INTEGERS[:3], *INTEGERS[4:], 0),
    budget=(*INTEGERS, 0),
)
door(
    "studies.scaling.scaling_trials",
    scaling.scaling_trials,
    {"problems": ["friedman1"], "widths": [2], "seeds": 2, "protocol": "paper"},
    problems=(["spam"], [None], [3]),
    widths=([0], [True], ["2"], [2.5], None, 3, [], [2**63]),
    seeds=(*INTEGERS, 1, 0, 10**9),
    protocol=NAMES,
)
door(
    "studies.committed.find_study", committed.find_study, {"name": next(iter(STUDIES))}, name=NAMES
)
door(
    "studies.committed.drawn",
    committed.drawn,
    {"study": next(iter(STUDIES.values())), "count": 1, "seed": 0},
    count=(*INTEGERS, 0, 10**6),
)


def _run_sweep(trials: Any, run_trial: Any, path: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        sweep.run_sweep(trials, run_trial, Path(folder) / path, progress=False)


_SHORT_TRIAL = trial.Trial(
    "mlp", 1, "friedman1", solver="adamw", settings=(("max_iterations", 1),), points=50
)
door(
    "studies.sweep.run_sweep",
    _run_sweep,
    {"trials": [_SHORT_TRIAL], "run_trial": experiment.run_trial, "path": "store.sqlite"},
    also=("StoreError",),
    trials=([], [None], ["a"], None, 3),
    run_trial=(None, "ab", lambda _: {}),
    path=("missing/folder/store.sqlite", "."),
)

# ---- the command line
_TARGETS = (
    "1/0",
    "log(-1)",
    "9**9**9",
    "-x**0.5",
    "w",
    "",
    "1e400",
    "x" * 100_000,
    "x*y*w",
    "__import__('os')",
    "1/x",
    "(-8)**(1/3)",
)
_SWEEP = [
    "sweep",
    "--widths",
    "1",
    "--unit",
    "mlp",
    "--solver",
    "adamw",
    "--set",
    "max_iterations=1",
    "--points",
    "10",
    "--out",
    "rows.csv",
]
_LONG = "x" * 100_000
ARGUMENTS = (
    *(
        [*_SWEEP, option, _LONG]
        for option in (
            *("--set", "--gates", "--split", "--y", "--activation", "--seeds", "--points"),
            *("--jobs", "--out", "--" + _LONG),
        )
    ),
    [*_SWEEP, "--set", f"{_LONG}=1"],
    [*_SWEEP, "--set", f"max_iterations={_LONG}"],
    [*_SWEEP, "--set", f"max_iterations={'x ' * 50_000}"],
    [*_SWEEP, "--domain", _LONG, "1"],
    [*_SWEEP, "--domain", "0", _LONG],
    [*_SWEEP, "--out", f"{_LONG}.csv"],
    [*_SWEEP, "--data", _LONG, "--y", "a"],
    [*_SWEEP, "--data", f"{_LONG}.csv", "--y", _LONG],
    [_LONG],
    ["sweep", _LONG],
    ["study", _LONG],
    ["study", "--seed", _LONG],
    ["study", "line", "--check", _LONG],
    ["speedrun", "--out", _LONG],
    ["book", "--jobs", _LONG],
    [*_SWEEP, "--targ", "-x**2"],
    [*_SWEEP, "--dom", "-1e-3", "1"],
    [*_SWEEP, "--y", "-price"],
    *(
        [],
        ["spam"],
        ["--spam"],
        ["sweep", "--spam"],
        ["sweep", "spam"],
        ["speedrun", "--jobs", "2"],
        ["book", "--jobs", "0"],
        ["book", "-p", "a"],
        ["study"],
    ),
    *(
        ["study", "spam"],
        ["study", "--check", "0"],
        ["study", "--all", "spam"],
        ["study", "spam", "--jobs", "x"],
        ["study", "spam", "--seed", "x"],
        ["compare"],
        ["compare", "spam", "--baseline", "spam"],
        ["compare", "--md", "--json"],
    ),
    *([*_SWEEP, "--target", text] for text in _TARGETS),
    *(
        [*_SWEEP, "--domain", a, b]
        for a, b in (
            ("1", "-1"),
            ("0", "0"),
            ("nan", "1"),
            ("0", "inf"),
            ("a", "b"),
            ("-1e400", "1"),
            ("", "1"),
        )
    ),
    *(
        [*_SWEEP, "--unit", text]
        for text in ("spam", "", ",", "mlp,spam", "MLP", "mlp;glu", "x" * 100_000)
    ),
    *(
        [*_SWEEP, "--widths", text]
        for text in (
            "0",
            "-1",
            "",
            "a",
            "1:",
            ":",
            "5:1",
            "1:5:0",
            "1:2:3:4",
            "1.5",
            "1e3",
            "1,,2",
            "0:5",
            "1:2000000000",
            str(2**63),
            "9" * 5000,
        )
    ),
    *(
        [*_SWEEP, "--seeds", text]
        for text in ("0", "-1", "a", "1.5", "1e3", "", "1000000000", str(2**63))
    ),
    *([*_SWEEP, "--points", text] for text in ("0", "-1", "a", "1.5", str(2**63))),
    *([*_SWEEP, "--jobs", text] for text in ("0", "-1", "a", "1.5")),
    *(
        [*_SWEEP, "--set", text]
        for text in (
            "spam",
            "=1",
            "spam=1",
            "max_iterations=0",
            "max_iterations=x",
            "max_iterations=True",
            "max_iterations=",
            "learning_rate=-1",
        )
    ),
    *([*_SWEEP, "--solver", text] for text in ("spam", "sgd", "VARPRO", "x" * 100_000)),
    *([*_SWEEP, "--gates", text] for text in ("spam", "", "TRAINED")),
    *([*_SWEEP, "--split", text] for text in ("spam", "paper,held-out")),
    *([*_SWEEP, "--activation", text] for text in ("spam", "RELU")),
    *([*_SWEEP, "--problem", text] for text in ("spam", "FRIEDMAN1", "x" * 100_000)),
    *([*_SWEEP, "--data", text, "--y", "y"] for text in ("missing.csv", ".", "table.xls", "\0")),
    *(
        [*_SWEEP[:-1], text]
        for text in (
            "rows",
            "rows.xls",
            "missing/folder/rows.csv",
            ".",
            "/dev/null",
            "",
            "rows.csv/rows.csv",
        )
    ),
    *(
        ["speedrun", "--out", text]
        for text in ("picture", "picture.xyz", "missing/folder/picture.png", ".", "/dev/null", "")
    ),
    *(
        [*_SWEEP, "--data", "a.csv"],
        [*_SWEEP, "--data", "a.csv", "--problem", "friedman1"],
        [*_SWEEP, "--target", "x", "--problem", "friedman1"],
    ),
)


def _command(arguments: list[str]) -> None:
    """The command line in an empty folder; its refusal as an error."""
    said = io.StringIO()
    with (
        tempfile.TemporaryDirectory() as folder,
        contextlib.chdir(folder),
        contextlib.redirect_stderr(said),
        contextlib.redirect_stdout(io.StringIO()),
    ):
        try:
            status = cli.main(arguments)
        except SystemExit as ended:  # argparse's refusals; its usage comes first
            status = ended.code
    if status == 0:
        return
    lines = said.getvalue().splitlines()
    if status == 2:
        lines = [line for line in lines if line.startswith("xsquared") and ": error: " in line]
    assert status in (1, 2)
    assert len(lines) == 1, lines
    raise ValueError(lines[0])


door("cli.main", _command, {"arguments": _SWEEP}, arguments=ARGUMENTS)

#: Public functions without bad inputs, by a pattern of their names, and why.
EXEMPT = {
    r"truncation\.(linear_piece|hermite_piece)": "takes no argument",
    r"checks\.quoted": "takes anything",
    r"cli\.build_parser": "takes no argument; its grammar is tried as cli.main",
    r"cli\.typed_value": "takes any text",
    r"plotting\.use_style": "takes no argument",
    r"pictures\..*": "takes what matplotlib drew or a notebook holds",
    r"papers\.(gated_units|gelu_linearization)\..*": "takes no argument or a step of a proof",
    r"papers\.errata\.errata": "takes no argument",
    r"book\..*": "called by the command line or Sphinx on the project's own files",
    r"data\.dataset\.from_generator": "what from_target and load come down to",
    r"training\.(first_order\.trained|newton\.\w+)": "solvers call it on what fit has checked",
    r"training\.(greedy|least_squares|levenberg_marquardt|variable_projection)\..*": (
        "solvers call it on what fit has checked"
    ),
    r"training\.directions\.(best_directions|alternations|directions_of)": "called by solvers",
    r"training\.(directions\.neuron_sizes|free_knots\.cell_errors|conversion\..*)": (
        "takes what fit_free_knots made"
    ),
    r"training\.spline_space\.(?!space).*": "the arithmetic of fit_free_knots",
    r"training\.knot_density\.proportioned_knots": "takes widths that were found or drawn",
    r"training\.spline_network\..*|training\.start\.(start|paper_start)": "called by solvers",
    r"training\.frozen_gates\.quadrature|quadrature\.between": "works on a network's knots",
    r"constructions\.(combination|increments|shifted)": "works on a spline that was checked",
    r"studies\.(executors|provenance)\..*": "called by run_sweep",
    r"studies\.committed\.(rows|read|run|check|compare)": "takes a declared study and its trials",
    r"studies\.(scaling\.(scalings|error_ratio)|sweep\.(to_frame|export))": "takes results",
    r"studies\.experiment\.(dataset|run_trial|values_of)": "takes a trial, checked when made",
    r"studies\.scaling\.run_scaling": "takes a trial, checked when made",
    r"studies\.declared\.(table1|curve|smooth|smooth_line|quality)_trials": "takes a study's",
    r"studies\.learned_maps\.(map_trials|run_map|known_errors)": "take what a study declares",
    r"studies\.speedrun\.speedrun": "takes no argument but whether to show a bar",
    r"plotting\.speedrun_figure": "takes what speedrun returns",
    r"papers\.ledger\.(ledger|protocols|sources|all_rests)": "takes no argument",
    r"papers\.ledger\.(read_ledger|standing)": "works on the package's own file and its verdicts",
    r"papers\.coverage\..*": "works on the package's own file",
}

#: Every bad value of every argument of every door.
CASES = tuple(
    Case(name, argument, number, value)
    for name, found in DOORS.items()
    for argument, values in found.bad.items()
    for number, value in enumerate(values)
)
