"""The sum of a function's sources: what it follows, and that a change shows."""

import importlib
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial, wraps
from importlib.metadata import version
from pathlib import Path
from textwrap import dedent
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from tests.studies.trainers import measure, swept, trials
from xsquared.units import Gate, Unit, find_unit, register
from xsquared_studies import Store, fingerprint, provenance
from xsquared_studies.executors import attempt, attempts
from xsquared_studies.provenance import identity, own_records, sources

Write = Callable[[str, str], None]


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Write]:
    """Writes modules of a package ``lab`` that can be imported, as if long ago."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def write(name: str, text: str) -> None:
        path = tmp_path / "lab" / f"{name}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(dedent(text))
        os.utime(path, (1e9, 1e9))

    write("__init__", "")
    write("helper", "FACTOR = 2.0\n")
    write("other", "")
    write(
        "trainer",
        """\
        import math, numpy
        from xsquared.data.problems import load

        def run(trial):
            from . import helper
            return {"value": helper.FACTOR * trial.seed}
        """,
    )
    yield write
    for name in [name for name in sys.modules if name.partition(".")[0] == "lab"]:
        del sys.modules[name]


def fresh() -> Callable:
    """The trainer as a new process would import it."""
    for name in [name for name in sys.modules if name.partition(".")[0] == "lab"]:
        del sys.modules[name]
    importlib.invalidate_caches()
    return importlib.import_module("lab.trainer").run


@pytest.mark.usefixtures("write")
def test_imports_are_followed_within_the_packages_concerned() -> None:
    ours = "checks", "data", "data.dataset", "data.problems", "data.tables", "functions", "splines"
    followed = {f"xsquared.{name}" for name in (*ours, "splines.spaces", "units")}
    assert set(sources(fresh())) == {"lab", "lab.helper", "lab.trainer"} | followed


def test_the_carriers_sources_do_not_count() -> None:
    found = sources(measure)
    assert set(found) == {"tests", "tests.studies", "tests.studies.trainers"}


@pytest.mark.parametrize(
    ("name", "text", "same"),
    [
        ("helper", "FACTOR = 3.0\n", False),
        ("helper", "FACTOR = 2.0  # two\n", True),
        ("helper", '"""Two."""\n\nFACTOR = 2.0\n', True),
        ("helper", "FACTOR = (\n    2.0\n)\n", True),
        ("helper", "FACTOR = 2.0\n", True),
        ("helper", "FACTOR = 2.0\r\n", True),
        ("__init__", "import math\n", False),
        ("other", "FACTOR = 3.0\n", True),
    ],
)
def test_changes_show(write: Write, name: str, text: str, same: bool) -> None:
    before = fingerprint(fresh())
    write(name, text)
    assert (fingerprint(fresh()) == before) == same


def test_it_is_stable_within_a_process(write: Write) -> None:
    function = fresh()
    before = fingerprint(function)
    write("helper", "FACTOR = 3.0\n")
    # What runs is still the old code, and that is what results must be filed under.
    assert fingerprint(function) == before


@pytest.mark.usefixtures("write")
def test_sources_changed_under_a_running_process_are_refused(tmp_path: Path) -> None:
    os.utime(tmp_path / "lab" / "helper.py")
    with pytest.raises(RuntimeError, match=r"helper\.py changed after this process had loaded"):
        fingerprint(fresh())


@pytest.mark.usefixtures("write")
def test_a_date_in_the_future_stops_no_sweep(tmp_path: Path) -> None:
    before = fingerprint(fresh())
    os.utime(tmp_path / "lab" / "helper.py", (4e9, 4e9))
    assert fingerprint(fresh()) == before


@pytest.mark.usefixtures("write")
def test_a_clock_that_was_set_meanwhile_accuses_no_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(provenance, "_LOADED", provenance._clock() - 60)
    saved = time.time() - 3600  # an hour old, while this process is a minute old
    for path in (tmp_path / "lab").iterdir():
        os.utime(path, (saved, saved))
    assert fingerprint(fresh())
    os.utime(tmp_path / "lab" / "helper.py", (saved + 3550, saved + 3550))
    with pytest.raises(RuntimeError, match="changed after this process had loaded"):
        fingerprint(fresh())


@pytest.mark.parametrize("package", ["torch", "numpy", "scipy", "scikit-learn"])
def test_another_version_of_what_computes_is_another_fingerprint(
    package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = fingerprint.__wrapped__(measure)
    older = lambda name: "1.0" if name == package else version(name)  # noqa: E731
    monkeypatch.setattr(provenance, "version", older)
    provenance.versions.cache_clear()
    assert fingerprint.__wrapped__(measure) != before
    monkeypatch.undo()
    provenance.versions.cache_clear()
    assert fingerprint.__wrapped__(measure) == before


SCALE = 2.0
WEIGHTS = np.zeros(3000)
HELD: dict[str, Any] = {}


def combined(z: Tensor, one: float, other: float) -> Tensor:
    return one * z * z + other * z


def combined_otherwise(z: Tensor, other: float, one: float) -> Tensor:
    """Of the same bytecode: only the names of the arguments tell them apart."""
    return other * z * z + one * z


class Scaled:
    """A gate that is an object's method."""

    def __init__(self, factor: float) -> None:
        self.factor = factor

    def value(self, z: Tensor) -> Tensor:
        return self.factor * z


def table(entry: float) -> Callable[[Tensor], Tensor]:
    """A gate that looks up one of 3,000 entries."""
    entries = torch.zeros(3000, dtype=torch.float64)
    entries[1500] = entry
    return lambda z: entries[((z.detach() + 5) * 300).long().clamp(0, 2999)] + z


