"""Every public function ends every bad input in one clear line, soon and in little memory."""

from __future__ import annotations

import importlib
import inspect
import json
import pkgutil
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import xsquared
from tests.fuzz.table import CASES, DOORS, EXEMPT

pytestmark = pytest.mark.slow

#: A line that says what was expected, one way or another.
WANTED = re.compile(r"expect|known are|cannot|needs|takes|fits| is no| has no |only|: error: ")


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> list[dict]:
    """How every case of the table ended; after one that killed the runner it is started again."""
    out = tmp_path_factory.mktemp("fuzz") / "outcomes.jsonl"
    out.touch()
    ended: dict[int, dict] = {}
    while len(ended) < len(CASES):
        command = [sys.executable, "-m", "tests.fuzz.runner", str(out), str(len(ended))]
        ran = subprocess.run(command, capture_output=True, text=True, check=False)
        before = len(ended)
        ended = {row["index"]: row for row in map(json.loads, out.read_text().splitlines())}
        assert len(ended) > before, ran.stderr
    return [ended[index] for index in range(len(CASES))]


@pytest.mark.parametrize("name", DOORS)
def test_a_good_call_passes(name: str) -> None:
    """Else the bad ones prove nothing."""
    DOORS[name].good_call()


@pytest.mark.parametrize("name", DOORS)
def test_bad_inputs_end_in_one_clear_line(name: str, outcomes: list[dict]) -> None:
    unclear = []
    for case, ended in zip(CASES, outcomes, strict=True):
        if case.door != name:
            continue
        message = ended.get("message", "")
        if not (
            ended["type"] in ("ValueError", "TypeError", *DOORS[name].also)
            and ended["deliberate"]
            and "\n" not in message
            and len(message) <= 600
            and WANTED.search(message)
        ):
            unclear.append(f"{case}: {ended['type']}: {message[:200]}")
    assert not unclear, "\n".join(unclear)


def test_the_table_is_large() -> None:
    assert len(CASES) >= 300
    assert max(Counter(str(case) for case in CASES).values()) == 1


def public_functions() -> set[str]:
    """Every function that a module of the package defines without an underscore."""
    found = set()
    for module in pkgutil.walk_packages(xsquared.__path__, "xsquared."):
        if module.name.endswith("__main__"):
            continue
        for name, thing in vars(importlib.import_module(module.name)).items():
            here = getattr(thing, "__module__", None) == module.name
            if here and not name.startswith("_") and inspect.isroutine(inspect.unwrap(thing)):
                found.add(f"{module.name.removeprefix('xsquared.')}.{name}")
    return found


def test_every_public_function_has_bad_inputs_or_a_reason() -> None:
    functions = public_functions()
    exempt = {name for name in functions if any(re.fullmatch(key, name) for key in EXEMPT)}
    assert functions - set(DOORS) - exempt == set()
    assert exempt & set(DOORS) == set()
    assert [key for key in EXEMPT if not any(re.fullmatch(key, name) for name in functions)] == []


def test_doors_beyond_functions_exist() -> None:
    """Methods and classes of the table bear the names of things that are there."""
    for name in set(DOORS) - public_functions():
        module, *path = re.split(r"\.(?=[A-Z])", name, maxsplit=1)
        thing = importlib.import_module(f"xsquared.{module}".removesuffix("."))
        for part in path[0].split("."):
            thing = getattr(thing, part)


def test_a_bad_input_that_hangs_or_returns_would_be_seen(tmp_path: Path) -> None:
    """The runner's own limits, on calls that exceed them."""
    probe = (
        "import sys, tests.fuzz.runner as runner\n"
        "from pathlib import Path\n"
        "class Case:\n"
        "    def __init__(self, call): self.call = call\n"
        "runner.SECONDS = 0.3\n"
        "runner.CASES = [Case(lambda: bytearray(2 * runner.BYTES)), Case(lambda: 1),\n"
        "    Case(lambda: [].pop()), Case(lambda: 9 ** 9 ** 9)]\n"
        "runner.main(Path(sys.argv[1]), 0)\n"
    )
    out = tmp_path / "out.jsonl"
    ran = subprocess.run([sys.executable, "-c", probe, str(out)], capture_output=True, check=False)
    assert ran.returncode < 0
    rows = {row["index"]: row for row in map(json.loads, out.read_text().splitlines())}
    assert [rows[i]["type"] for i in range(4)] == [
        "MemoryError",
        "returned",
        "IndexError",
        "killed",
    ]
    assert not rows[2]["deliberate"]
