"""Bad inputs for the project's doors: a good call each, and what takes one argument's place."""

import contextlib
import io
import math
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import sympy as sp
import torch

import xsquared
from xsquared.checks import quoted
from xsquared.functions import PAPER_TARGET
from xsquared.slopes import fit_slope
from xsquared.training import AdamW
from xsquared_book import cli
from xsquared_book.papers import claims, ledger
from xsquared_book.tables import Table, glue_numbers
from xsquared_studies import Trial, experiment, sweep

# What is no integer, no number, no array, no known name. A door adds what is out of its bounds.
INTEGERS = (True, 1.5, "2", None, [1], math.nan, 2**63, np.uint64(2**63), 10**5000)
ARRAYS: tuple[Any, ...] = (
    *(None, "ab", object(), {}, [True, False], [1j, 2.0], [math.nan, 1.0], [1.0, -math.inf]),
    *(["1", "2"], [[1.0], [1.0, 2.0]], np.ma.masked_array([1.0, 2.0], mask=[True, False])),
    [torch.tensor(True), torch.tensor(2.0)],
)
NAMES = ("spam", "", None, 1, ["glu"], "x" * 100_000, "glu\n")
GATE_NAMES = tuple(name for name in NAMES if name is not None)


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


@dataclass(frozen=True)
class Case:
    """One bad value of one argument of one door."""

    door: str
    argument: str
    value: Any

    def call(self) -> Any:
        """The call that must be refused."""
        found = DOORS[self.door]
        return found.function(**{**found.good, self.argument: self.value})

    def __str__(self) -> str:
        return f"{self.door}({self.argument}={quoted(self.value)})"


DOORS: dict[str, Door] = {}


def door(
    name: str,
    function: Callable[..., Any],
    good: Mapping[str, Any],
    /,
    also: tuple[str, ...] = (),
    **bad: tuple[Any, ...],
) -> None:
    """Add a door to the table."""
    DOORS[name] = Door(function, good, bad, also)


