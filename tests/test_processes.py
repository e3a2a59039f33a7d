"""The environment that processes of numerics start with."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from xsquared.processes import ENVIRONMENT

FREED_AGAIN_AND_AGAIN = """
import resource
import numpy as np
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(200):
    arrays = [np.ones(2**18) for _ in range(4)]  # of two megabytes
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def page_faults(environment: dict[str, str]) -> int:
    """How often a loop that makes and drops the same arrays gets memory from the system."""
    command = [sys.executable, "-c", FREED_AGAIN_AND_AGAIN]
    return int(subprocess.check_output(command, env=environment, text=True))


def test_tests_and_replays_start_with_it() -> None:
    makefile = (Path(__file__).parents[1] / "Makefile").read_text(encoding="utf-8")
    given = re.search(r"^KERNELS := (.+)$", makefile, re.MULTILINE)
    assert given
    assert {*given[1].split()} <= {f"{name}={value}" for name, value in ENVIRONMENT.items()}
    assert sum(name in given[1] for name in ENVIRONMENT if name.startswith("MALLOC")) == 2


@pytest.mark.skipif(sys.platform != "linux", reason="another allocator, which does not read this")
def test_what_arrays_leave_is_used_again() -> None:
    plain = {name: value for name, value in os.environ.items() if name not in ENVIRONMENT}
    assert page_faults(plain | ENVIRONMENT) < page_faults(plain) / 4
