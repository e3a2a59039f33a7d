"""What is run by hand still starts: its imports and arguments are those of the package."""

import os
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


def changes(source: str) -> set[str]:
    return {mutant.mutant for mutant in mutants("toy", source)}


def test_what_is_changed_and_what_is_left_alone() -> None:
    assert changes("a < b") == {"(a <= b)", "(a > b)"}
    assert changes("if x is None: pass") == {"if (x is not None): pass"}
    assert changes("[a for a in b if a]") == {"[a for a in b if (not a)]"}
    assert changes("f(x, y)") == {"f(y, x)", "pass"}
    assert changes("y = x[:n]") == {"y = x[:(n - 1)]"}
    assert changes("y = not x") == {"y = x"}
    assert changes("y = (é - 1.0)") == {"y = ((é + 1.0))", "y = (é - 2.0)"}
    assert changes("y = max(a, b)") == {"y = min(a, b)"}
    untouched = "def f(x: tuple[1]) -> int | None: ..."
    assert changes(f"'Text.'\n@cache(1)\n{untouched}\nisinstance(x, int | str)\n") == {"pass"}
    assert changes("raise ValueError(f'{x + 1}', 2)") == {"pass"}


OLD_ENOUGH = """
def old_enough(age: int) -> bool:
    return age >= 18
"""
TESTED = """
from toy.people import old_enough

def test_ages() -> None:
    assert old_enough(20)
    assert not old_enough(17)
"""
ENTRY = """
[[line]]
module = "toy/people"
function = "old_enough"
line = "return age >= 18"
mutants = ["return (age > 18)"]
reason = "an example"
"""


@pytest.mark.slow
def test_mutants_of_a_toy(tmp_path: Path) -> None:
    """Two boundaries that its test does not look at survive, one of them as is known."""
    for name, content in {
        "pyproject.toml": "[tool.pytest.ini_options]\nmarkers = ['slow', 'network', 'browser']\n",
        "src/toy/__init__.py": "",
        "src/toy/people.py": OLD_ENOUGH,
        "tests/test_people.py": TESTED,
        str(EQUIVALENT): ENTRY,
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content, encoding="utf-8")

    # Each mutant is a run of pytest, which else loads plugins that the toy does not need.
    plugins = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": "-p xdist.plugin"}
    environment = os.environ | plugins
    command = [sys.executable, str(ROOT / "benchmarks/mutants.py"), "toy/people"]
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert "- return age >= 18\n  + return age >= 19\n" in done.stdout, done.stderr
    assert done.stdout.count("  + ") == 1
    assert done.stdout.splitlines()[-1].split() == ["drawn", "1", "3", "1", "5", "80.0"]
