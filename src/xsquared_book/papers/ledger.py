"""The claims ledger: what each paper states, how it is judged, and what it rests on.

The ledger is ``claims.toml`` beside this module: one table per protocol and one per claim. A claim
names the protocol by which it is judged, chosen by what the source says before anything was
measured, and other reasonable ones, its alternatives. All thresholds stand there. A claim also
names the equations, errata and claims that it uses; :func:`standing` follows these to the end.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields
from functools import cache
from graphlib import CycleError, TopologicalSorter
from importlib.resources import files
from typing import Any, NamedTuple

from xsquared.checks import quoted
from xsquared_book.papers import gated_units, gelu_linearization
from xsquared_book.papers.errata import errata

#: Who claims: the two papers and this book; short names, and their titles in tables.
PAPERS = {
    "gated-units": "Gated units",
    "gelu-linearization": "GELU layers as feature maps",
    "ours": "This book",
}
#: What a claim can be.
KINDS = ("identity", "value", "comparison", "trend")


class ClaimError(ValueError):
    """A claim that is unknown, or a measurement that disagrees with what the ledger records."""


@dataclass(frozen=True)
class Protocol:
    """How something is measured; each field in words, empty where it does not apply.

    Attributes:
        name: by which claims refer to it.
        says: what readers see in its place.
        trained: which weights are trained, or how the network is made.
        widths: of the networks.
        solver: what minimises, and until when.
        points: on which points the error is taken.
        seeds: how many, and what is made of them.
        regressor: what a slope is fitted against.
        window: the widths that enter the fit.
        note: what else there is to know, and what is not known.
    """

    name: str
    says: str
    trained: str = ""
    widths: str = ""
    solver: str = ""
    points: str = ""
    seeds: str = ""
    regressor: str = ""
    window: str = ""
    note: str = ""

    def __str__(self) -> str:
        told = ((field.name, getattr(self, field.name)) for field in fields(self)[2:])
        return "; ".join(
            f"{name} {words}" if name != "note" else words for name, words in told if words
        )


@dataclass(frozen=True)
class Claim:
    """One statement of one paper.

    Attributes:
        id: unique slug, such as ``"gu-eq9-constant"``.
        paper: one of :data:`PAPERS`.
        where: section, equation, figure or table in that paper.
        statement: what is claimed, in our own words.
        chapter: the chapter that settles it, such as ``"03_constructions"``.
        kind: one of :data:`KINDS`. An identity is true or false, or a number that is exact; a value
            is a number with a tolerance; of comparisons and trends a number is measured, too, such
            as a ratio or a rate, which has bounds.
        estimand: what is measured, in words.
        protocol: the name of its own protocol.
        why: where the thresholds come from.
        alternatives: names of other protocols by which one may judge it.
        value: the number that the paper prints, if any.
        tolerance: largest accepted distance from ``value``, of identities and values only.
        null: the value that would mean no effect, which the tolerance must exclude.
        at_least: lower bound on what is measured, of comparisons and trends only.
        at_most: upper bound, likewise.
        digits: significant digits of what is measured that are reproducible across machines.
        uses: keys of the equations, errata and claims on which it rests.
        refuted: the reason why it fails by its own protocol, in Markdown, where it does.
        unjudged: the reason why it cannot be judged, in Markdown, where that is so.
    """

    id: str
    paper: str
    where: str
    statement: str
    chapter: str
    kind: str
    estimand: str
    protocol: str
    why: str
    alternatives: tuple[str, ...] = ()
    value: float | None = None
    tolerance: float | None = None
    null: float | None = None
    at_least: float | None = None
    at_most: float | None = None
    digits: int = 4
    uses: tuple[str, ...] = ()
    refuted: str = ""
    unjudged: str = ""

    def __post_init__(self) -> None:
        numbers = ("value", "tolerance", "null", "at_least", "at_most")
        for name in numbers:
            if (number := getattr(self, name)) is not None and not math.isfinite(number):
                raise ClaimError(f"claim {self.id}: {name} must be finite, got {number}")
        object.__setattr__(self, "alternatives", tuple(self.alternatives))
        object.__setattr__(self, "uses", tuple(self.uses))
        if problem := self._problem():
            raise ClaimError(f"claim {self.id}: {problem}")

    def _problem(self) -> str:
        """What is wrong with the entry; empty where nothing is."""
        bounded = self.at_least is not None or self.at_most is not None
        if self.paper not in PAPERS:
            return f"paper must be one of {', '.join(PAPERS)}, got {quoted(self.paper)}"
        if self.kind not in KINDS:
            return f"kind must be one of {', '.join(KINDS)}, got {quoted(self.kind)}"
        if len({self.protocol, *self.alternatives}) != 1 + len(self.alternatives):
            return "its protocol and its alternatives must differ from each other"
        if self.kind in ("comparison", "trend"):
            if self.tolerance is not None or self.null is not None:
                return f"a {self.kind} has at_least or at_most, not a tolerance"
            if not bounded and not self.unjudged:
                return f"a {self.kind} needs at_least or at_most"
            if None not in (self.at_least, self.at_most) and self.at_least > self.at_most:  # type: ignore[operator]
                return f"at_least must not exceed at_most, got {self.at_least} and {self.at_most}"
            return ""
        if bounded:
            return f"at_least and at_most are for comparisons and trends, not for a {self.kind}"
        if (self.value is None) != (self.tolerance is None):
            return "value and tolerance come together or not at all"
        if self.kind == "value" and self.value is None:
            return "a value needs value and tolerance"
        if self.value is None or self.tolerance is None:
            return ""
        if self.tolerance < 0:
            return f"tolerance must be >= 0, got {self.tolerance}"
        if self.null is not None and abs(self.value - self.null) <= self.tolerance:
            return (
                f"cannot hold: the tolerance {self.tolerance} about {self.value} includes "
                f"{self.null}, the value of no effect"
            )
        return ""

    @property
    def is_question(self) -> bool:
        """Whether it is settled by True or False, not by a number."""
        return self.kind == "identity" and self.value is None

    @property
    def required(self) -> str:
        """The thresholds in words, empty for a question."""
        if self.tolerance is not None:
            return f"{self.value:.10g} ± {self.tolerance:g}"
        bounds = (("at least", self.at_least), ("at most", self.at_most))
        return ", ".join(f"{word} {bound:g}" for word, bound in bounds if bound is not None)

    def named(self, found: Mapping[str, Any]) -> dict[str, Any]:
        """Of what was found under many protocols, what the claim is judged by."""
        return {name: found[name] for name in (self.protocol, *self.alternatives) if name in found}

    def met_by(self, measured: float | bool) -> bool:
        """Whether a measurement agrees with the claim."""
        if self.is_question:
            return bool(measured)
        if self.tolerance is not None and self.value is not None:
            return abs(measured - self.value) <= self.tolerance
        return (self.at_least is None or measured >= self.at_least) and (
            self.at_most is None or measured <= self.at_most
        )


class Ledger(NamedTuple):
    """All that ``claims.toml`` holds."""

    claims: dict[str, Claim]
    protocols: dict[str, Protocol]
    rests: dict[str, tuple[str, ...]]


def _worded(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def read_ledger(text: str) -> Ledger:
    """The ledger that a TOML text holds, checked."""
    table = tomllib.loads(text)
    protocols = {
        name: _made(Protocol, "protocol", name, {key: _worded(value) for key, value in row.items()})
        for name, row in table.get("protocol", {}).items()
    }
    claims: dict[str, Claim] = {}
    for row in table["claim"]:
        claim = _made(Claim, "claim", row.pop("id", "?"), row)
        if claim.id in claims:
            raise ClaimError(f"claim {claim.id} stands in the ledger twice")
        if unknown := {claim.protocol, *claim.alternatives} - protocols.keys():
            raise ClaimError(f"claim {claim.id}: no protocol {', '.join(sorted(unknown))}")
        if claim.id in sources():
            raise ClaimError(f"claim {claim.id}: an equation or an erratum has this key")
        claims[claim.id] = claim
    rests = {key: tuple(uses) for key, uses in table.get("rests", {}).items()}
    rests |= {claim.id: claim.uses for claim in claims.values()}
    _check_graph(rests, claims)
    return Ledger(claims, protocols, rests)


def _made(kind: type, word: str, name: str, row: Mapping[str, Any]) -> Any:
    try:
        return kind(name, **row)
    except TypeError as error:
        raise ClaimError(f"{word} {name}: {error}") from error


def sources() -> set[str]:
    """Keys of all equations and errata that a claim can use."""
    equations = {*gated_units.paper.numbers, *gelu_linearization.paper.numbers}
    return equations | {slip.key for slip in errata()}


def _check_graph(rests: Mapping[str, tuple[str, ...]], claims: Mapping[str, Claim]) -> None:
    known = sources() | set(claims)
    for key, uses in rests.items():
        if unknown := {key, *uses} - known:
            raise ClaimError(
                f"{key} uses {', '.join(sorted(unknown))}: neither equation, erratum nor claim"
            )
    try:
        TopologicalSorter(rests).prepare()
    except CycleError as error:
        raise ClaimError(f"what rests on what goes in a circle: {error.args[1]}") from error


@cache
def _stored() -> Ledger:
    return read_ledger((files("xsquared_book.papers") / "claims.toml").read_text(encoding="utf-8"))


def ledger() -> dict[str, Claim]:
    """Every claim of both papers by its id, in the ledger's order."""
    return _stored().claims


