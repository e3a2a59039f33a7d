"""How claims are judged, and how chapters settle them."""

import ast
import math
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from xsquared_book.papers import VERDICT_MIME
from xsquared_book.papers.claims import judge, settle
from xsquared_book.papers.ledger import Claim, ClaimError, ledger
from xsquared_book.project import read_source

SOURCES = sorted((Path(__file__).parents[2] / "notebooks").glob("*.md"))
FIELDS = ("gu-n", "gated-units", "Eq. 1", "s & <t>", "01_a")
OWN = ("e", "own", "w", ("a", "b"))
NUMBER = Claim(*FIELDS, "value", *OWN, value=2.0, tolerance=0.5, null=0.0, digits=3)
QUESTION = Claim(*FIELDS, "identity", "e", "own", "w")
RATIO = Claim(*FIELDS, "comparison", "e", "own", "w", at_least=1.0, at_most=2.0)


@given(st.floats(1.5, 2.5))
def test_a_measurement_within_the_tolerance_holds(measured: float) -> None:
    assert judge(NUMBER, measured).holds


@given(st.floats(-1e6, 1e6).filter(lambda m: abs(m - 2) > 0.5))
def test_a_measurement_outside_needs_a_reason_and_one_inside_none(measured: float) -> None:
    bare, amended = judge(NUMBER, measured), replace(NUMBER, refuted="a slip")
    assert not bare.holds
    assert bare.unexpected == "the ledger gives no reason for a failure"
    assert not judge(amended, measured).unexpected
    assert judge(amended, 2.0).unexpected == "the ledger still calls it refuted: a slip"


def test_questions_take_true_or_false_and_comparisons_a_number_between_bounds() -> None:
    assert judge(QUESTION, True).holds
    assert judge(QUESTION, False).unexpected
    assert [judge(QUESTION, answer).measured_text() for answer in (True, False)] == ["yes", "no"]
    held = [judge(RATIO, ratio).holds for ratio in (0.9, 1.0, 2.0, 2.1)]
    assert held == [False, True, True, False]
    assert judge(replace(RATIO, at_least=None), -9.0).holds
    assert judge(replace(RATIO, at_most=None), 9.0).holds


@pytest.mark.parametrize(
    ("measured", "sort", "sentence"),
    [
        ((2, 2, 2), "holds by every protocol tried", "holds (3 of 3)"),
        ((2, 2, 9), "holds by its own protocol and others", "holds (2 of 3: fails for b)"),
        ((2, 9, 9), "holds by its own protocol only", "{sort} (1 of 3: fails for a, b)"),
        ((2, 9, None), "holds by its own protocol only", "{sort} (1 of 2: fails for a)"),
        ((2, None, None), "holds, no alternative", "holds (1 of 1)"),
        ((9, 9, 9), "fails by every protocol tried", "fails (0 of 3)"),
        ((9, 2, 9), "fails by its own protocol, holds by another",
         "fails by its own protocol, holds for a (1 of 3)"),
        ((9, None, None), "fails, no alternative", "fails (0 of 1)"),
    ],
)  # fmt: skip
def test_what_becomes_of_outcomes(
    measured: tuple[float | None, ...], sort: str, sentence: str
) -> None:
    verdict = judge(NUMBER, dict(zip(("own", "a", "b"), measured, strict=True)))
    assert (verdict.sort, verdict.sentence) == (sort, sentence.format(sort=sort))


def test_what_cannot_be_judged_says_why_and_is_never_unexpected() -> None:
    claim = replace(NUMBER, unjudged="the source is silent.")
    verdict = judge(claim, {"own": 9.0, "a": 2.0})
    assert (verdict.holds, verdict.sort) == (None, "cannot be judged")
    assert verdict.sentence == "cannot be judged, because the source is silent."
    assert not verdict.unexpected
    assert judge(claim, None).measured_text() == ""
    assert judge(NUMBER, None) is None
    assert judge(NUMBER, {"own": None, "a": 2.0}) is None


def test_measurements_of_the_wrong_kind() -> None:
    for claim, measured, message in (
        (NUMBER, math.nan, "expects a finite number, got nan"),
        (NUMBER, {"own": 2.0, "a": math.inf}, "expects a finite number, got inf"),
        (RATIO, True, "expects a number, got True"),
        (QUESTION, 1.0, "expects True or False, got 1.0"),
        (NUMBER, {"a": 2.0}, "expected its own protocol own"),
        (NUMBER, {"own": 2.0, "c": 2.0}, r"expected only own, a, b, got \['c'\]"),
    ):
        with pytest.raises(ClaimError, match=message):
            judge(claim, measured)


def test_what_a_verdict_records() -> None:
    assert judge(NUMBER, {"own": 2.0, "b": 3}, "five seeds").as_record() == {
        "claim": "gu-n",
        "holds": True,
        "sort": "holds by its own protocol only",
        "sentence": "holds by its own protocol only (1 of 2: fails for b)",
        "measured": "2.00",
        "found": {"own": "2.00", "b": "3.00"},
        "outcomes": {"own": True, "b": False},
        "note": "five seeds",
        "unexpected": "",
    }


