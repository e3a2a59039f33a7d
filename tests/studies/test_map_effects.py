"""Steps of triples follow from rows that are made up: other rows, other words."""

import itertools

import pandas as pd
import pytest

from xsquared.studies.map import MAP, TRIPLES
from xsquared.studies.map_effects import cell_effects, predicted_effects, triple_steps
from xsquared.studies.map_predictions import PREDICTED
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
