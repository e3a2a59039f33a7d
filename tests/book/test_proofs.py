"""Marks come from a test run: a proof that fails, or none, stops the book."""

import json
import shutil
from pathlib import Path

import pytest

from xsquared_book.project import BookError, Project
from xsquared_book.proofs import Proof, read_proofs, run_proofs

ROOT = Path(__file__).parents[2]

TESTS = """
import pytest

@pytest.mark.proves("gu-eq1")
@pytest.mark.parametrize("key", ["gu-eq1"])
def test_steps(key, record_property):
    record_property("checks", 2)

@pytest.mark.proves("gu-eq1")
def test_printed(record_property):
    record_property("as_printed", False)

@pytest.mark.proves("xs-ours")
def test_ours():
    assert {ours}

def test_unmarked():
    raise AssertionError("not part of the proofs")
"""


@pytest.fixture
def proving_project(small_project: Project) -> Project:
    tests = small_project.root / "tests"
    tests.mkdir()
    shutil.copy(ROOT / "tests" / "conftest.py", tests)
    shutil.copy(ROOT / "tests" / "small_project.py", tests)
    (tests / "__init__.py").touch()
    shutil.copy(ROOT / "pyproject.toml", small_project.root)
    return small_project


@pytest.mark.slow
def test_outcomes_are_recorded_per_key(proving_project: Project) -> None:
    (proving_project.root / "tests" / "test_a.py").write_text(TESTS.format(ours=True))
    proofs = run_proofs(proving_project)
    assert sorted(proofs) == ["gu-eq1", "xs-ours"]
    eq1 = proofs["gu-eq1"]
    assert eq1.passed
    assert eq1.as_printed is False
    assert eq1.test_name == "test_a.py::test_printed, test_a.py[gu-eq1]"
    assert eq1.counted == "3 checks"
    assert len(eq1.tests) == 2
    assert proofs["xs-ours"].as_printed is None
    assert proofs["xs-ours"].counted == "1 check"


@pytest.mark.slow
def test_failing_proof_stops_the_book_and_is_named(proving_project: Project) -> None:
    (proving_project.root / "tests" / "test_a.py").write_text(TESTS.format(ours=False))
    with pytest.raises(BookError, match="test_ours"):
        run_proofs(proving_project)
    assert not read_proofs(proving_project.proofs)["xs-ours"].passed


@pytest.mark.slow
def test_no_proofs_at_all_stops_the_book(proving_project: Project) -> None:
    with pytest.raises(BookError, match="the proofs do not pass"):
        run_proofs(proving_project)


def test_one_failed_test_fails_the_proof(tmp_path: Path) -> None:
    path = tmp_path / "proofs.json"
    row = {"tests": {"tests/test_a.py::x[1]": "passed", "tests/test_a.py::x[2]": "failed"}}
    told = {"checks": 2, "as_printed": True, "links": [["a", "b = b", "0"]]}
    path.write_text(json.dumps({"k": row | told}))
    links = (("a", "b = b", "0"),)
    assert read_proofs(path)["k"] == Proof("k", tuple(row["tests"]), 2, False, True, links)
    with pytest.raises(BookError, match="xsquared book"):
        read_proofs(tmp_path / "none.json")
