"""The eleven targets of the study ``map``, of five kinds, and three of its checks.

Each is drawn as points to train, to choose and to judge on.

Functions take x in [-1, 1]^d, or a box that is mapped to it; what is random in them is
drawn by the seed: directions, uniform of length one, and phases in [0, 2 pi).

ridges2    sum of three 1 / (1 + 9 (w x)^2), d = 2
ridges16   sum of eight sin(3 w x + c) + 1 / (1 + 9 (w x)^2), d = 16
borehole   water through a borehole (Harper and Gupta, 1983), d = 8
robot      distance of a robot arm's end of four segments (An and Owen, 2001), d = 8;
           angles between segments of up to half a turn, for by whole turns no network
           here learns it
friedman   Friedman's first function, of ten inputs five have no effect
products   x1 x2 + x3 x4 + ... + x15 x16
mixtures   sixteen mixtures, by directions, of these eight products: sixteen outputs
functions  sum of three sigmoid(4 w x) sin(3 v x), d = 16
streams    sum of four softmax_k(4 a_k u) sin(3 b_k v), u and v of eight inputs each
housing    California Housing, all rows;  airfoil  Airfoil Self-Noise

Of ``map_checks`` alone:

wing       weight of a light aircraft's wing (Forrester, Sobester and Keane, 2008),
           d = 10
circuit    voltage of a push-pull circuit without a transformer (Ben-Ari and Steinberg,
           2007), d = 6
determinant  of a matrix of 3 by 3 inputs: six products of three inputs each
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import expit, softmax

from xsquared.data import Dataset, load
from xsquared.data.dataset import Points, from_generator

#: Training points of a function; a quarter as many choose rates, 10,000 judge.
_POINTS = 2**15
#: Features of tables are confined to so many deviations, as a few rows lie a hundred
#: off.
_FARTHEST = 5.0
#: Least and largest values of the borehole's radii, transmissivities, heads, length,
#: conductivity.
_BOREHOLE = (
    (0.05, 0.15),
    (100.0, 50_000.0),
    (63_070.0, 115_600.0),
    (990.0, 1110.0),
    (63.1, 116.0),
    (700.0, 820.0),
    (1120.0, 1680.0),
    (9855.0, 12_045.0),
)
#: Of the wing: area, weight of fuel, aspect ratio, sweep in degrees, dynamic pressure,
#: taper, thickness to chord, load factor, gross weight, weight of paint an area.
_WING = (
    (150.0, 200.0),
    (220.0, 300.0),
    (6.0, 10.0),
    (-10.0, 10.0),
    (16.0, 45.0),
    (0.5, 1.0),
    (0.08, 0.18),
    (2.5, 6.0),
    (1700.0, 2500.0),
    (0.025, 0.08),
)
#: Of the circuit: five resistances, in kilohms, and the current gain.
_CIRCUIT = (
    (50.0, 150.0),
    (25.0, 70.0),
    (0.5, 3.0),
    (1.2, 2.5),
    (0.25, 1.2),
    (50.0, 300.0),
)


@dataclass(frozen=True)
class MapTarget:
    """A target: its kind, its inputs and outputs, and its values at points x (N, d).

    Values are (N,) or (N, outputs); a table, which is loaded, has no function.
    """

    kind: str
    inputs: int
    values: Callable[[np.ndarray, np.random.Generator], np.ndarray] | None = None
    outputs: int = 1


def _directions(draw: np.random.Generator, count: int, dim: int) -> np.ndarray:
    directions = draw.normal(size=(count, dim))
    return directions / np.linalg.norm(directions, axis=1, keepdims=True)


def _ridges2(x: np.ndarray, draw: np.random.Generator) -> np.ndarray:
    return (1 / (1 + 9 * (x @ _directions(draw, 3, 2).T) ** 2)).sum(axis=1)


def _ridges16(x: np.ndarray, draw: np.random.Generator) -> np.ndarray:
    z = x @ _directions(draw, 8, 16).T
    phases = draw.uniform(0, 2 * np.pi, 8)
    return (np.sin(3 * z + phases) + 1 / (1 + 9 * z**2)).sum(axis=1)


def _in_box(x: np.ndarray, box: Sequence[tuple[float, float]]) -> np.ndarray:
    """Map points (N, d) of the cube to a box, as columns (d, N)."""
    low, high = np.transpose(box)
    columns: np.ndarray = (low + (high - low) * (x + 1) / 2).T
    return columns


def _borehole(x: np.ndarray, _: np.random.Generator) -> np.ndarray:
    radius, reach, upper, upper_head, lower, lower_head, length, conductivity = _in_box(
        x, _BOREHOLE
    )
    logarithm = np.log(reach / radius)
    leak = 2 * length * upper / (logarithm * radius**2 * conductivity)
    flow = 2 * np.pi * upper * (upper_head - lower_head)
    return flow / (logarithm * (1 + leak + upper / lower))


def _robot(x: np.ndarray, _: np.random.Generator) -> np.ndarray:
    angles = np.cumsum(np.pi * (x[:, :4] + 1) / 2, axis=1)
    lengths = (x[:, 4:] + 1) / 2
    return np.hypot(
        (lengths * np.cos(angles)).sum(axis=1), (lengths * np.sin(angles)).sum(axis=1)
    )


def _friedman(x: np.ndarray, _: np.random.Generator) -> np.ndarray:
    q = (x + 1) / 2
    curved = 10 * np.sin(np.pi * q[:, 0] * q[:, 1]) + 20 * (q[:, 2] - 0.5) ** 2
    return curved + 10 * q[:, 3] + 5 * q[:, 4]


def _products(x: np.ndarray, _: np.random.Generator) -> np.ndarray:
    return (x[:, ::2] * x[:, 1::2]).sum(axis=1)


def _mixtures(x: np.ndarray, draw: np.random.Generator) -> np.ndarray:
    return (x[:, ::2] * x[:, 1::2]) @ _directions(draw, 16, 8).T


def _functions(x: np.ndarray, draw: np.random.Generator) -> np.ndarray:
    gates = _directions(draw, 3, 16)
    waves = _directions(draw, 3, 16)
    return (expit(4 * x @ gates.T) * np.sin(3 * x @ waves.T)).sum(axis=1)


def _streams(x: np.ndarray, draw: np.random.Generator) -> np.ndarray:
    gates = _directions(draw, 4, 8)
    waves = _directions(draw, 4, 8)
    shares = softmax(4 * x[:, :8] @ gates.T, axis=1)
    return (shares * np.sin(3 * x[:, 8:] @ waves.T)).sum(axis=1)


def _wing(x: np.ndarray, _: np.random.Generator) -> np.ndarray:
    area, fuel, aspect, sweep, pressure, taper, chord, load, gross, paint = _in_box(
        x, _WING
    )
    cosine = np.cos(np.radians(sweep))
    shape = (aspect / cosine**2) ** 0.6 * taper**0.04
    thickness = (100 * chord / cosine) ** -0.3
    loads = fuel**0.0035 * pressure**0.006 * (load * gross) ** 0.49
    return 0.036 * area**0.758 * shape * thickness * loads + area * paint


def _circuit(x: np.ndarray, _: np.random.Generator) -> np.ndarray:
    base1, base2, feedback, collector1, collector2, gain = _in_box(x, _CIRCUIT)
    base = 12 * base2 / (base1 + base2)
    load = gain * (collector2 + 9)
    amplified = (base + 0.74) * load + 11.35 * feedback
    return (amplified + 0.74 * feedback * load / collector1) / (load + feedback)


def _determinant(x: np.ndarray, _: np.random.Generator) -> np.ndarray:
    return np.linalg.det(x.reshape(-1, 3, 3))


#: Every target by name; the first of a kind stands for it where not all are trained.
TARGETS: Mapping[str, MapTarget] = {
    "ridges16": MapTarget("ridges", 16, _ridges16),
    "borehole": MapTarget("engineering", 8, _borehole),
    "robot": MapTarget("engineering", 8, _robot),
    "friedman": MapTarget("products of inputs", 10, _friedman),
    "products": MapTarget("products of inputs", 16, _products),
    "mixtures": MapTarget("products of inputs", 16, _mixtures, 16),
    "functions": MapTarget("products of functions", 16, _functions),
    "streams": MapTarget("products of functions", 16, _streams),
    "housing": MapTarget("tables", 8),
    "airfoil": MapTarget("tables", 5),
    "ridges2": MapTarget("ridges", 2, _ridges2),
}
#: Targets that the map does not have, of its checks.
CHECK_TARGETS: Mapping[str, MapTarget] = {
    "wing": MapTarget("engineering", 10, _wing),
    "circuit": MapTarget("engineering", 6, _circuit),
    "determinant": MapTarget("products of inputs", 9, _determinant),
}


def find_target(name: str) -> MapTarget:
    """Look up a target of the map or of its checks."""
    return {**TARGETS, **CHECK_TARGETS}[name]


def _first_of_each_kind() -> tuple[str, ...]:
    """Name the first target of each kind, in the order that the kinds end in."""
    by_kind = {}
    for name, target in reversed([*TARGETS.items()]):
        by_kind[target.kind] = name  # an earlier name takes a later one's place
    return tuple(reversed([*by_kind.values()]))


#: One target a kind.
FIRST = _first_of_each_kind()


def draw_points(name: str, seed: int) -> Dataset:
    """Draw a target's points, or split a table; values are (N, outputs)."""
    target = find_target(name)
    values = target.values
    if values is None:
        table = load(name, seed)
        parts = [table.train, table.validation, table.test]
        train, validation, test = (
            Points(np.clip(part.x, -_FARTHEST, _FARTHEST), part.y[:, None])
            for part in parts
        )
        return replace(table, train=train, validation=validation, test=test)

    def generate(count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
        x = np.random.default_rng(seed).uniform(-1, 1, (count, target.inputs))
        return x, values(x, np.random.default_rng((seed, 1))).reshape(count, -1)

    return from_generator(generate, seed, points=_POINTS)
