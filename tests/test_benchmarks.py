"""What is run by hand still starts: its imports are those of the package."""

import runpy
import sys
from pathlib import Path

import pytest

FILES = sorted((Path(__file__).parents[1] / "benchmarks").glob("*.py"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_benchmark_starts(
    file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", [str(file), "--help"])
    with pytest.raises(SystemExit):
        runpy.run_path(str(file), run_name="__main__")
    assert capsys.readouterr().out.startswith(f"usage: {file.name}")