# ---- targets and units
TEXTS = (
    *("log(-1)", "sqrt(-4)*x", "asin(2)", "1/0", "x/0", "1/(x-x)", "tan(pi/2)", "0**-1"),
    *("9**9**9", "2**2**2**2**2**2", "pi**pi**pi**pi", "9**9**9 - 9**9**9", "exp(exp(exp(10)))"),
    *("sin(10**1000)", "1e400", "1e200*1e200*x", "2**(x+10**9)/2**x", "x**(10**300)", "9" * 5000),
    *("(x-x+9)**(9**9)", "(1+1e-300)**(10**6)*x", "(x**1000000)**1000000", "2**-2000*x"),
    *("sin(" * 60 + "x" + ")" * 60, "(" * 300 + "x" + ")" * 300, "x+" * 999 + "x"),
    *("x*" * 50_000, "w" * 1999),
    *("", "\0", "\ud800", "x +", "x^2", "2x", "x;x", "w", "I", "oo", "nan", "gamma(x)", "sin"),
    *("sin(x, x)", "sin(*x)", "sin(x=1)", "x(2)", "sin(x)(1)", "sin.__class__", "x.real", "x[0]"),
    *("__import__('os').system('true')", "eval('x')", "(lambda: 0)()", "[x]", "{x}", "(x,)"),
    *("True", "None", "'x'", "1j", "x := 1", "*x", "x % 2", "x @ x", "~x", "x if x else 1"),
    # Read well, and refused for their values on [0, 1].
    *("1/x", "log(x)", "x**-1", "1/(x**2-1/4)", "exp(1000*x)", "sqrt(x - 1/2)", "acos(2*x)"),
)
DOMAINS: tuple[Any, ...] = (
    *((1, -1), (0, 0), (0, math.inf), (-1.7e308, 1.7e308), ("a", "b"), (0, 1j), (False, True)),
    *((math.nan, 1), (None, 1), (0,), ((1, 0),)),
    *((0, 10**400), (0, 1, 2), (), 3, None, "ab", {}, ((0, 1), (1,)), ((0, 1), (0, 1)), object()),
)
door(
    "target",
    xsquared.target,
    {"expression": "x", "domain": (0, 1), "name": "line"},
    expression=(*TEXTS, sp.Function("print('run')")(sp.Symbol("x")), None, 3.0, b"x", ["x"]),
    domain=DOMAINS,
    name=(3, b"x"),
)
GATES = (
    *(("relu", torch.relu, 1), ("", torch.relu, 1), (3, torch.relu, 1), ("g", "relu", 1)),
    *(("g", torch.relu, 2), ("g", torch.square, 3), ("g", torch.relu, 0), (None, torch.relu, 1)),
    *(("g", lambda z: torch.relu(z) ** 1.5, 1.5), ("g", torch.nn.functional.gelu, 1)),
    *(("g", value, None) for value in (torch.sign, torch.floor, torch.zeros_like, torch.sum)),
    *(("g", value, None) for value in (lambda z: z.detach().sin(), lambda z: z * z.detach())),
    *(("g", value, None) for value in (lambda z: z.float(), lambda z: z.numpy(), lambda _: 1.0)),
    ("g", lambda z: torch.from_numpy(np.sin(z.numpy())), None),
)
FACTORS = (
    *((("G", "u"),), (("U", "U"),), (("U", "u", "v"),), (("U",),), (("hidden", "u"),)),
    *((("U", "d"),), (("unit", "u"),), (("training", "u"),), (("U.0", "u"),)),
    *((("U", "u"), ("U", "q")), "Uu", 3, None, [("U", "u")], ((1, 2),), (("U", ""),)),
)
door(
    "register",
    lambda make: xsquared.register(make()),
    {"make": lambda: xsquared.Unit("mine", (("network", "values"),))},
    make=(
        *(lambda gate=gate: xsquared.Gate(*gate) for gate in GATES),
        *(lambda factors=factors: xsquared.Unit("mine", factors) for factors in FACTORS),
        *(lambda name=name: xsquared.Unit(name) for name in ("mlp", "", None, 3)),
        *(lambda name=name: xsquared.Unit("mine", activation=name) for name in NAMES),
        *(lambda thing=thing: thing for thing in ("mlp", None, 3, xsquared.Unit)),
        lambda: type("Own", (xsquared.Unit,), {})("mine"),
    ),
)
SIZES = (*INTEGERS, 0, -1)
door(
    "build",
    xsquared.build,
    {"unit": "glu", "n_in": 1, "n_hidden": 2, "n_out": 1, "activation": "relu"},
    unit=NAMES,
    n_in=SIZES,
    n_hidden=(*SIZES, 10**9),
    n_out=SIZES,
    activation=GATE_NAMES,
)

# ---- data
rng = np.random.default_rng(0)
FRAME = pd.DataFrame(rng.standard_normal((40, 3)), columns=["a", "b", "y"])
ROWS = {"x": FRAME[["a", "b"]].to_numpy(), "y": FRAME["y"].to_numpy()}
SEEDS = (*INTEGERS, -1)
COUNTS = (True, 1.5, "2", [1], math.nan, 2**63, 0, 1)
SPLIT = {"seed": 0, "split": "held-out", "points": None}
BAD_SPLIT: dict[str, tuple[Any, ...]] = {"seed": SEEDS, "split": NAMES, "points": COUNTS}
BAD_SPLIT["seed"] += (2**32,)
door(
    "sampled",
    xsquared.sampled,
    {"target": PAPER_TARGET, "n_points": 10},
    target=("x", None, 3.0, xsquared.target("x*y"), PAPER_TARGET.expression),
    n_points=(*INTEGERS, 0, 1, 2**30),
)
door(
    "from_target",
    xsquared.from_target,
    {"target": PAPER_TARGET, "seed": 0, "split": "paper", "points": 50},
    target=("x", None, 3.0),
    seed=SEEDS,
    split=NAMES,
    points=(*COUNTS, 2**30),
)
door(
    "from_arrays",
    xsquared.from_arrays,
    {**ROWS, **SPLIT, "groups": None},
    x=(*ARRAYS, [], [[1.0]], np.ones((40, 2)), np.arange(40.0), np.ones((40, 0)), ROWS["x"][:3]),
    y=(*ARRAYS, [], [1.0], np.ones(40), np.ones((40, 1)), np.arange(39.0)),
    groups=([1], np.ones(39), np.ones((40, 2))),
    **BAD_SPLIT,
)
door(
    "from_frame",
    xsquared.from_frame,
    {"frame": FRAME, "y": "y", **SPLIT},
    frame=(
        *(None, "ab", {}, [[1.0]], FRAME.assign(a="text"), FRAME.assign(a=True), FRAME[["y"]]),
        *(FRAME.assign(a=math.nan), FRAME.assign(y=None), FRAME[:3], FRAME.assign(y=2.0)),
        FRAME.rename(columns={"a": "b"}),
    ),
    y=("spam", None, 3, ["y"]),
    **BAD_SPLIT,
)