def protocols() -> dict[str, Protocol]:
    """Every protocol by its name, in the ledger's order."""
    return _stored().protocols


def all_rests() -> dict[str, tuple[str, ...]]:
    """By claim, equation or erratum, the keys that it rests on directly."""
    return _stored().rests


def foundations(key: str) -> frozenset[str]:
    """All that a claim, an equation or an erratum rests on, directly or not."""
    rests = _stored().rests
    if not isinstance(key, str) or key not in sources() | rests.keys():
        raise ValueError(f"expected a claim, an equation or an erratum, got {quoted(key)}")
    found: set[str] = set()
    ahead = list(rests.get(key, ()))
    while ahead:
        if (one := ahead.pop()) not in found:
            found.add(one)
            ahead += rests.get(one, ())
    return frozenset(found)


def standing(holding: Mapping[str, bool], broken: Collection[str] = ()) -> dict[str, str]:
    """What becomes of the claims that hold once what they rest on is looked at.

    Args:
        holding: of settled claims, whether each holds by its own protocol.
        broken: keys of equations and errata whose proof fails.

    Returns:
        By the id of each claim that holds: empty where all that it rests on stands as printed, else
        what does not, in words.
    """
    failing = {*broken, *(key for key, holds in holding.items() if not holds)}
    amended = {slip.key for slip in errata()}
    found = {}
    for key in (key for key, holds in holding.items() if holds):
        below = foundations(key)
        if fallen := sorted(below & failing):
            found[key] = f"but what it rests on fails: {', '.join(fallen)}"
        elif mended := sorted(below & amended):
            found[key] = f"via the amended form of {', '.join(mended)}"
        else:
            found[key] = ""
    return found