def record_sums(gate: Callable = torch.tanh, **fields: Any) -> str:
    """Identity of a unit with a gate of these tests' own."""
    return identity("f", (Gate("own", gate, **fields), Unit("own", (("U", "u"),), "own")))


class Straight(torch.autograd.Function):
    """The hyperbolic tangent with another slope."""

    @staticmethod
    def forward(_: Any, z: Tensor) -> Tensor:
        return torch.tanh(z)

    @staticmethod
    def backward(_: Any, slope: Tensor) -> Tensor:
        return slope


#: Pairs of gates that share code, names or bytes, and compute differently.
PAIRS: dict[str, tuple[Callable, Callable]] = {
    "constant": (lambda z: torch.tanh(2 * z), lambda z: torch.tanh(3 * z)),
    "last bit": (lambda z: 2.0 * z, lambda z: np.nextafter(2.0, 3.0) * z),
    "object": (Scaled(2.0).value, Scaled(3.0).value),
    "arguments' names": (
        partial(combined, one=1.0, other=2.0),
        partial(combined_otherwise, one=1.0, other=2.0),
    ),
    "entry of a table": (table(0.0), table(1.0)),
    "wrapped": (wraps(torch.tanh)(lambda z: 2 * z), wraps(torch.tanh)(lambda z: 3 * z)),
    "compiled": (torch.jit.script(torch.nn.GELU()), torch.jit.script(torch.nn.SiLU())),
    "slope": (torch.tanh, Straight.apply),
    "far away": (lambda z: z.clamp(max=1e5) ** 2, lambda z: z.clamp(max=2e5) ** 2),
    "about zero": (lambda z: z.abs().sqrt(), lambda z: (z.abs() + 1e-12).sqrt()),
}


@pytest.mark.parametrize("name", PAIRS)
def test_gates_that_compute_differently_have_two_identities(name: str) -> None:
    one, other = PAIRS[name]
    assert record_sums(one) == record_sums(one)
    assert record_sums(one) != record_sums(other)


def test_gates_that_compute_the_same_have_one_identity_in_every_process() -> None:
    code = (
        "import torch\nfrom xsquared.units import Gate, Unit\n"
        "from xsquared_studies.provenance import identity\n"
        "same = torch.jit.script(torch.nn.Tanh())\n"
        "unit = Unit('own', (('U', 'u'),), 'own')\n"
        "with torch.inference_mode(): print(identity('f', (Gate('own', same), unit)))\n"
    )
    said = subprocess.check_output([sys.executable, "-W", "ignore", "-c", code], text=True)
    assert said.strip() == record_sums()
    assert identity("f", own_records(find_unit("glu"))) == "f"


@pytest.mark.parametrize("name", ["SCALE", "WEIGHTS", "HELD"])
def test_whatever_a_gate_computes_with_is_part_of_its_identity(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gate(z: Tensor) -> Tensor:
        inner = globals()["HELD"].get("inner", torch.tanh)
        return (lambda w: SCALE * inner(w))(z) + float(WEIGHTS.sum())

    before = record_sums(gate)
    values = {"SCALE": 3.0, "WEIGHTS": np.eye(3), "HELD": {"inner": torch.sigmoid}}
    monkeypatch.setitem(globals(), name, values[name])
    assert record_sums(gate) != before


def test_a_records_fields_are_part_of_its_identity() -> None:
    sums = {
        record_sums(torch.relu),
        record_sums(torch.relu, degree=1),
        identity("f", (Gate("own", torch.relu), Unit("own", (("V", "u"),), "own"))),
        identity("f", (Gate("own", torch.relu),)),
    }
    assert len(sums) == 4


def test_a_gate_that_cannot_be_evaluated_is_refused_in_one_line() -> None:
    def gate(z: Tensor) -> Tensor:
        if z.abs().max() > 100:
            raise KeyError("no\nentry")
        return torch.tanh(z)

    with pytest.raises(ValueError, match=r"stored for gate own: expected values at all z, .*entry"):
        record_sums(gate)


def test_a_worker_whose_gate_computes_otherwise_is_refused() -> None:
    """As where a module was changed while this process has the old one."""
    held = [2.0]
    register(Gate("own", lambda z: torch.tanh(held[0] * z)))
    register(Unit("own", (), "own"))
    (asked,) = attempts(measure, [replace(trials(1)[0], unit="own")])
    assert attempt(asked).fingerprint == asked.identity
    held[0] = 3.0
    with pytest.raises(RuntimeError, match="your own gates compute otherwise"):
        attempt(asked)


def test_functions_that_workers_cannot_import_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def inner() -> None: ...

    for module in (__name__, "__main__"):
        monkeypatch.setattr(inner, "__module__", module)
        with pytest.raises(ValueError, match="a function at the top of an importable module, got"):
            sources(inner)
    with pytest.raises(ValueError, match="a function at the top of an importable module, got"):
        sources(partial(inner))


def test_rows_of_other_sources_are_neither_read_nor_touched(write: Write, path: Path) -> None:
    before = swept(trials(3), fresh(), path)
    assert [r.values["value"] for r in before.results] == [0.0, 2.0, 4.0]
    write("helper", "FACTOR = 10.0\n")
    after = swept(trials(3), fresh(), path)
    assert [r.values["value"] for r in after.results] == [0.0, 10.0, 20.0]
    assert after.resumed == 0
    store = Store(path)
    assert store.results(before.results[0].fingerprint) == list(before.results)
    write("helper", "FACTOR = 2.0\n")
    again = swept(trials(3), fresh(), path)
    assert again.results == before.results
    assert again.resumed == 3