def from_text(text: str, name: str, y: str) -> Any:
    """A file of that text, read."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_text(text, encoding="utf-8")
        return xsquared.from_file(path, y)


CSV = FRAME.round(3).to_csv(index=False)
door(
    "from_file",
    from_text,
    {"text": CSV, "name": "mine.csv", "y": "y"},
    text=(
        *("", "a,y\n", "a,y\n1,2\n", "a,y\n1,x\n" * 9, '"', "a,y\n1,\n" * 9, "\0" * 100),
        CSV.replace("\n", ",7\n"),
        CSV.replace("0.1", "1e999"),
    ),
    name=("mine.xls", "mine", "mine.parquet"),
    y=("spam", "Y", ""),
)
door(
    "load",
    xsquared.load,
    {"name": "friedman1", "seed": 0, "split": "held-out", "points": 50},
    name=NAMES,
    seed=(*SEEDS, 2**33),
    split=NAMES,
    points=(*COUNTS, 2**30),
)
DATA = xsquared.from_arrays(ROWS["x"], ROWS["y"])
door(
    "Dataset.predict",
    DATA.predict,
    {"network": xsquared.build("glu", 2, 3), "x": [[1.0, 2.0]]},
    network=("glu", None, torch.nn.Linear(1, 1), xsquared.build("glu", 1, 3)),
    x=(*ARRAYS, [[1.0]], [1.0, 2.0], [[[1.0, 2.0]]], FRAME[["a"]]),
)

# ---- training
FIT = {"data": DATA, "unit": "glu", "gates": "trained", "seed": 0}
BAD_FIT: dict[str, tuple[Any, ...]] = {
    "data": (None, "ab", (1, 2), FRAME, DATA.train, PAPER_TARGET),
    "unit": NAMES,
    "gates": NAMES,
    "seed": SEEDS,
}
door(
    "fit",
    xsquared.fit,
    {**FIT, "n_hidden": 2, "solver": AdamW(max_iterations=1)},
    **BAD_FIT,
    n_hidden=(*SIZES, 10**8),
    solver=("varpro", 3, AdamW, object()),
)
GROWTH = xsquared.Growth(candidates=2, exchanges=1, max_iterations=1)
door(
    "grow",
    xsquared.grow,
    {**FIT, "widths": [1, 2], "solver": GROWTH},
    **BAD_FIT,
    widths=(None, 3, "ab", [], [0], [2, 1], [1, 1], [1.5], [True], [10**8]),
    solver=("growth", 3, xsquared.Growth, AdamW(), object()),
)
door(
    "fit_slope",
    fit_slope,
    {"sizes": [1, 2], "errors": [1.0, 0.5]},
    sizes=(*ARRAYS, [1], [1, 1], [0, 1], [-1, 2], [1, 2, 3], [1e300, 1e300 * (1 + 1e-15)]),
    errors=(*ARRAYS, [1.0], [1.0, 0.0], [1.0, -1.0], [[1.0, 2.0]]),
)

# ---- studies
door(
    "Trial",
    Trial,
    {"unit": "glu", "n_hidden": 3, "expression": "x", "domain": ((0, 1),)},
    unit=NAMES,
    n_hidden=SIZES,
    seed=SEEDS,
    split=NAMES,
    gates=NAMES,
    expression=(*TEXTS[:6], None, 3),
    domain=((), None, 3, "ab", ((1, 0),), (("a", "b"),), ((0, 1), (0, 1), (0, 1), (0, 1))),
    activation=("spam", None, 3),
    solver=("", None, 3, ["varpro"]),
    settings=(None, 3, "ab", (("starts",),), (("starts", 1), ("starts", 2)), ((1, {}),)),
)
SHORT = Trial("mlp", 1, "friedman1", solver="adamw", settings=(("max_iterations", 1),), points=50)


def run_sweep(trials: Any, run_trial: Any, path: str) -> None:
    """A sweep into a folder that goes again."""
    with tempfile.TemporaryDirectory() as folder:
        sweep.run_sweep(trials, run_trial, Path(folder) / path, progress=False)


door(
    "run_sweep",
    run_sweep,
    {"trials": [SHORT], "run_trial": experiment.run_trial, "path": "store.sqlite"},
    also=("StoreError",),
    trials=([], [None], ["a"], None, 3),
    run_trial=(None, "ab", lambda _: {}),
    path=("missing/folder/store.sqlite", "."),
)

# ---- the book
CLAIM = next(claim.id for claim in ledger.ledger().values() if claim.kind != "identity")
door(
    "settle",
    claims.settle,
    {"measured": {CLAIM: 1.0}},
    also=("ClaimError",),
    measured=({}, {"spam": 1.0}, {CLAIM: True}, {CLAIM: "1"}, None, 3, "ab", [1]),
)
SHOWN = pd.DataFrame({"unit": ["MLP", "GLU"], "slope": [-2.0, -3.0]})
door(
    "Table",
    Table,
    {"frame": SHOWN, "caption": "Slopes.", "name": "tab-slopes", "formats": ".2f"},
    frame=(None, 3, "ab", SHOWN[:0], SHOWN[["unit"]][:0]),
    name=("slopes", "tab-", "tab-A", None, 3),
    formats=(None, "spam", {"spam": ".2f"}, {}, 3),
)
door(
    "glue_numbers",
    glue_numbers,
    {"numbers": {"a": 1.5}, "digits": 2},
    numbers=({"a": None}, {"a": True}, {"a": [1.0]}, {1: 2.5}, None, 3, "ab"),
    digits=({}, {"b": 1}, None, "2", True, 1.5, -1),
)


def command(arguments: list[str]) -> None:
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
        except SystemExit as ended:  # of the parser, which prints its usage first
            status = int(ended.code)
    if status:
        lines = [line for line in said.getvalue().splitlines() if status == 1 or "error" in line]
        raise ValueError("\n".join(lines))


SWEEP = ["sweep", "--widths", "1", "--unit", "mlp", "--solver", "adamw", "--points", "10"]
SWEEP += ["--set", "max_iterations=1", "--out", "rows.csv"]
LONG = "x" * 100_000
door(
    "command line",
    command,
    {"arguments": [*SWEEP, "--target", "-x**2"]},
    arguments=(
        *([], ["spam"], ["--spam"], [LONG], ["study"], ["study", "spam"], ["study", LONG]),
        *(["sweep", "--spam"], ["sweep", "spam"], ["book", "--jobs", "0"], ["book", "-p", "a"]),
        *(["compare"], ["compare", "a", "--baseline", "b"], ["study", "line", "--check", "x"]),
        *([*SWEEP, "--target", text] for text in ("1/0", "9**9**9", "w", "", LONG, "eval('x')")),
        *([*SWEEP, "--domain", *ends] for ends in (("1", "-1"), ("nan", "1"), ("a", "b"))),
        *([*SWEEP, option, LONG] for option in ("--set", "--gates", "--points", "--jobs", "--out")),
        *([*SWEEP, "--widths", value] for value in ("0", "x", "-1", "1.5", "")),
        *([*SWEEP, "--set", value] for value in ("spam=1", "max_iterations=0", "max_iterations")),
        *([*SWEEP, "--data", "missing.csv", "--y", "a"], [*SWEEP, "--y", "-price"]),
    ),
)

#: Every bad value of every argument of every door.
CASES = [
    Case(name, argument, value)
    for name, found in DOORS.items()
    for argument, values in found.bad.items()
    for value in values
]
