"""Students of a layer: sizes, tuning, teachers that are random, and rows."""

from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import Tensor

from tests.studies.layer_pairs import D, learnt, normal, teacher
from xsquared.units import GatedNetwork, build
from xsquared_studies import distilled
from xsquared_studies.declared import STUDIES
from xsquared_studies.distilled import (
    _WEIGHTS,
    PARTS,
    distilled_trials,
    large_trials,
    neurons,
    run_distilled,
    synthetic,
)
from xsquared_studies.language_models import missing, model
from xsquared_studies.pairs import Features, Pairs, error, reduced, solved
from xsquared_studies.small_models import LANGUAGE_UNITS
from xsquared_studies.students import Course, trained
from xsquared_studies.trial import Trial

UNITS = [unit for unit, _ in LANGUAGE_UNITS]


@pytest.mark.parametrize("name", _WEIGHTS)
@pytest.mark.parametrize("part", PARTS)
def test_students_have_equal_weights_at_a_size(name: str, part: int) -> None:
    d, weights = _WEIGHTS[name]
    for unit in UNITS:
        network = build(unit, d, neurons(unit, name, part), d)
        own = sum(w.numel() for w in network.parameters()) - d
        each = own / neurons(unit, name, part)
        assert abs(own - weights / part) <= each / 2


def test_synthetic_pairs_have_the_covariances_and_another_function() -> None:
    x = {
        part: 2 + normal(9000, D, seed=4) @ (torch.eye(D) + 0.3 * normal(D, D, seed=3))
        for part in ("train", "test")
    }
    gate = torch.nn.functional.silu
    y = {part: teacher()(of, gate) for part, of in x.items()}
    made = synthetic(teacher(), gate, x, y)
    for real, other, within in ((x, made[0], 0.1), (y, made[1], 1e-3)):
        covariances = torch.cov(real["train"].T), torch.cov(other["train"].T)
        assert (covariances[0] - covariances[1]).norm() < within * covariances[0].norm()
    assert made[0]["train"].mean(0).numpy() == pytest.approx(x["train"].mean(0).numpy(), abs=0.2)
    correlation = np.corrcoef(y["test"][:, 0], made[1]["test"][:, 0])[0, 1]
    assert abs(correlation) < 0.5


@pytest.fixture
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(distilled, "pairs", lambda *_: learnt())
    monkeypatch.setattr(distilled, "_WEIGHTS", {"minilm": (D, 5000), "smollm2": (D, 5000)})
    monkeypatch.setattr(distilled, "_STEPS", 160)


@pytest.mark.usefixtures("_small")
@pytest.mark.parametrize(
    ("trials", "steps"), [(distilled_trials, 40), (large_trials, 320)], ids=["small", "large"]
)
def test_a_trial_tunes_then_judges_each_seed_on_the_held_out_play(
    trials: Callable[[], tuple[Trial, ...]], steps: int
) -> None:
    """Of 160 steps at 1/8 a quarter at 1/128; large students take twice as many."""
    trial = next(t for t in trials() if t.solver == "adam" and t.unit == "glu")
    row, of = run_distilled(trial), learnt()
    rate = float(row["rate"])
    _, student, half = trained(
        of,
        "glu",
        trial.n_hidden,
        [Course(0, rate, steps), Course(1, rate, steps), Course(0, rate, steps // 2)],
    )
    skip, readout = solved(of, student.hidden)
    for part in ("test", "train"):
        left = error(of, part, skip, student.hidden, readout)
        assert row[f"{part}_rmse[seed=1]"] == pytest.approx(left, rel=1e-5)
    assert row["half_rmse"] == pytest.approx(error(of, "test", *_with(of, half)), rel=1e-5)
    assert row["linear_rmse"] == error(of, "test", of.skip.float())
    assert row["parameters"] == trial.n_hidden * (3 * D + 2) + D * D + D
    assert len({row[f"test_rmse[seed={k}]"] for k in range(3)}) == 3


def _with(of: Pairs, student: GatedNetwork) -> tuple[Tensor, Features, Tensor]:
    skip, readout = solved(of, student.hidden)
    return skip, student.hidden, readout


@pytest.mark.usefixtures("_small")
def test_closed_forms_have_their_parameters_and_errors() -> None:
    rank, pairs = (
        next(t for t in distilled_trials() if t.solver == solver)
        for solver in ("reduced-rank", "products")
    )
    of = learnt()
    row = run_distilled(rank)
    assert row["test_rmse"] == error(of, "test", reduced(of, round(5000 / 128 / (2 * D))))
    assert row["parameters"] == 2 * D * round(5000 / 128 / (2 * D)) + D
    row = run_distilled(pairs)
    assert row["parameters"] == D * (D + 1) + D * 6  # products of three components
    assert float(row["test_rmse"]) < float(row["linear_rmse"])


@pytest.mark.usefixtures("_small")
def test_a_student_that_went_astray_is_said_to(monkeypatch: pytest.MonkeyPatch) -> None:
    def lost(_: Pairs, unit: str, n: int, courses: list[Course]) -> list[GatedNetwork]:
        network = build(unit, D, n, D).float()
        with torch.no_grad():
            network.G.fill_(torch.nan)
        return [network for _ in courses]

    monkeypatch.setattr(distilled, "trained", lost)
    trial = next(t for t in distilled_trials() if t.solver == "adam")
    assert run_distilled(trial)["status"] == "diverged"


def test_the_study_has_every_unit_at_every_size_of_every_layer() -> None:
    for study, count in (("distilled", (6 * 5 + 3) * 8), ("large_students", (6 * 4 + 2 * 2) * 7)):
        asked = [(t.protocol, *t.settings, t.unit, t.solver) for t in STUDIES[study].trials]
        assert len(asked) == len(set(asked)) == count


@pytest.mark.skipif(bool(missing()), reason=missing())
def test_weights_are_counted_as_the_models_have_them() -> None:
    for name, (d, weights) in _WEIGHTS.items():
        feed = model(name).feed[0]
        matrices = (feed.W, feed.D, feed.V)
        assert weights == sum(one.numel() for one in matrices if one is not None)
        assert model(name).d == d
