"""Steps of triples follow from rows that are made up: other rows, other words."""

import itertools

import numpy as np
import pandas as pd
import pytest

from xsquared.studies.map import MAP, TRIPLES
from xsquared.studies.map_effects import (
    CHANGES,
    cell_effects,
    count_predictions,
    decay_gains,
    gains,
    in_words,
    parts_in_words,
    predicted_effects,
    trained_parts,
    triple_steps,
    typical_gains,
)
from xsquared.studies.map_predictions import PREDICTED
from xsquared.studies.map_targets import TARGETS
from xsquared.studies.sweep import trial_key
from xsquared.units import find_unit


def made_rows(curvature: float, direction: float, scatter: float = 0.0) -> pd.DataFrame:
    """Errors of ReLU's triple on two targets, with steps that gain so much."""
    errors = dict(
        zip(
            TRIPLES["relu"],
            (1.0, 1 / curvature, 1 / curvature / direction),
            strict=True,
        )
    )
    return pd.DataFrame(
        {
            "problem": problem,
            "unit": unit,
            "gate": find_unit(unit).activation,
            "protocol": "soap",
            "size": size,
            "blocks": 0,
            "steps": 4000,
            "seed": seed,
            "test_rmse": error * (1 + scatter * (seed - 1))
            if unit == "pair"
            else error,
        }
        for problem, size, seed in itertools.product(
            ("products", "friedman"), (1000, 4000), range(3)
        )
        for unit, error in errors.items()
    )


def test_a_cell_has_the_gain_of_its_rows_and_the_sign_of_all_its_seeds() -> None:
    cells = cell_effects(triple_steps(made_rows(2.0, 0.5))).reset_index()
    assert len(cells) == 8
    signs = cells.groupby("step")[["gain", "sign"]].agg(["min", "max"])
    assert signs.loc["curvature"].tolist() == pytest.approx([2.0, 2.0, "+", "+"])
    assert signs.loc["direction"].tolist() == pytest.approx([0.5, 0.5, "-", "-"])
    one_seed_back = cell_effects(triple_steps(made_rows(1.2, 1.0, 0.3)))
    assert set(one_seed_back["sign"]) == {"0"}


def test_predictions_are_counted_by_what_rows_there_are() -> None:
    found = predicted_effects(triple_steps(made_rows(2.0, 0.5)))
    assert len(found) == 4 * len(PREDICTED)
    known = found.dropna(subset="sign").set_index("step")
    assert set(known["kind"]) == {"products of inputs"}
    assert known["targets"].tolist() == [2, 2]
    assert known["held"].to_dict() == {"curvature": True, "direction": False}


def test_all_triples_are_trained_in_every_case_that_is_predicted() -> None:
    trials = pd.DataFrame(MAP.trials()).assign(test_rmse=1.0)
    found = predicted_effects(triple_steps(trials))
    assert (found["targets"] >= 2).all()


@pytest.fixture(scope="module")
def random_rows() -> pd.DataFrame:
    """A row a trial and seed on three targets, random errors, some trials left out."""
    rng = np.random.default_rng(0)
    trials = [
        {**trial, "seed": seed, "key": trial_key(trial)}
        for trial in MAP.trials()
        if trial["problem"] in ("friedman", "ridges16", "housing")
        for seed in range(2)
    ]
    rows = pd.DataFrame(trials).assign(test_rmse=rng.lognormal(size=len(trials)))
    return rows[rng.random(len(rows)) < 0.9].sample(frac=1, random_state=0)


@pytest.mark.parametrize("change", CHANGES)
def test_a_gain_compares_two_networks_that_differ_in_one_thing(
    change: str, random_rows: pd.DataFrame
) -> None:
    """Against all pairs of rows, one by one."""
    column, pairs = CHANGES[change]
    rows = random_rows.assign(unit=random_rows["unit"] + ":" + random_rows["gate"])
    names = ["problem", "unit", "protocol", "size", "blocks", "steps", "seed"]
    errors = {
        tuple(row[:-1]): row[-1] for row in rows[[*names, "test_rmse"]].to_numpy()
    }
    at = names.index(column)
    expected = []
    for network, error in errors.items():
        if network[5] != 4000:
            continue
        for before, after in pairs:
            changed = (*network[:at], after, *network[at + 1 :])
            if network[at] == before and changed in errors:
                expected.append(np.log(error / errors[changed]))
    found = gains(random_rows, change)
    assert sorted(found["log"]) == pytest.approx(sorted(expected))
    assert all(TARGETS[row.problem].kind == row.kind for row in found.itertuples())


