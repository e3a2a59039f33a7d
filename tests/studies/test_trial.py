"""Trials and rows: identity, JSON, and what is refused."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.studies.trainers import result
from xsquared_studies import Result, Trial
from xsquared_studies.trial import checked_values

GOOD: dict[str, Any] = {"unit": "glu", "n_hidden": 4, "solver": "newton", "problem": "friedman1"}
ON_LINE: dict[str, Any] = {
    "unit": "mlp",
    "n_hidden": 4,
    "solver": "newton",
    "protocol": "10,000 points",
    "expression": "sin(x)",
    "domain": ((-1.0, 1.0),),
}


def test_the_key_is_the_same_everywhere_and_in_every_version() -> None:
    # Written down: were it to change, every stored row would be lost.
    assert Trial(**GOOD).key == "cb36ed60590a4e233bac"


CHANGES: dict[str, Any] = {
    "unit": "mlp", "n_hidden": 5, "solver": "ours", "split": "paper", "gates": "frozen",
    "protocol": "ours", "points": 10, "seed": 1, "problem": "friedman2", "activation": "gelu",
    "settings": (("starts", 3),),
}  # fmt: skip


@pytest.mark.parametrize("name", CHANGES)
def test_every_field_is_part_of_the_key(name: str) -> None:
    changed = Trial(**GOOD | {name: CHANGES[name]})
    assert changed.key != Trial(**GOOD).key
    assert changed != Trial(**GOOD)


def test_settings_have_no_order_and_lists_are_tuples() -> None:
    first = Trial(**GOOD, settings=(("a", (1, 2)), ("b", 0.5)))
    listed: Any = (("b", 0.5), ("a", [1, 2]))
    second = Trial(**GOOD, settings=listed)
    assert first == second
    assert hash(first) == hash(second)
    assert Trial(**ON_LINE | {"domain": [[-1, 1]]}) == Trial(**ON_LINE)


@given(
    seed=st.integers(0, 2**31 - 1),
    points=st.none() | st.integers(1, 2**31 - 1),
    value=st.floats() | st.integers() | st.text() | st.booleans() | st.none(),
    given=st.dictionaries(st.text(min_size=1), st.floats(allow_nan=False) | st.text()),
)
@settings(max_examples=50)
def test_rows_survive_json(seed: int, points: int | None, value: Any, given: dict) -> None:
    trial = Trial(**GOOD, seed=seed, points=points, settings=tuple(given.items()))
    made = replace(result(trial), values={"found": value}, message=str(value))
    line = made.to_json()
    assert "\n" not in line
    again = Result.from_row(json.loads(line))
    assert repr(again) == repr(made)  # repr, because NaN is not equal to itself
    assert again.trial.key == trial.key


def test_a_table_is_its_content_wherever_it_lies(tmp_path: Path) -> None:
    described: dict[str, Any] = {"unit": "mlp", "n_hidden": 2, "y": "b"}
    paths = [tmp_path / "a.csv", tmp_path / "copy.csv"]
    for path in paths:
        path.write_text("a,b\n1,2\n")
    first, copy = (Trial(**described, data=str(path)) for path in paths)
    assert first == copy
    assert first.key == copy.key
    assert Result.from_row(json.loads(result(first).to_json())).trial.data == str(paths[0])
    paths[1].write_text("a,b\n1,3\n")
    assert Trial(**described, data=str(paths[1])).key != first.key
    with pytest.raises(OSError, match=r"cannot read .*none\.csv: No such file"):
        Trial(**described, data=str(tmp_path / "none.csv"))


def test_a_trial_reads_as_a_sentence() -> None:
    more = {"activation": "silu", "points": 50, "protocol": "10,000 points"}
    trial = Trial(**ON_LINE | more, settings=(("starts", 3),))
    assert str(trial) == (
        "sin(x): mlp, n = 4, newton, gates trained, held-out, seed 0, 50 points, silu, starts = 3, "
        "10,000 points"
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_hidden": 2**40}, "n_hidden: expected an integer <= 2147483647"),
        ({"solver": ""}, "solver: expected a name, got ''"),
        ({"points": 0}, "points: expected an integer >= 1, got 0"),
        ({"problem": "iris"}, "unknown problem 'iris'; known are sine"),
        ({"problem": ""}, "expected a problem, an expression or data, got none"),
        ({"expression": "x"}, "expected a problem, an expression or data, got 'friedman1' and 'x'"),
        ({"problem": "", "data": "a.csv"}, "expected data and the column y to predict"),
        ({"y": "price"}, "predict together, got 'price' for friedman1"),
        ({"problem": "", "expression": "x"}, r"interval \(a, b\) or 1 of them, got \(\)"),
        ({"domain": ((0, 1),)}, "friedman1: expected no domain beside its own"),
        ({"protocol": "\ud800"}, "protocol: expected text that a table has, got "),
    ],
)
def test_bad_trials_are_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        Trial(**GOOD | change)


def test_numbers_of_numpy_are_the_same_trial() -> None:
    plain = Trial(**GOOD | {"n_hidden": 3, "seed": 1, "points": 30})
    wide = {"n_hidden": np.int64(3), "seed": np.int32(1), "points": np.uint8(30)}
    assert Trial(**GOOD | wide).key == plain.key


def test_scalars_of_numpy_and_torch_become_pythons() -> None:
    found = checked_values(
        {"a": np.float64(0.5), "b": np.int64(3), "c": torch.tensor(2.0), "d": None, "e": True}
        | {"text": "\ud800"}
    )
    assert found == {"a": 0.5, "b": 3, "c": 2.0, "d": None, "e": True, "text": "\\ud800"}
    assert [type(value) for value in found.values()] == [float, int, float, type(None), bool, str]


@pytest.mark.parametrize(
    ("returned", "error", "message"),
    [
        (0.5, TypeError, "expected values by name from a trial, got 0.5"),
        ({1: 2.0, "1": 3.0}, TypeError, "expected values by name from a trial, got"),
        *(
            ({name: 3}, ValueError, re.escape(f"names that a row has not, got '{name}'"))
            for name in ("seed", "n", "gate", "unit[n=4]", "seed[n=4]")
        ),
        ({"a": 2**63}, TypeError, "a: expected a number or a string, got"),
    ],
)
def test_what_no_row_can_hold_is_refused(
    returned: object, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        checked_values(returned)
