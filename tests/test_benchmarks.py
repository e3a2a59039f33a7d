"""What is run by hand still starts: its imports and arguments are those of the package."""

import subprocess
import sys
from pathlib import Path

import pytest

FILES = sorted((Path(__file__).parents[1] / "benchmarks").glob("*.py"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
@pytest.mark.slow
def test_a_benchmark_starts(file: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(file), "--help"], capture_output=True, text=True, check=False
    )
    assert done.stdout.startswith(f"usage: {file.name}"), done.stderr
