"""Each door ends every bad input in one clear line, soon and in little memory."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.doors.table import CASES, DOORS

pytestmark = pytest.mark.slow

#: A line that says what was expected, one way or another.
WANTED = re.compile(r"expect|known are|cannot|needs|takes|fits| is no| has no |only|: error: ")


def run(command: list[str], out: Path) -> tuple[int, str, list[dict]]:
    """The process's status, what it complained of, and how each case ended so far."""
    ran = subprocess.run([sys.executable, *command], capture_output=True, text=True, check=False)
    ended = {row["index"]: row for row in map(json.loads, out.read_text().splitlines())}
    return ran.returncode, ran.stderr, [ended[index] for index in range(len(ended))]


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> list[dict]:
    """How every case ended; after one that killed the runner it is started again."""
    out = tmp_path_factory.mktemp("doors") / "outcomes.jsonl"
    out.touch()
    ended: list[dict] = []
    while (before := len(ended)) < len(CASES):
        _, complaint, ended = run(["-m", "tests.doors.runner", str(out), str(before)], out)
        assert len(ended) > before, complaint
    return ended


def test_there_are_at_most_twenty_doors() -> None:
    assert len(DOORS) <= 20


@pytest.mark.parametrize("name", DOORS)
def test_a_good_call_passes(name: str) -> None:
    """Else the bad ones prove nothing."""
    DOORS[name].function(**DOORS[name].good)


@pytest.mark.parametrize("name", DOORS)
def test_bad_inputs_end_in_one_clear_line(name: str, outcomes: list[dict]) -> None:
    unclear = []
    for case, ended in zip(CASES, outcomes, strict=True):
        message = ended.get("message", "")
        if case.door == name and not (
            ended["type"] in ("ValueError", "TypeError", *DOORS[name].also)
            and ended["deliberate"]
            and "\n" not in message
            and len(message) <= 600
            and WANTED.search(message)
        ):
            unclear.append(f"{case}: {ended['type']}: {message[:200]}")
    assert not unclear, "\n".join(unclear)


def test_a_bad_input_that_hangs_or_returns_would_be_seen(tmp_path: Path) -> None:
    """The runner's own limits, on calls that exceed them."""
    probe = (
        "import sys, tests.doors.runner as runner\n"
        "from pathlib import Path\n"
        "class Case:\n"
        "    def __init__(self, call): self.call = call\n"
        "runner.SECONDS = 0.3\n"
        "runner.CASES = [Case(lambda: bytearray(2 * runner.BYTES)), Case(lambda: 1),\n"
        "    Case(lambda: [].pop()), Case(lambda: 9 ** 9 ** 9)]\n"
        "runner.main(Path(sys.argv[1]), 0)\n"
    )
    status, _, rows = run(["-c", probe, str(out := tmp_path / "out.jsonl")], out)
    assert status < 0
    assert [row["type"] for row in rows] == ["MemoryError", "returned", "IndexError", "killed"]
    assert not rows[2]["deliberate"]
