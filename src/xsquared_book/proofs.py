"""Run the tests that prove equations and errata, and read what they found.

Tests marked ``proves(key)`` write their outcome through ``--proofs-to`` (``tests/conftest.py``);
the book's marks are made from that file, so a mark always stems from a test run.
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from xsquared_book.project import BookError, Project


@dataclass(frozen=True)
class Proof:
    """What the test run says of one equation or erratum.

    Attributes:
        key: of the equation or erratum.
        tests: ids of the tests that prove it.
        checks: how many statements they prove.
        passed: whether all of them passed.
        as_printed: whether the paper's printed form holds; None where the question has no sense.
        links: of the derivation: in a sentence, as sympy has it, and the residual.
    """

    key: str
    tests: tuple[str, ...]
    checks: int
    passed: bool
    as_printed: bool | None
    links: tuple[tuple[str, str, str], ...] = ()

    @property
    def test_name(self) -> str:
        """Where the tests stand, file and key or file and function."""
        places = (test.removeprefix("tests/").partition("[") for test in self.tests)
        names = {
            f"{place.partition('::')[0]}[{self.key}]" if case.startswith(self.key) else place
            for place, _, case in places
        }
        return ", ".join(sorted(names))

    @property
    def command(self) -> str:
        """What repeats them from the checkout."""
        files = " ".join(sorted({test.partition("::")[0] for test in self.tests}))
        return f".venv/bin/pytest {files}" + (f" -k {self.key}" if self.links else "")

    @property
    def counted(self) -> str:
        """The number of checks in words, ``"1 check"`` or ``"3 checks"``."""
        return f"{self.checks} check{'' if self.checks == 1 else 's'}"


def run_proofs(project: Project) -> dict[str, Proof]:
    """Run every test marked ``proves`` and record the outcomes in ``_build/proofs.json``."""
    project.build.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "pytest", "-q", "-m", "proves", "-p", "no:cacheprovider"]
    command += ["--proofs-to", str(project.proofs)]
    # Only the files that hold proofs: importing all others takes longer than the proofs.
    command += [
        str(path)
        for path in sorted((project.root / "tests").rglob("test_*.py"))
        if "mark.proves" in path.read_text(encoding="utf-8")
    ]
    run = subprocess.run(command, cwd=project.root, capture_output=True, text=True, check=False)
    if run.returncode != 0:
        raise BookError(f"the proofs do not pass:\n{run.stdout[-4000:]}{run.stderr[-2000:]}")
    return read_proofs(project.proofs)


def read_proofs(path: Path) -> dict[str, Proof]:
    """The proofs recorded in a file written by a test run."""
    if not path.is_file():
        raise BookError(f"{path} is missing: `xsquared book` runs the proofs that write it")
    record = json.loads(path.read_text(encoding="utf-8"))
    return {
        key: Proof(
            key,
            tuple(sorted(row["tests"])),
            row["checks"],
            {*row["tests"].values()} <= {"passed"},
            row["as_printed"],
            tuple((says, sides, residual) for says, sides, residual in row["links"]),
        )
        for key, row in record.items()
    }
