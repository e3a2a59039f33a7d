"""Problems and their splits: values by other routes, and sizes."""

from collections.abc import Callable

import numpy as np
import pytest
from sklearn.preprocessing import StandardScaler

from tests.data import raw
from xsquared.data.dataset import Split
from xsquared.data.problems import PROBLEMS, load

PLANAR = {
    "sine": lambda x, y: np.sin(4 * x) * np.sin(4 * y),
    "cosine": lambda x, y: np.cos(4 * x) * np.cos(4 * y),
    "sine_bowl": lambda x, y: np.sin(4 * x) * np.sin(4 * y) * (x**2 + y**2),
    "witch": lambda x, y: 1 / (1 + x**2 + y**2),
    "runge": lambda x, y: 1 / (1 + 9 * x**2 + 9 * y**2),
    "arctan": lambda x, y: np.arctan(x) + np.arctan(y),
    "squares": lambda x, y: x**2 + y**2,
    "cubes": lambda x, y: x**3 + y**3,
}
FRIEDMAN: dict[str, Callable] = {
    "friedman1": lambda a, b, c, d, e: (
        10 * np.sin(np.pi * a * b) + 20 * (c - 0.5) ** 2 + 10 * d + 5 * e
    ),
    "friedman2": lambda a, b, c, d: np.sqrt(a**2 + (b * c - 1 / (b * d)) ** 2),
    "friedman3": lambda a, b, c, d: np.arctan((b * c - 1 / (b * d)) / a),
}
FRIEDMAN["friedman1_10"] = lambda *x: FRIEDMAN["friedman1"](
    *x[:5]
)  # five without effect
SYNTHETIC = PLANAR | FRIEDMAN


def test_every_problem_is_known_and_table_1_is_covered() -> None:
    kinds = {name: problem.kind for name, problem in PROBLEMS.items()}
    assert set(SYNTHETIC) == {name for name, kind in kinds.items() if kind != "table"}
    dims = {
        name: PROBLEMS[name].dim
        for name in ("sine", "friedman1", "friedman2", "friedman3")
    }
    assert dims == {"sine": 2, "friedman1": 5, "friedman2": 4, "friedman3": 4}
    assert (PROBLEMS["airfoil"].dim, PROBLEMS["housing"].dim) == (5, 8)


@pytest.mark.parametrize("name", SYNTHETIC)
@pytest.mark.parametrize("split", ["paper", "held-out"])
def test_synthetic_targets_are_the_formulas(name: str, split: Split) -> None:
    data = load(name, seed=3, split=split, points=200)
    assert data.dim == PROBLEMS[name].dim
    for part in ("train", "validation", "test"):
        x, y = raw(data, part)
        np.testing.assert_allclose(y, SYNTHETIC[name](*x.T), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("name", [*SYNTHETIC, "airfoil", "housing"])
def test_standardised_by_the_training_points_alone(name: str) -> None:
    data = load(name, seed=1, points=400)
    x, y = raw(data, "train")
    expected = StandardScaler().fit_transform(x)
    np.testing.assert_allclose(data.train.x, expected, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(
        [data.train.y.mean(), data.train.y.std()], [0, 1], atol=1e-12
    )
    np.testing.assert_allclose(data.standardise(x), data.train.x, rtol=1e-9, atol=1e-9)
    assert abs(data.test.x.mean()) > 1e-6
    assert y.std() == pytest.approx(data.target_scale)


@pytest.mark.parametrize(
    ("name", "sizes"),
    [
        ("sine", (2000, 500, 10_000)),
        ("friedman2", (2000, 500, 10_000)),
        ("airfoil", (962, 240, 301)),
        ("housing", (13_210, 3302, 4128)),
    ],
)
def test_held_out_parts_have_their_sizes(
    name: str, sizes: tuple[int, int, int]
) -> None:
    data = load(name)
    assert (len(data.train), len(data.validation), len(data.test)) == sizes


def test_the_papers_split_takes_the_first_rows_of_a_table() -> None:
    x, y = raw(load("housing", seed=5, split="paper"), "train")
    # The first block group of the file: Berkeley's hills.
    first = [8.3252, 41, 880 / 126, 129 / 126, 322, 322 / 126, 37.88, -122.23]
    np.testing.assert_allclose(x[0], first, rtol=1e-9)
    assert y[0] == pytest.approx(4.526)
    # A few counties of the north, not the state, which reaches down to 32.54.
    assert x[:, 6].min() > 36.5


@pytest.mark.parametrize("name", ["sine", "friedman3"])
def test_both_splits_train_on_the_same_synthetic_points(name: str) -> None:
    ours, papers = load(name, 4, "held-out", 300), load(name, 4, "paper", 300)
    np.testing.assert_array_equal(ours.train.x, papers.train.x)
    np.testing.assert_array_equal(ours.train.y, papers.train.y)


def test_only_planar_problems_have_a_target() -> None:
    made = PROBLEMS["runge"].target
    assert made(np.array(0.5), np.array(0.0)) == pytest.approx(1 / 3.25)
    assert load("runge", points=10).target == made
    assert load("airfoil").target is None
