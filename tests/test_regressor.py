"""GatedRegressor keeps scikit-learn's rules, and is exact where it can be."""

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import train_test_split
from sklearn.utils import check_random_state
from sklearn.utils.estimator_checks import (
    estimator_checks_generator,
    parametrize_with_checks,
)

from xsquared import GatedRegressor
from xsquared.regressor import _Stage
from xsquared.units import build, set_parameters

#: Checks that scikit-learn 1.9 has for a regressor with weights; a tag could skip all
#: in silence.
CHECKS = 55
DRAWN = "rows of validation and starts are drawn, and repeated rows draw others"
NETWORK = GatedRegressor("glu", 2, ridge=1e-3, n_networks=1)
LINEAR = GatedRegressor(n_hidden=0, ridge=0.1)


def expected(estimator: GatedRegressor) -> dict[str, str]:
    drawn = ["check_sample_weight_equivalence_on_dense_data"]
    return {} if estimator.n_hidden == 0 else dict.fromkeys(drawn, DRAWN)


@parametrize_with_checks(  # type: ignore[untyped-decorator]
    [GatedRegressor(), NETWORK, LINEAR], expected_failed_checks=expected
)
def test_scikit_learn_checks(
    estimator: GatedRegressor, check: Callable[[GatedRegressor], None]
) -> None:
    check(estimator)


def test_scikit_learn_has_checks() -> None:
    names = [check.func.__name__ for _, check in estimator_checks_generator(LINEAR)]
    assert len(names) >= CHECKS
    assert "check_sample_weight_equivalence_on_dense_data" in names


@pytest.fixture
def draw() -> np.random.Generator:
    return np.random.default_rng(0)


def test_yes_and_no_are_values(draw: np.random.Generator) -> None:
    x = draw.normal(size=(40, 2))
    yes = x[:, 0] > 0
    expected = NETWORK.fit(x, yes.astype(float)).predict(x)
    assert_allclose(NETWORK.fit(x, yes).predict(x), expected, rtol=1e-12)


@pytest.mark.parametrize(
    ("unit", "n"), [("mlp", 1), ("glu", 1), ("gqu", 1), ("swiglu", 1)]
)
def test_a_function_that_the_unit_contains_is_recovered(
    unit: str, n: int, draw: np.random.Generator
) -> None:
    x = draw.uniform(-1, 3, (400, 2))
    z, u, q = x @ [1.0, -0.5] - 0.2, x[:, 0] + 2, x[:, 1] - 1.5
    relu, silu = np.maximum(z, 0), z / (1 + np.exp(-z))
    y = (
        3
        + {"mlp": relu, "glu": relu * u, "gqu": relu * u * q, "swiglu": silu * u}[unit]
    )
    model = GatedRegressor(unit, n, ridge=1e-12).fit(x[:300], y[:300])
    assert_allclose(model.predict(x[300:]), y[300:], atol=1e-4)


def test_linear_data_give_a_linear_model(draw: np.random.Generator) -> None:
    x = draw.standard_normal((300, 4))
    y = x @ [1, 2, 0, -1] + draw.standard_normal(300)
    model = GatedRegressor().fit(x, y)
    assert model.n_hidden_ == 0
    assert_allclose(model.predict(x), LinearRegression().fit(x, y).predict(x), atol=0.2)


def waves(frequency: float, draw: np.random.Generator) -> list[np.ndarray]:
    """400 points of a noisy sine, split: x to train and test on, then y."""
    x = draw.uniform(-1, 1, (400, 1))
    y = np.sin(frequency * x[:, 0]) + 0.1 * draw.normal(size=400)
    return [x[:300], x[300:], y[:300], y[300:]]


