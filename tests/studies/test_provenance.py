"""The sum of a function's sources: what it follows, and that a change shows."""

import importlib
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial, wraps
from importlib.metadata import version
from pathlib import Path
from textwrap import dedent
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from tests.studies.trainers import measure, swept, trials
from xsquared.units import Gate, Unit, find_unit
from xsquared_studies import Store, fingerprint, provenance
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


def scaled(z: Tensor) -> Tensor:
    """A helper of a gate."""
    return SCALE * z


def sigmoid_of_scaled(z: Tensor) -> Tensor:
    return torch.sigmoid(scaled(z))


def record_sums(gate: Callable = sigmoid_of_scaled) -> str:
    """Identity of a unit whose gate and helper are these tests' own."""
    return identity("f", (Gate("own_gate", gate), Unit("own", (("U", "u"),), "own_gate")))


def test_records_of_ones_own_are_part_of_a_rows_identity(monkeypatch: pytest.MonkeyPatch) -> None:
    before = record_sums()
    assert before.startswith("f-")
    assert record_sums() == before
    assert record_sums(gate=lambda z: torch.sigmoid(scaled(2 * z))) != before
    assert record_sums(gate=partial(torch.pow, exponent=2)) != before
    with monkeypatch.context() as other:
        other.setitem(globals(), "SCALE", 3.0)
        assert record_sums() != before

    def scaled_again(z: Tensor) -> Tensor:
        """A helper of a gate."""
        # Another comment, another place: the same gate.
        return SCALE * z

    monkeypatch.setitem(globals(), "scaled", scaled_again)
    assert record_sums() == before
    assert identity("f", own_records(find_unit("glu"))) == "f"


WEIGHTS = np.zeros(3000)


class Scaled:
    """A gate that is an object's method."""

    def __init__(self, factor: float) -> None:
        self.factor = factor

    def value(self, z: Tensor) -> Tensor:
        return self.factor * z


def nested(z: Tensor) -> Tensor:
    """A gate whose constants stand in functions inside it."""

    def inside(z: Tensor) -> Tensor:
        return (lambda w: SCALE * w)(z)

    return inside(z) + float(WEIGHTS.sum())


def test_whatever_a_gate_computes_with_is_part_of_its_identity(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = record_sums(gate=nested)
    with monkeypatch.context() as other:
        other.setitem(globals(), "SCALE", 3.0)
        assert record_sums(gate=nested) != before
    changed = WEIGHTS.copy()
    changed[1500] = 1.0
    with monkeypatch.context() as other:
        other.setitem(globals(), "WEIGHTS", changed)
        assert record_sums(gate=nested) != before
    assert record_sums(gate=nested) == before
    assert record_sums(gate=Scaled(2.0).value) == record_sums(gate=Scaled(2.0).value)
    assert record_sums(gate=Scaled(2.0).value) != record_sums(gate=Scaled(3.0).value)


class Slotted:
    __slots__ = ("factor",)


class Attributes(dict):
    """A data type with attributes."""


def numbered(kind: str, factor: float) -> Callable:
    """A gate that finds its factor where bytecode and globals do not show it."""
    held: Any = Attributes()
    held.factor = factor
    if kind == "function's attribute":

        def value(z: Tensor) -> Tensor:
            return own.factor * z

        own: Any = value
        own.factor = factor
        return value
    if kind == "a package's name":
        return wraps(torch.nn.functional.silu)(lambda z: factor * z)
    if kind == "call that is an object":
        return type("Call", (), {"__call__": partial(torch.mul, torch.tensor(factor))})()
    if kind == "slot":
        slotted = type("Open", (Slotted,), {})()
        slotted.factor = factor
        return lambda z: slotted.factor * z
    if kind == "masked":
        masked = np.ma.masked_array([2.0, 3.0], [factor == 2.0, factor == 3.0])
        return lambda z: float(masked.sum()) * z
    if kind == "ufunc":
        ufunc = np.frompyfunc(lambda number: factor * number, 1, 1)
        return lambda z: torch.tensor(ufunc(z.numpy()).astype(float))
    if kind == "tensor's attribute":
        tensor: Any = torch.ones(1)
        tensor.factor = factor
        return lambda z: tensor.factor * z
    return lambda z: held.factor * z


@pytest.mark.parametrize(
    ("kind", "stored"),
    [
        *(("function's attribute", True), ("a package's name", True)),
        *(("call that is an object", True), ("slot", False), ("masked", False), ("ufunc", False)),
        *(("data type's attribute", False), ("tensor's attribute", False)),
    ],
)
def test_what_bytecode_and_globals_do_not_show_counts_or_is_refused(
    kind: str, stored: bool
) -> None:
    if stored:
        assert record_sums(gate=numbered(kind, 2.0)) == record_sums(gate=numbered(kind, 2.0))
        assert record_sums(gate=numbered(kind, 2.0)) != record_sums(gate=numbered(kind, 3.0))
    else:
        with pytest.raises(ValueError, match="results cannot be stored for what computes with"):
            record_sums(gate=numbered(kind, 2.0))


@pytest.mark.parametrize("kind", ["sparse", "bfloat16"])
def test_tensors_that_numpy_has_not_are_refused(kind: str) -> None:
    tensor = torch.ones(2).to_sparse() if kind == "sparse" else torch.ones(2, dtype=torch.bfloat16)
    with pytest.raises(ValueError, match="results cannot be stored for what computes with"):
        record_sums(gate=lambda z: tensor.sum() * z)


class Doubled:
    def __call__(self, z: Tensor) -> Tensor:
        return 2.0 * z


class Trebled:
    def __call__(self, z: Tensor) -> Tensor:
        return 3.0 * z


Trebled.__qualname__, Trebled.__name__ = Doubled.__qualname__, Doubled.__name__


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (lambda z: sum(2.0 * z for _ in (1,)), lambda z: sum(3.0 * z for _ in (1,))),
        (lambda z: sum([2.0 * z for _ in (1,)]), lambda z: sum([3.0 * z for _ in (1,)])),
        (Doubled(), Trebled()),
    ],
    ids=["generator", "comprehension", "call"],
)
def test_constants_of_comprehensions_and_calls_count(one: Callable, other: Callable) -> None:
    assert record_sums(gate=one) != record_sums(gate=other)