def test_gains_leave_out_what_diverged_and_may_be_none() -> None:
    rows = made_rows(2.0, 0.5)
    rows.loc[(rows["unit"] == "pair") & (rows["seed"] == 1), "test_rmse"] = np.inf
    assert set(gains(rows, "curvature, ReLU")["seed"]) == {0, 2}
    assert gains(rows, "SOAP for AdamW").empty
    assert typical_gains(gains(rows, "SOAP for AdamW")).empty


def test_a_typical_gain_counts_each_target_once(random_rows: pd.DataFrame) -> None:
    found = gains(random_rows, "SOAP for AdamW")
    logs = [part["log"].mean() for _, part in found.groupby("problem")]
    row = typical_gains(found).loc["SOAP for AdamW"]
    assert np.log(row["gain"]) == pytest.approx(np.median(logs))
    assert row["targets"] == 3
    assert row["pays"] == sum(np.exp(log) >= 1.1 for log in logs)
    assert row["costs"] == sum(np.exp(-log) >= 1.1 for log in logs)
    assert np.isnan([row["low"], row["high"], row["coverage"]]).all()


@pytest.mark.parametrize("count", [5, 10, 11])
def test_an_interval_holds_the_median_as_often_as_it_says(count: int) -> None:
    """Targets are drawn anew, again and again, from a distribution of median one."""
    rng = np.random.default_rng(count)
    held, said = [], set()
    for _ in range(400):
        drawn = pd.DataFrame({"log": rng.laplace(size=count)})
        drawn = drawn.assign(change="any", kind="any", problem=range(count))
        row = typical_gains(drawn).loc["any"]
        held.append(row["low"] <= 1 <= row["high"])
        said.add(row["coverage"])
    (coverage,) = said
    assert 0.9 <= coverage < 0.99
    assert np.mean(held) == pytest.approx(coverage, abs=0.045)


def test_words_begin_at_a_tenth() -> None:
    assert [in_words(gain) for gain in (1.11, 1.09, 0.92, 0.9)] == [
        "pays",
        "changes little",
        "changes little",
        "costs",
    ]


def test_decay_is_taken_on_the_maps_kinds_of_targets_alone() -> None:
    rows = pd.DataFrame(
        {
            "problem": problem,
            "unit": "mlp",
            "gate": "relu",
            "seed": 0,
            "size": size,
            "protocol": protocol,
            "test_rmse": error,
        }
        for problem in ("smooth, 2 inputs", "smooth, 1 input", "airfoil")
        for size in (120, 240)
        for protocol, error in (("adamw", 0.3), ("undecayed", 0.1))
    )
    found = decay_gains(rows)
    assert dict(zip(found["problem"], found["kind"], strict=True)) == {
        "airfoil": "tables",
        "smooth, 2 inputs": "ridges",
    }
    assert np.exp(found["log"]).tolist() == pytest.approx([3.0, 3.0])


def test_parts_add_up_to_the_study(random_rows: pd.DataFrame) -> None:
    parts = trained_parts(random_rows)
    assert parts["trials"].sum() == len(MAP.trials()) - len(MAP.sample())
    assert parts["trained"].sum() == random_rows["key"].nunique()
    assert (trained_parts(random_rows.head(0))["trained"] == 0).all()


def test_parts_are_named_by_what_has_rows() -> None:
    parts = pd.DataFrame(
        {
            "protocol": ["adamw", "adamw", "adamw", "soap", "muon"],
            "blocks": [0, 0, 2, 0, 2],
            "size": [240, 1000, 25_000, 1000, 25_000],
            "trained": [3, 9, 0, 1, 0],
        }
    ).set_index(["protocol", "blocks", "size"])
    scope, missing = parts_in_words(parts)
    assert scope == "240 and 1,000 in one hidden layer, by AdamW and SOAP"
    assert missing == "Muon, a solved readout and 25,000 parameters in blocks"
    scope, missing = parts_in_words(parts.assign(trained=1))
    assert scope.endswith("25,000 in 2 residual blocks, by AdamW, SOAP and Muon")
    assert missing == "a solved readout"


def test_predictions_that_have_rows_are_counted_by_step() -> None:
    counts = count_predictions(predicted_effects(triple_steps(made_rows(2.0, 0.5))))
    assert counts["made"].sum() == 4 * len(PREDICTED)
    relu = counts.loc["relu"]
    assert relu.loc["curvature"].tolist()[1:] == [1, 1, 0]
    assert relu.loc["direction"].tolist()[1:] == [1, 0, 1]
    assert counts.loc["smooth", ["counted", "held", "opposite"]].to_numpy().sum() == 0
