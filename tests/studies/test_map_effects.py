"""Steps of triples follow from rows that are made up: other rows, other words."""

import numpy as np
import pandas as pd
import pytest

from tests.studies.map_rows import made_rows, random_rows
from xsquared.studies.map_effects import (
    CHANGES,
    SUMS,
    all_gains,
    cell_effects,
    decay_gains,
    gains,
    in_words,
    layer_directions,
    layer_factors,
    square_over_glu,
    triple_steps,
    typical_gains,
)
from xsquared.studies.map_targets import TARGETS


def test_a_cell_has_the_gain_of_its_rows_and_the_sign_of_all_its_seeds() -> None:
    cells = cell_effects(triple_steps(made_rows(2.0, 0.5))).reset_index()
    assert len(cells) == 8
    signs = cells.groupby("step")[["gain", "sign"]].agg(["min", "max"])
    assert signs.loc["curvature"].tolist() == pytest.approx([2.0, 2.0, "+", "+"])
    assert signs.loc["direction"].tolist() == pytest.approx([0.5, 0.5, "-", "-"])
    one_seed_back = cell_effects(triple_steps(made_rows(1.2, 1.0, 0.3)))
    assert set(one_seed_back["sign"]) == {"0"}


@pytest.fixture(scope="module", name="random_rows")
def drawn_rows() -> pd.DataFrame:
    """The same for all tests."""
    return random_rows()


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
        if column != "steps" and network[5] != 4000:
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


def test_factors_in_layers_are_parted_by_target(random_rows: pd.DataFrame) -> None:
    """Against means over the rows themselves; with small and deep networks left out."""
    rows = random_rows.replace({"problem": {"housing": "products"}})
    sums, others = layer_factors(rows)
    assert {name for name, *_ in sums.index} == {"products"} < set(SUMS)
    assert set(others.index) == {"friedman", "ridges16"}
    layers = rows[(rows["blocks"] == 0) & (rows["size"] >= 1000)]
    by_case = gains(layers, "factor, smooth").query("problem == 'products'")
    soap = by_case[by_case["protocol"] == "soap"]["log"].mean()
    assert np.log(sums["products", "factor, smooth", "soap"]) == pytest.approx(soap)
    gates = [gains(layers, f"factor, {gate}") for gate in ("ReLU", "smooth")]
    logs = [part[part["problem"] == "friedman"]["log"].mean() for part in gates]
    assert np.log(others["friedman"]) == pytest.approx(np.mean(logs))


def test_directions_in_layers_are_those_beside_a_square(
    random_rows: pd.DataFrame,
) -> None:
    rows = random_rows.replace({"problem": {"housing": "products"}})
    found = layer_directions(rows)
    there = rows.query("problem == 'products' and protocol == 'soap' and blocks == 0")
    there = there.query("size >= 1000 and steps == 4000 and gate == 'relu'")
    pairs = there.pivot_table("test_rmse", ["size", "seed"], "unit")
    expected = np.log(pairs["pair"] / pairs["glu"]).mean()
    assert np.log(found["products", "soap"]) == pytest.approx(expected)


def test_all_sums_may_have_no_rows_yet() -> None:
    rows = made_rows(2.0, 0.5).query("problem == 'friedman'")
    sums, others = layer_factors(rows)
    assert sums.empty
    assert others.to_dict() == pytest.approx({"friedman": 1.0})


def test_the_squared_relu_is_set_against_glu_in_one_layer(
    random_rows: pd.DataFrame,
) -> None:
    table = square_over_glu(random_rows, "soap")
    assert list(table.index) == list(TARGETS)
    assert table.notna().any(axis=1).sum() == 3
    there = random_rows[random_rows["problem"] == "friedman"]
    there = there.query("protocol == 'soap' and blocks == 0 and steps == 4000")
    pairs = there.pivot_table("test_rmse", ["size", "seed"], "unit").dropna(
        subset=["glu", "relu2_mlp"]
    )
    expected = np.log(pairs["glu"] / pairs["relu2_mlp"]).groupby("size").mean()
    found = np.log(table.loc["friedman", expected.index])
    assert found.to_list() == pytest.approx(expected.to_list())


def test_every_change_has_its_gains(random_rows: pd.DataFrame) -> None:
    found = all_gains(random_rows)
    assert set(found["change"]) == set(CHANGES)
    assert len(found) == sum(len(gains(random_rows, change)) for change in CHANGES)
