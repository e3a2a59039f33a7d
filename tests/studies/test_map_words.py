"""What has rows and what was foreseen follows from rows that are made up."""

import pandas as pd

from tests.studies.map_rows import made_rows, random_rows
from xsquared.studies.map import MAP
from xsquared.studies.map_effects import triple_steps
from xsquared.studies.map_words import (
    PREDICTED,
    count_predictions,
    foreseen_steps,
    judge_claim,
    parts_in_words,
    predicted_effects,
    trained_parts,
)


def test_parts_add_up_to_the_study() -> None:
    rows = random_rows()
    parts = trained_parts(rows)
    assert parts["trials"].sum() == len(MAP.trials()) - len(MAP.sample())
    assert parts["trained"].sum() == rows["key"].nunique()
    assert (trained_parts(rows.head(0))["trained"] == 0).all()


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
    assert missing == (
        "Muon, AdamW with the last layer solved and 25,000 parameters in blocks"
    )
    scope, missing = parts_in_words(parts.assign(trained=1))
    assert scope.endswith("25,000 in 2 residual blocks, by AdamW, SOAP and Muon")
    assert missing == "AdamW with the last layer solved"


def test_predictions_that_have_rows_are_counted_by_step() -> None:
    counts = count_predictions(predicted_effects(triple_steps(made_rows(2.0, 0.5))))
    assert counts["made"].sum() == 4 * len(PREDICTED)
    relu = counts.loc["relu"]
    assert relu.loc["curvature"].tolist()[1:] == [1, 1, 0]
    assert relu.loc["direction"].tolist()[1:] == [1, 0, 1]
    assert counts.loc["smooth", ["counted", "held", "opposite"]].to_numpy().sum() == 0


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


def test_the_step_that_was_foreseen_least_is_named_first() -> None:
    counts = pd.DataFrame(
        {
            "gate": ["relu", "relu", "smooth", "smooth"],
            "step": ["curvature", "direction"] * 2,
            "counted": 4,
            "held": [3, 4, 2, 1],
        }
    ).set_index(["gate", "step"])
    assert foreseen_steps(counts) == [
        "direction beside smooth gates",
        "curvature beside smooth gates",
        "curvature beside the ReLU",
        "direction beside the ReLU",
    ]


def test_a_claim_is_judged_by_what_is_called_an_effect() -> None:
    assert [judge_claim(gain) for gain in (1.2, 1.0, 0.8)] == [
        "agree in kind",
        "not seen",
        "conflict",
    ]
