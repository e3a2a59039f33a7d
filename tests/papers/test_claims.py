"""The ledger and how claims are judged."""

from __future__ import annotations

import math
import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xsquared.papers import claims as module
from xsquared.papers.claims import (
    VERDICT_MIME,
    Claim,
    ClaimError,
    judge,
    ledger,
    settle,
)

CHAPTERS = [
    "01_function_space", "02_truncation_errors", "03_constructions", "04_training",
    "05_scaling_1d", "06_gated_quadratic_unit", "07_higher_dimensions", "08_real_data",
    "09_gelu_series", "10_gelu_features", "11_learned_features",
]  # fmt: skip
NUMBER = Claim("gu-n", "gated-units", "Eq. 1", "s", "01_a", "w", value=2.0, tolerance=0.5)
QUESTION = Claim("gu-q", "gated-units", "Eq. 1", "s & <t>", "01_a", "w")


@given(st.floats(1.5, 2.5))
def test_a_measurement_within_the_tolerance_holds(measured: float) -> None:
    assert judge(NUMBER, measured).holds


@given(st.floats(-1e6, 1e6).filter(lambda m: abs(m - 2) > 0.5))
def test_a_measurement_outside_needs_a_reason(measured: float) -> None:
    bare = judge(NUMBER, measured)
    assert not bare.holds
    assert bare.unexpected == "the ledger gives no reason for a failure"
    verdict = judge(replace(NUMBER, refuted="a slip"), measured)
    assert verdict.word == "fails"
    assert not verdict.unexpected


def test_a_reason_that_no_longer_applies_is_unexpected() -> None:
    verdict = judge(replace(NUMBER, refuted="a slip"), 2.0)
    assert verdict.unexpected == "the ledger still calls it refuted: a slip"


def test_true_or_false() -> None:
    assert judge(QUESTION, True).holds
    assert judge(QUESTION, False).unexpected
    assert judge(replace(QUESTION, refuted="no"), False).word == "fails"


@pytest.mark.parametrize(
    ("claim", "measured", "message"),
    [
        (NUMBER, True, "expects a number, got True"),
        (NUMBER, math.nan, "expects a finite number, got nan"),
        (NUMBER, math.inf, "expects a finite number, got inf"),
        (QUESTION, 1.0, "expects True or False, got 1.0"),
    ],
)
def test_measurements_of_the_wrong_kind(claim: Claim, measured: float, message: str) -> None:
    with pytest.raises(ClaimError, match=message):
        judge(claim, measured)


def test_what_a_verdict_records() -> None:
    verdict = judge(replace(NUMBER, digits=3), 2.0, "five seeds")
    assert verdict.as_record() == {
        "claim": "gu-n",
        "holds": True,
        "measured": "2.00",
        "note": "five seeds",
        "unexpected": "",
    }
    assert judge(replace(NUMBER, value=66432.0, digits=5), 66432).measured_text() == "66432"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"paper": "other"}, "paper must be one of"),
        ({"tolerance": None}, "come together"),
        ({"tolerance": -1.0}, "must be >= 0, got -1.0"),
        ({"tolerance": math.nan}, "must be >= 0, got nan"),
    ],
)
def test_bad_claims_are_refused(change: dict, message: str) -> None:
    with pytest.raises(ClaimError, match=message):
        replace(NUMBER, **change)


def test_a_chapters_claims_are_one_table_and_one_list_of_records() -> None:
    settled = settle(
        {
            "gu-eq9-constant": 120**-0.5,
            "gu-eq12-minimises": (False, "at the midpoint"),
            "gu-eq9-rate": None,
        }
    )
    table = settled.table()
    assert table.name == "tab-claims-02"
    assert table.columns == ("Claim", "Verdict", "Paper", "Measured", "Tolerance", "Note")
    assert [row[1:] for row in table.rows] == [
        ("✔ holds", "0.0912871", "0.0912871", "1e-12", "–"),
        ("✘ fails", "–", "no", "–", "at the midpoint"),
        ("○ open", "-2", "–", "0", "not measured with these parameters"),
    ]
    bundle = settled._repr_mimebundle_()
    assert bundle["text/plain"] == str(table)
    assert [record["claim"] for record in bundle[VERDICT_MIME]] == [
        "gu-eq9-constant",
        "gu-eq12-minimises",
    ]