class Kind(type):
    """A class of classes, with a constant."""

    factor = 2.0

    def times(cls, z: Tensor) -> Tensor:
        return cls.factor * z


class Made(metaclass=Kind):
    """A class whose constants are its own class's."""


def test_constants_of_a_metaclass_count(monkeypatch: pytest.MonkeyPatch) -> None:
    before = record_sums(gate=lambda z: Made.times(z))
    monkeypatch.setattr(Kind, "factor", 3.0)
    assert record_sums(gate=lambda z: Made.times(z)) != before


def test_names_that_hide_what_computes_are_refused() -> None:
    def importing(z: Tensor) -> Tensor:
        from tests.studies.trainers import SOURCES

        return z * len(SOURCES)

    made = ModuleType("made")  # without a source
    vars(made)["factor"] = 2.0
    named = ModuleType("numpy")  # after a package
    vars(named)["factor"] = 2.0
    for gate in (
        importing,
        lambda z: named.factor * z,
        lambda z, module=sys.modules[__name__]: module.SCALE * z,
        lambda z: made.factor * z,
        lambda z: globals()["SCALE"] * z,
        lambda z: (lambda: eval("SCALE"))() * z,
    ):
        with pytest.raises(
            ValueError, match=r"results cannot be stored .* '?(tests|<module '|glob|eval)"
        ):
            record_sums(gate=gate)


def test_a_module_of_ones_own_is_refused_and_what_is_imported_of_it_counts(write: Write) -> None:
    lab = importlib.import_module("lab.helper")
    with pytest.raises(ValueError, match=r"results cannot be stored .* <module 'lab\.helper'"):
        record_sums(gate=lambda z: lab.FACTOR * z)
    write("other", "FACTOR = 2.0\ndef run(z):\n    return FACTOR * z\n")
    run = importlib.import_module("lab.other").run
    before = record_sums(gate=lambda z: run(z))
    assert record_sums(gate=lambda z: run(z)) == before
    run.__globals__["FACTOR"] = 4.0  # as a notebook sets it
    assert record_sums(gate=lambda z: run(z)) != before


@pytest.mark.parametrize(
    ("gate", "identified"),
    [("torch.tanh", True), ("torch.nn.GELU()", True), ("torch.jit.script(torch.nn.GELU())", False)],
)
def test_compiled_gates_have_an_identity_that_lasts_or_are_refused(
    gate: str, identified: bool
) -> None:
    code = (
        "import torch, warnings\n"
        "warnings.simplefilter('ignore')\n"
        "from xsquared.units import Gate\n"
        "from xsquared_studies.provenance import identity\n"
        f"try: print(identity('f', (Gate('mine', {gate}),)))\n"
        "except ValueError as error: print(error)\n"
    )
    said = {subprocess.check_output([sys.executable, "-c", code], text=True) for _ in range(2)}
    assert len(said) == 1 or not identified
    assert all(line.startswith("f-" if identified else "results cannot be") for line in said)


def test_functions_that_workers_cannot_import_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def inner() -> None: ...

    for module in (__name__, "__main__"):
        monkeypatch.setattr(inner, "__module__", module)
        with pytest.raises(ValueError, match="a function at the top of an importable module, got"):
            sources(inner)


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