def test_a_wide_network_is_tried_where_few_neurons_learn_nothing(
    draw: np.random.Generator,
) -> None:
    x, x_test, y, y_test = waves(25, draw)
    for n in (1, 2, 4):
        few = GatedRegressor(n_hidden=n, n_networks=1).fit(x, y)
        assert few.score(x_test, y_test) < 0.2
    assert GatedRegressor(n_networks=1).fit(x, y).score(x_test, y_test) > 0.95


def test_what_units_reach_is_not_decided_by_the_search_for_a_width(
    draw: np.random.Generator,
) -> None:
    x, x_test, y, y_test = waves(5, draw)
    scores = [
        GatedRegressor(unit).fit(x, y).score(x_test, y_test)
        for unit in ("mlp", "glu", "swiglu")
    ]
    assert max(scores) - min(scores) < 0.05


def test_neurons_that_are_given_are_taken_and_the_penalty_is_chosen(
    draw: np.random.Generator,
) -> None:
    x, _, y, _ = waves(5, draw)
    model = GatedRegressor("mlp", 32, n_networks=1).fit(x, y)
    assert model.n_hidden_ == 32
    assert model.ridge_ < 1


def test_a_long_fit_says_where_it_is_and_a_short_one_nothing(
    draw: np.random.Generator,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    x, _, y, _ = waves(5, draw)
    NETWORK.fit(x, y)
    assert capsys.readouterr().err == ""
    # Seconds of a processor that takes six from one penalty to the next.
    seconds = iter(range(0, 600, 6))
    monkeypatch.setattr("time.thread_time", lambda: next(seconds))
    GatedRegressor("glu", 2, n_networks=1).fit(x, y)
    first, second, *_ = capsys.readouterr().err.splitlines()
    assert first == "GatedRegressor: 12 s, now 2 neurons, penalty 0.1"
    assert second == "GatedRegressor: 24 s, now 2 neurons, penalty 0.001"


def test_columns_without_effect_are_left_out(draw: np.random.Generator) -> None:
    x = draw.uniform(-1, 1, (600, 60))
    y = np.sin(3 * x[:, 0]) + x[:, 1] ** 2
    model = GatedRegressor(n_networks=1).fit(x[:500], y[:500])
    assert {0, 1} <= {*model.columns_}
    assert len(model.columns_) < 10
    assert model.score(x[500:], y[500:]) > 0.99


def test_weights_are_repeated_rows(draw: np.random.Generator) -> None:
    x = draw.uniform(-1, 1, (200, 1))
    y, counts = (
        np.abs(x[:, 0] - 0.2) + draw.normal(0, 0.1, 200),
        draw.integers(0, 4, 200),
    )
    weighted = GatedRegressor("mlp", 1, ridge=1e-6).fit(x, y, counts)
    repeated = GatedRegressor("mlp", 1, ridge=1e-6).fit(
        x.repeat(counts, 0), y.repeat(counts)
    )
    assert_allclose(weighted.predict(x), repeated.predict(x), atol=1e-3)


def weighted_ridge(
    x: np.ndarray, y: np.ndarray, w: np.ndarray, ridge: float
) -> np.ndarray:
    """Least squares of sqrt(w_i / sum w) (y_i - b_0 - x_i b) and sqrt(ridge) b."""
    root = np.sqrt(w / w.sum())[:, None]
    columns = np.column_stack([np.ones(len(x)), x])
    penalty = np.sqrt(ridge) * np.eye(columns.shape[1])[1:]
    rows = np.vstack([root * columns, penalty])
    values = np.append(root[:, 0] * y, np.zeros(x.shape[1]))
    return np.linalg.lstsq(rows, values, rcond=None)[0]


def test_a_line_minimises_the_weighted_mean_square_and_the_penalty(
    draw: np.random.Generator,
) -> None:
    x, w = draw.standard_normal((30, 3)), draw.uniform(1, 5, 30)
    y = x @ [1.0, 2.0, 0.0] + 2 * draw.standard_normal(30)
    model = GatedRegressor(n_hidden=0).fit(x, y, w)
    z = x - np.average(x, 0, w)
    z /= np.sqrt(np.cov(x.T, aweights=w, ddof=0).diagonal())
    level, spread = np.average(y, 0, w), np.sqrt(np.cov(y, aweights=w, ddof=0))
    first, *slopes = weighted_ridge(z, (y - level) / spread, w, model.ridge_)
    wanted = level + spread * (first + z @ slopes)
    room = 0.1 * np.ptp(y)
    wanted = np.clip(wanted, y.min() - room, y.max() + room)
    assert_allclose(model.predict(x), wanted, rtol=1e-9)
    # A fifth chooses the penalty: the weights of the rest have another sum, and what
    # the penalty is added to stays a mean.
    seed = np.random.default_rng(check_random_state(0).randint(2**31)).integers(2**31)
    rows = z, (y - level) / spread, w
    parts = train_test_split(*rows, test_size=0.2, random_state=int(seed))
    fitted, (held_x, held_y, held_w) = parts[::2], parts[1::2]
    fitted_x, fitted_y, fitted_w = fitted
    first, *slopes = weighted_ridge(fitted_x, fitted_y, fitted_w, model.ridge_)
    squares = (held_y - first - held_x @ slopes) ** 2
    assert model.ridge_ >= 1e-3  # so that a fifth of it is seen
    assert model.validation_error_ == pytest.approx(
        np.sqrt(np.average(squares, weights=held_w)), rel=1e-9
    )


def test_predictions_stay_in_the_widened_range(draw: np.random.Generator) -> None:
    x = draw.uniform(-1, 1, (200, 1))
    y = x[:, 0] ** 3
    model = GatedRegressor("gqu", 4, ridge=1e-6).fit(x, y)
    assert_allclose(
        model.predict([[-100], [100]]),
        [y.min() - 0.1 * np.ptp(y), y.max() + 0.1 * np.ptp(y)],
    )


def test_networks_see_features_up_to_five_deviations(draw: np.random.Generator) -> None:
    x = draw.uniform(-1, 1, (200, 2))
    y = np.abs(x[:, 0]) + 0.01 * x[:, 1]
    model = GatedRegressor("mlp", 4, ridge=1e-8, n_networks=1).fit(x, y)
    at = np.full((3, 2), 0.3)
    at[:, 1] = model.mean_[1] + model.scale_[1] * np.array([4, 5, 100])
    near, edge, far = model.predict(at)
    assert edge - near == pytest.approx(0.01 * model.scale_[1], rel=0.05)
    assert far == edge


def test_networks_half_as_good_again_as_the_best_are_averaged(
    draw: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A constant c misses standardised values by 1 + c^2 in the mean square.
    networks = [build("mlp", 2, 1) for _ in range(3)]
    for network, constant in zip(networks, (0.6, 0.0, 2.0), strict=True):
        set_parameters(network, D=np.zeros((1, 1)), d=np.array([constant]))
    stages = iter([(_Stage(0, 0), network)] for network in networks)
    monkeypatch.setattr(GatedRegressor, "_path", lambda *_: next(stages))
    x, y = draw.normal(size=(50, 2)), draw.normal(size=50)
    model = GatedRegressor("mlp", 1, ridge=0.1, n_networks=3).fit(x, y)
    assert model.models_ == networks[:2]
    assert_allclose(model.predict(x), y.mean() + 0.3 * y.std())


def test_frames_with_dummies(draw: np.random.Generator) -> None:
    frame = pd.DataFrame(
        {"size": draw.uniform(0, 1, 300), "kind": draw.choice([*"abc"], 300)}
    )
    y = frame["size"] ** 2 * (1 + (frame["kind"] == "b"))
    model = GatedRegressor().fit(pd.get_dummies(frame), y)
    assert [*model.feature_names_in_] == ["size", "kind_a", "kind_b", "kind_c"]
    assert model.score(pd.get_dummies(frame), y) > 0.99
