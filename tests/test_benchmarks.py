"""What is run by hand still starts: its imports and arguments are those of the package."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from benchmarks.mutants import EQUIVALENT, listed, mutants

ROOT = Path(__file__).parents[1]
LISTED = (ROOT / EQUIVALENT).read_text(encoding="utf-8")
FILES = sorted((ROOT / "benchmarks").glob("*.py"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
@pytest.mark.slow
def test_a_benchmark_starts(file: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(file), "--help"], capture_output=True, text=True, check=False
    )
    assert done.stdout.startswith(f"usage: {file.name}"), done.stderr


def test_every_equivalent_mutant_is_one_of_the_source_as_it_is() -> None:
    entries = listed(LISTED)
    for module in {entry[0] for entry in entries}:
        source = (ROOT / f"src/{module}.py").read_text(encoding="utf-8")
        found = {mutant[:4] for mutant in mutants(module, source)}
        assert {entry for entry in entries if entry[0] == module} <= found
    assert all(len(entry["reason"]) > 20 for entry in tomllib.loads(LISTED)["line"])