def test_an_unexpected_verdict_is_marked_in_the_table() -> None:
    (row,) = settle({"gu-eq9-constant": 1.0}).table().rows
    assert "unexpected: the ledger gives no reason for a failure" in row


def test_columns_that_no_claim_needs_are_left_out() -> None:
    assert settle({"gu-fig1-piecewise": True}).table().columns == ("Claim", "Verdict", "Measured")


@pytest.mark.parametrize(
    ("measured", "message"),
    [
        ({"gu-x": 1.0}, r"not in the ledger \(papers/claims.toml\): gu-x"),
        ({}, "expected what was measured, by claim, got nothing"),
        ({"gu-eq9-constant": True}, "gu-eq9-constant expects a number, got True"),
    ],
)
def test_settle_refuses_what_it_cannot_judge(measured: dict, message: str) -> None:
    with pytest.raises(ClaimError, match=message):
        settle(measured)


@pytest.mark.parametrize("claim_id", [c.id for c in ledger().values() if c.tolerance is not None])
def test_every_tolerance_can_be_exceeded(claim_id: str) -> None:
    """A claim just outside its tolerance does not pass in silence, one just inside does."""
    claim = replace(ledger()[claim_id], refuted="")
    assert claim.value is not None
    assert claim.tolerance is not None
    width = claim.tolerance + 1e-9 * max(1.0, abs(claim.value))
    assert not judge(claim, claim.value).unexpected
    for side in (-1, 1):
        assert judge(claim, claim.value + side * width).unexpected


@pytest.mark.parametrize("claim", ledger().values(), ids=lambda c: c.id)
def test_entries_are_complete(claim: Claim) -> None:
    assert claim.chapter in CHAPTERS
    assert re.fullmatch(r"(gu|gl)-[a-z0-9-]+", claim.id)
    assert claim.id.startswith({"gated-units": "gu-", "gelu-linearization": "gl-"}[claim.paper])
    assert claim.statement.endswith(".")
    assert claim.why.endswith(".")
    assert claim.where


def test_ledger_is_in_the_chapters_order() -> None:
    places = [CHAPTERS.index(claim.chapter) for claim in ledger().values()]
    assert places == sorted(places)


def test_table_1_stands_complete() -> None:
    cells = [claim for claim in ledger().values() if claim.where.endswith("Table 1")]
    printed = [c.value for c in cells if c.paper == "gated-units"]
    assert sorted(v for v in printed if v is not None) == sorted(
        [-3.55, -0.91, -1.55, -0.55, -1.0, -0.75, -1.12, -0.31, -0.56, -0.25, -0.39, -0.09, -0.09]
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('id="gu-a"\npaper="gated-units"', "claim gu-a: .*missing"),
        ('id="gu-a"\nextra=1', "claim gu-a: .*extra"),
    ],
)
def test_incomplete_entries_are_named(
    text: str, message: str, tmp_path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "claims.toml").write_text(f"[[claim]]\n{text}\n")
    monkeypatch.setattr(module, "files", lambda _: tmp_path)
    with pytest.raises(ClaimError, match=message):
        ledger.__wrapped__()


def test_an_id_may_stand_once_only(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    entry = (
        '[[claim]]\nid="gu-a"\npaper="gated-units"\nwhere="w"\n'
        'statement="s"\nchapter="c"\nwhy="w"\n'
    )
    (tmp_path / "claims.toml").write_text(entry * 2)
    monkeypatch.setattr(module, "files", lambda _: tmp_path)
    with pytest.raises(ClaimError, match="gu-a stands in the ledger twice"):
        ledger.__wrapped__()
