"""The sum of a function's sources: what it follows, and that a change shows."""

import importlib
import os
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from importlib.metadata import version
from pathlib import Path
from textwrap import dedent

import pytest

from tests.studies.trainers import measure, swept, trials
from xsquared_studies import Store, fingerprint, provenance
from xsquared_studies.provenance import sources

Write = Callable[[str, str], None]


def begin_anew(monkeypatch: pytest.MonkeyPatch, seconds_ago: float = 0.0) -> None:
    """As if this process had begun so long ago; a file's time may lag by a tick."""
    time.sleep(0.01)
    monkeypatch.setattr(provenance, "_LOADED", provenance._clock() - seconds_ago)


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Write]:
    """Writes modules of a package ``lab`` that can be imported, as if before this process began."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def write(name: str, text: str) -> None:
        path = tmp_path / "lab" / f"{name}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(dedent(text))
        begin_anew(monkeypatch)

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
    ours = "checks", "functions", "quadrature", "splines", "splines.spaces", "units"
    data = "data", "data.dataset", "data.problems", "data.tables"
    followed = {f"xsquared.{name}" for name in (*ours, *data)}
    assert set(sources(fresh())) == {"lab", "lab.helper", "lab.trainer"} | followed


@pytest.mark.parametrize("line", ["import xsquared as xs", "from xsquared import fit"])
def test_a_name_of_the_package_reaches_what_it_imports(line: str, write: Write) -> None:
    write("helper", f"{line}\nFACTOR = 2")
    assert "xsquared.training.first_order" in sources(fresh())


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


def test_functions_of_one_module_are_told_apart(write: Write) -> None:
    write("trainer", "def run(trial): ...\ndef other(trial): ...")
    assert fingerprint(fresh()) != fingerprint(sys.modules["lab.trainer"].other)


@pytest.mark.usefixtures("write")
def test_modules_beside_one_in_no_package_are_followed(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    alone = "import beside\nfrom folder import inside\ndef run(trial): ..."
    for name, text in (("beside", "import numpy"), ("alone", alone), ("folder/inside", "")):
        (tmp_path / f"{name}.py").write_text(text)
    importlib.invalidate_caches()
    found = sources(importlib.import_module("alone").run)
    assert set(found) == {"alone", "beside", "folder.inside"}
    for module in ("folder", *found):
        del sys.modules[module]


def test_it_is_stable_within_a_process(write: Write) -> None:
    function = fresh()
    before = fingerprint(function)
    write("helper", "FACTOR = 3.0\n")
    # What runs is still the old code, and that is what results must be filed under.
    assert fingerprint(function) == before


@pytest.mark.usefixtures("write")
@pytest.mark.parametrize("date", [None, (1e9, 1e9), (4e9, 4e9)])
def test_sources_changed_under_a_running_process_are_refused(
    tmp_path: Path, date: tuple[float, float] | None
) -> None:
    """Whatever date a copy brings along."""
    time.sleep(0.01)
    os.utime(tmp_path / "lab" / "helper.py", date)
    with pytest.raises(RuntimeError, match=r"helper\.py changed after this process had loaded"):
        fingerprint(fresh())


@pytest.mark.usefixtures("write")
def test_a_date_in_the_future_stops_no_sweep(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = fingerprint(fresh())
    os.utime(tmp_path / "lab" / "helper.py", (4e9, 4e9))
    begin_anew(monkeypatch)
    assert fingerprint(fresh()) == before


@pytest.mark.usefixtures("write")
def test_a_clock_that_was_set_meanwhile_accuses_no_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin_anew(monkeypatch, seconds_ago=60)
    now = time.time() + 3600  # the files are an hour old, this process a minute
    monkeypatch.setattr(time, "time", lambda: now)
    assert fingerprint(fresh())
    os.utime(tmp_path / "lab" / "helper.py", (now - 50, now - 50))
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


def test_functions_that_workers_cannot_import_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def inner() -> None: ...

    for module in (__name__, "__main__"):
        monkeypatch.setattr(inner, "__module__", module)
        with pytest.raises(ValueError, match="a function at the top of an importable module, as"):
            sources(inner)
    with pytest.raises(ValueError, match="a function at the top of an importable module, as"):
        sources(partial(inner))


@pytest.mark.parametrize("start", [b"\xef\xbb\xbf", b"# coding: latin-1\nN = '\xe9'\n"])
@pytest.mark.usefixtures("write")
def test_sources_are_read_in_the_encoding_that_they_name(
    tmp_path: Path, start: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "lab" / "helper.py"
    path.write_bytes(start + b"FACTOR = 2.0\n")
    begin_anew(monkeypatch)
    run = fresh()
    assert "lab.helper" in sources(run)
    assert len(fingerprint(run)) == 16


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
