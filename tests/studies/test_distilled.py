"""Students of a layer: solved against a dense solver, learnt, bounded from below, and tuned."""

import numpy as np
import pytest
import torch
from torch import Tensor

from xsquared.units import GatedNetwork, build
from xsquared_studies import distilled
from xsquared_studies.declared import STUDIES
from xsquared_studies.distilled import (
    _WEIGHTS,
    PARTS,
    Course,
    Features,
    Pairs,
    distilled_trials,
    error,
    neurons,
    pairs_of,
    products,
    reduced,
    run_distilled,
    solved,
    synthetic,
    trained,
    unreachable,
)
from xsquared_studies.language_models import FeedForward, missing, model
from xsquared_studies.small_models import LANGUAGE_UNITS

UNITS = [unit for unit, _ in LANGUAGE_UNITS]
D = 6


def normal(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def teacher() -> FeedForward:
    return FeedForward(normal(40, D), normal(D, 40, seed=1), normal(40, D, seed=2))


def learnt(made: FeedForward | None = None, gate: str = "silu") -> Pairs:
    """Pairs of a small layer, on inputs that are correlated and not centred."""
    feed, turn = made or teacher(), torch.eye(D) + 0.3 * normal(D, D, seed=3)
    x = {
        part: 2 + normal(count, D, seed=4 + k) @ turn
        for k, (part, count) in enumerate((("train", 9000), ("valid", 900), ("test", 900)))
    }
    take = getattr(torch.nn.functional, gate)
    return pairs_of(x, {part: feed(of, take) for part, of in x.items()})


def test_solving_gives_what_a_dense_solver_gives() -> None:
    of = learnt()
    network = build("glu", D, 9, D, generator=torch.Generator().manual_seed(0)).float()
    skip, readout = solved(of, network.hidden)
    x = of.x["train"]
    dense = torch.cat([x, torch.ones(len(x), 1), network.hidden(x).detach()], dim=1).double()
    wanted = torch.linalg.lstsq(dense, of.y["train"].double()).solution
    left = [
        float((of.y["train"] - dense.float() @ w.float()).square().sum())
        for w in (torch.cat([skip, readout]), wanted)
    ]
    assert left[0] == pytest.approx(left[1], rel=1e-5)
    share = (left[1] / float((of.y["train"] - of.y["train"].mean(0)).square().sum())) ** 0.5
    assert error(of, "train", skip, network.hidden, readout) == pytest.approx(share, rel=1e-5)
    # The map alone is linear regression.
    alone = torch.linalg.lstsq(dense[:, : D + 1], of.y["train"].double()).solution
    assert of.skip.numpy() == pytest.approx(alone.numpy(), abs=1e-4)


def test_gates_that_never_open_do_no_harm() -> None:
    of = learnt()
    skip, readout = solved(of, lambda x: torch.zeros(len(x), 3))
    assert error(of, "test", skip) == error(of, "test", skip, lambda x: x[:, :3] * 0, readout)
    assert error(of, "test", skip) == pytest.approx(error(of, "test", of.skip.float()))


def test_products_represent_a_bilinear_layer() -> None:
    feed = FeedForward(normal(9, D), normal(D, 9, seed=1), normal(9, D, seed=2))
    of = learnt(feed, gate="hardtanh")  # no product
    x = {part: values * 1e-3 for part, values in of.x.items()}  # hardtanh is the identity here
    of = pairs_of(
        x, {part: feed(values, torch.nn.functional.hardtanh) for part, values in x.items()}
    )
    features = products(of, D * (D + 1) // 2)
    skip, readout = solved(of, features)
    assert len(readout) == D * (D + 1) // 2
    assert error(of, "test", of.skip.float()) > 0.1
    assert error(of, "test", skip, features, readout) < 1e-3


def test_a_map_of_less_rank_is_the_best_of_its_rank() -> None:
    of = learnt()
    fitted = torch.nn.functional.pad(of.x["train"], (0, 1), value=1.0).double() @ of.skip
    wanted = torch.linalg.svd(fitted, full_matrices=False).S[2:].square().sum()
    skip = reduced(of, 2).double()
    assert torch.linalg.matrix_rank(skip, rtol=1e-4) == 2
    made = torch.nn.functional.pad(of.x["train"], (0, 1), value=1.0).double() @ skip
    assert float((fitted - made).square().sum()) == pytest.approx(float(wanted), rel=1e-3)
    assert reduced(of, D).numpy() == pytest.approx(of.skip.numpy(), abs=1e-4)


@pytest.mark.parametrize("n", [1, 3, 5])
def test_no_features_do_better_than_the_bound_and_the_best_ones_meet_it(n: int) -> None:
    of = learnt()
    here = pairs_of(dict.fromkeys(of.x, of.x["test"]), dict.fromkeys(of.y, of.y["test"]))
    bound = unreachable(here, "test", n)
    wide = torch.nn.functional.pad(here.x["test"], (0, 1), value=1.0)
    beside = here.y["test"] - wide @ here.skip.float()
    best = beside @ torch.linalg.svd(beside, full_matrices=False).Vh[:n].T

    def told(_: Tensor) -> Tensor:
        return best

    skip, readout = solved(here, told)
    assert error(here, "test", skip, told, readout) == pytest.approx(bound, rel=1e-3)
    for seed in range(5):
        features = build("swiglu", D, n, D, generator=torch.Generator().manual_seed(seed)).float()
        skip, readout = solved(here, features.hidden)
        assert error(here, "test", skip, features.hidden, readout) > bound
    assert unreachable(here, "test", D) == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize("unit", UNITS)
def test_students_learn_and_more_steps_teach_more(unit: str) -> None:
    of = learnt()
    left = []
    for steps in (1, 60, 600):
        (student,) = trained(of, unit, 12, [Course(0, 0.01, steps)])
        skip, readout = solved(of, student.hidden)
        left.append(error(of, "test", skip, student.hidden, readout))
    assert left[2] < 0.98 * left[1] or left[2] < 0.9 * left[0]
    assert left[2] < 0.9 * error(of, "test", of.skip.float())


def test_students_trained_at_once_are_those_trained_alone() -> None:
    of = learnt()
    courses = [Course(0, 0.01, 60), Course(1, 0.01, 60), Course(0, 0.02, 60), Course(0, 0.01, 30)]
    together = trained(of, "glu", 12, courses)
    for course, student in zip(courses, together, strict=True):
        (alone,) = trained(of, "glu", 12, [course])
        for name, weights in student.named_parameters():
            assert torch.allclose(weights, alone.get_parameter(name), atol=1e-5), (course, name)
    for k, student in enumerate(together[1:]):
        assert (student.G - together[0].G).abs().max() > 0.01, courses[k + 1]


def test_an_untrained_student_is_linear_regression() -> None:
    of = learnt()
    (student,) = trained(of, "mlp", 5, [Course(0, 0.01, 0)])
    assert not student.D.any()
    assert not student.d.any()
    assert student.G.any()


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
def test_a_trial_tunes_then_judges_each_seed_on_the_held_out_play() -> None:
    trial = next(t for t in distilled_trials() if t.solver == "adam" and t.unit == "glu")
    row, of = run_distilled(trial), learnt()
    steps = round(160 * (8 / 128) ** 0.5)
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
    asked = [(t.protocol, *t.settings, t.unit, t.solver) for t in STUDIES["distilled"].trials]
    assert len(asked) == len(set(asked)) == (6 * 5 + 3) * 8


@pytest.mark.skipif(bool(missing()), reason=missing())
def test_weights_are_counted_as_the_models_have_them() -> None:
    for name, (d, weights) in _WEIGHTS.items():
        feed = model(name).feed[0]
        matrices = (feed.W, feed.D, feed.V)
        assert weights == sum(one.numel() for one in matrices if one is not None)
        assert model(name).d == d
