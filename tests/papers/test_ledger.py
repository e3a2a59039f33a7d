"""The ledger's entries, their thresholds, and what rests on what."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from xsquared_book.papers.errata import errata
from xsquared_book.papers.ledger import (
    Claim,
    ClaimError,
    foundations,
    ledger,
    protocols,
    read_ledger,
    sources,
    standing,
)

CHAPTERS = sorted(p.stem for p in (Path(__file__).parents[2] / "notebooks").glob("*.md"))
FIELDS = ("gu-n", "gated-units", "Eq. 1", "s", "01_a")
NUMBER = Claim(*FIELDS, "value", "e", "own", "w", value=2.0, tolerance=0.5)
RATIO = Claim(*FIELDS, "comparison", "e", "own", "w", at_most=2.0)


@pytest.mark.parametrize(
    ("claim", "change", "message"),
    [
        (NUMBER, {"paper": "other"}, "paper must be one of gated-units, .* got 'other'"),
        (NUMBER, {"kind": "guess"}, "kind must be one of identity, .* got 'guess'"),
        (NUMBER, {"tolerance": None}, "come together"),
        (NUMBER, {"value": None, "tolerance": None}, "a value needs value and tolerance"),
        (NUMBER, {"tolerance": -1.0}, "must be >= 0, got -1.0"),
        (NUMBER, {"tolerance": float("nan")}, "tolerance must be finite, got nan"),
        (NUMBER, {"at_least": 1.0}, "for comparisons and trends, not for a value"),
        (NUMBER, {"null": 1.5}, "cannot hold: the tolerance 0.5 about 2.0 includes 1.5"),
        (NUMBER, {"alternatives": ("own",)}, "must differ"),
        (NUMBER, {"alternatives": ("a", "a")}, "must differ"),
        (RATIO, {"at_most": None}, "a comparison needs at_least or at_most"),
        (RATIO, {"tolerance": 1.0}, "has at_least or at_most, not a tolerance"),
        (RATIO, {"at_least": 3.0}, "at_least must not exceed at_most, got 3.0 and 2.0"),
    ],
)
def test_bad_claims_are_refused(claim: Claim, change: dict[str, Any], message: str) -> None:
    with pytest.raises(ClaimError, match=message):
        replace(claim, **change)


OWN = '[protocol.own]\nsays="so"\npoints = ["a", 3]\n'
ENTRY = (
    '[[claim]]\nid="gu-a"\npaper="gated-units"\nwhere="w"\nstatement="s"\nchapter="c"\n'
    'kind="identity"\nestimand="e"\nprotocol="own"\nwhy="w"\n'
)


def test_every_protocol_is_told_in_words_of_its_own() -> None:
    says = [protocol.says for protocol in protocols().values()]
    assert len(set(says)) == len(says)
    assert all(5 < len(words) < 65 for words in says)


def test_a_small_ledger() -> None:
    read = read_ledger(OWN + ENTRY + 'uses=["gu-eq2"]')
    assert str(read.protocols["own"]) == "points a, 3"
    assert read.rests == {"gu-a": ("gu-eq2",)}
    assert replace(NUMBER, null=1.4).null == 1.4, "a tolerance that excludes no effect"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (OWN + '[[claim]]\nid="gu-a"\npaper="gated-units"', "claim gu-a: .*missing"),
        (OWN + ENTRY + "extra=1", "claim gu-a: .*extra"),
        (OWN + ENTRY * 2, "gu-a stands in the ledger twice"),
        ('[protocol.own]\nsays="so"\ncolour="red"\n' + ENTRY, "protocol own: .*colour"),
        (ENTRY, "claim gu-a: no protocol own"),
        (OWN + ENTRY + 'alternatives=["b"]', "claim gu-a: no protocol b"),
        (OWN + ENTRY + 'uses=["gu-eq99"]', "gu-a uses gu-eq99: neither equation"),
        (OWN + ENTRY + 'uses=["gu-a"]', "in a circle: .*gu-a"),
        (OWN + '[rests]\ngu-eq7 = ["gu-eq6"]\ngu-eq6 = ["gu-eq7"]\n' + ENTRY, "in a circle"),
        (OWN + '[rests]\ngu-eq99 = ["gu-eq6"]\n' + ENTRY, "gu-eq99 uses gu-eq99: neither"),
        (OWN + ENTRY.replace("gu-a", "gu-eq2"), "claim gu-eq2: an equation or an erratum has"),
    ],
)
def test_what_does_not_load(text: str, message: str) -> None:
    with pytest.raises(ClaimError, match=message):
        read_ledger(text)


@pytest.mark.parametrize("claim", ledger().values(), ids=lambda c: c.id)
def test_entries_are_complete(claim: Claim) -> None:
    assert claim.chapter in CHAPTERS
    prefix = {"gated-units": "gu", "gelu-linearization": "gl", "ours": "xs"}[claim.paper]
    assert re.fullmatch(rf"{prefix}-[a-z0-9-]+", claim.id)
    assert all(said.endswith(".") for said in (claim.statement, claim.estimand, claim.why))
    assert claim.where
    assert not (claim.refuted and claim.unjudged)
    if claim.kind == "value":  # with the paper's digits
        shown = f"{claim.value:#.{claim.digits}g}"
        assert float(shown) == claim.value
        assert decimals(shown) >= decimals(repr(claim.value).removesuffix(".0"))


def decimals(number: str) -> int:
    return len(number.partition(".")[2]) if "e" not in number else 99


def test_protocols_are_used_and_claims_in_the_chapters_order() -> None:
    used = {name for c in ledger().values() for name in (c.protocol, *c.alternatives)}
    assert used == set(protocols())
    assert all(str(protocol) for protocol in protocols().values())
    places = [CHAPTERS.index(claim.chapter) for claim in ledger().values()]
    assert places == sorted(places)


def test_table_1_stands_complete() -> None:
    cells = [claim for claim in ledger().values() if claim.where.endswith("Table 1")]
    printed = [c.value for c in cells if c.paper == "gated-units" and c.value is not None]
    expected = [-3.55, -1.55, -1.12, -1.0, -0.91, -0.75, -0.56, -0.55, -0.39, -0.31, -0.25]
    assert sorted(printed) == [*expected, -0.09, -0.09]


HOLDING = dict.fromkeys(ledger(), True)


@pytest.mark.parametrize("key", sorted(sources()))
def test_an_equation_that_fails_takes_down_its_descendants_and_no_other(key: str) -> None:
    sound = standing(HOLDING)
    fallen = standing(HOLDING, {key})
    changed = {claim for claim in sound if sound[claim] != fallen[claim]}
    assert changed == {claim for claim in ledger() if key in foundations(claim)}
    assert all(f"what it rests on fails: {key}" in fallen[claim] for claim in changed)


def test_a_claim_that_fails_takes_down_what_rests_on_it() -> None:
    after = standing(HOLDING | {"gu-eq9-constant": False})
    assert after["gu-mlp-constant-measured"] == "but what it rests on fails: gu-eq9-constant"
    assert "gu-eq9-constant" not in after
    with pytest.raises(ValueError, match=r"expected a claim, .* got 'gu-eq99'"):
        foundations("gu-eq99")


def test_claims_that_rest_on_a_misprint_say_so() -> None:
    amended = {slip.key for slip in errata()}
    for claim, words in standing(HOLDING).items():
        rests = sorted(foundations(claim) & amended)
        assert words == (f"via the amended form of {', '.join(rests)}" if rests else "")
    assert standing(HOLDING)["gu-mlp-interpolates"] == "via the amended form of gu-eq6"


def test_a_claim_picks_its_protocols_from_many_its_own_first() -> None:
    claim = ledger()["gu-fig3-mlp-slope-n"]
    found = {"another": 1.0, claim.alternatives[0]: 2.0, claim.protocol: 3.0}
    assert list(claim.named(found).items()) == [(claim.protocol, 3.0), (claim.alternatives[0], 2.0)]