def test_what_rounding_leaves_of_zero_is_not_printed() -> None:
    zero = replace(QUESTION, value=0.0, tolerance=1e-12)
    assert judge(zero, 3e-16).measured_text() == "0 to 1e-12"
    assert judge(zero, 1e-9).measured_text() == "1.000e-09"
    whole = replace(QUESTION, value=66432.0, tolerance=0, digits=5)
    assert judge(whole, 66432).measured_text() == "66432"


def test_a_chapters_claims_are_one_table_and_one_list_of_records() -> None:
    minimises = {"root-mean-square": 8.0, "largest-error": 8.0}, "at the middle"
    measured = {"gu-eq9-constant": 120**-0.5, "gu-eq12-minimises": minimises}
    settled = settle(measured | {"gu-eq13-printed": None})
    table = settled.table()
    assert table.name == "tab-claims-02"
    assert " ".join(table.columns) == "Claim Verdict Measured Required Otherwise Entry"
    assert [row[1:] for row in table.rows] == [
        ("✔ holds", "0.0912871", "0.09128709292 ± 1e-12", "–", "gu-eq9-constant"),
        ("✘ fails (0 of 2)", "8.000", "at most 1.001", "at the middle", "gu-eq12-minimises"),
        ("○ open", "–", "–", "not measured with these parameters", "gu-eq13-printed"),
    ]
    bundle = settled._repr_mimebundle_()
    assert bundle["text/plain"] == str(table)
    assert [r["claim"] for r in bundle[VERDICT_MIME]] == ["gu-eq9-constant", "gu-eq12-minimises"]


def test_the_table_names_what_flips_a_verdict_and_what_is_unexpected() -> None:
    found = {"root-mean-square": 0.52, "largest-error": 1.2}
    (row,) = settle({"gl-acceptable-on-3": found}).table().rows
    assert row[1:5] == ("✘ fails (1 of 2)", "1.200", "at most 1", "root-mean-square 0.5200")
    (row,) = settle({"gu-eq9-constant": 1.0}).table().rows
    assert "unexpected: the ledger gives no reason for a failure" in row


def test_columns_that_no_claim_needs_are_left_out() -> None:
    columns = settle({"gu-fig1-piecewise": True}).table().columns
    assert columns == ("Claim", "Verdict", "Measured", "Entry")


def test_settle_refuses_what_it_cannot_judge() -> None:
    for measured, message in (
        ({"gu-x": 1.0}, r"not in the ledger \(papers/claims.toml\): gu-x"),
        ({}, "expected what was measured, by claim, got nothing"),
        (pd.DataFrame({"a": [1, 2]}, ["gu-eq2-quadratic"] * 2), "expected every claim and every"),
        ({"gu-eq9-constant": True}, "gu-eq9-constant expects a number, got True"),
    ):
        with pytest.raises(ClaimError, match=message):
            settle(measured)


def test_a_frame_settles_a_claim_a_row_by_a_protocol_a_column() -> None:
    claim = ledger()["gu-eq9-rate"]
    other = claim.alternatives[0]
    frame = pd.DataFrame(
        {claim.protocol: [-2.0, None], other: [-1.9, None], "tried elsewhere": [None, None]},
        index=["gu-eq9-rate", "gu-eq9-constant"],
    )
    verdicts = settle(frame).verdicts
    assert verdicts["gu-eq9-rate"] == judge(claim, {claim.protocol: -2.0, other: -1.9})
    assert verdicts["gu-eq9-constant"] is None


JUDGED = [c.id for c in ledger().values() if not (c.is_question or c.unjudged)]


@pytest.mark.parametrize("claim_id", JUDGED)
def test_every_threshold_can_be_missed(claim_id: str) -> None:
    """Just outside its thresholds a claim fails, at its value it holds."""
    claim = ledger()[claim_id]
    bounds = [(-1, claim.at_least), (1, claim.at_most)]
    if claim.tolerance is not None and claim.value is not None:
        bounds = [(side, claim.value + side * claim.tolerance) for side in (-1, 1)]
        assert claim.met_by(claim.value)
    set_bounds = [(side, bound) for side, bound in bounds if bound is not None]
    assert set_bounds
    for side, bound in set_bounds:
        step = 1e-9 * (max(abs(bound), claim.tolerance or 0) or 1)
        assert not claim.met_by(bound + side * step)


def thresholds(source: str) -> list[str]:
    """Comparisons and numbers in calls of ``settle``, subscripts and ids aside."""
    walked = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    settling = [node for call in walked if getattr(call.func, "id", "") == "settle"
                for node in ast.walk(call)]  # fmt: skip
    aside = [node.slice for node in settling if isinstance(node, ast.Subscript)]
    aside += [node for node in settling if isinstance(node, ast.JoinedStr)]  # the claim's id
    left_out = {inner for node in aside for inner in ast.walk(node)}
    return [
        ast.unparse(node)
        for node in settling
        if node not in left_out
        and (isinstance(node, ast.Compare) or type(getattr(node, "value", None)) in (int, float))
    ]


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)
def test_no_threshold_stands_in_a_chapter(path: Path) -> None:
    cells = [cell.source for cell in read_source(path).cells if cell.cell_type == "code"]
    settling = [source for source in cells if "settle(" in source]
    assert [found for source in settling for found in thresholds(source)] == []
    # Booleans alone could hide one; of these the ledger has only questions.
    assert len(settling) <= 1
