"""Runs every bad input of the table under limits of time and memory, in a process of its own.

``python -m tests.doors.runner OUT FIRST`` appends a line of JSON before each case from FIRST on,
and one after it that says how it ended. A case that takes too long kills the process: its first
line says which it was. Memory is limited above what the process holds: beyond, Python raises.
"""

import json
import linecache
import resource
import signal
import sys
import time
import traceback
import warnings
from pathlib import Path

import xsquared
from tests.doors.table import CASES

SECONDS = 5.0
BYTES = 2**30


def held() -> int:
    """Bytes of address space that this process has."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    return pages * resource.getpagesize()


def deliberate(error: BaseException) -> bool:
    """Whether a ``raise`` of the project ended the call, rather than an accident further down."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    # The table itself raises what the command line says.
    ours = Path(last.filename).is_relative_to(Path(xsquared.__file__).parents[1])
    ours = ours or last.name == "command"
    return ours and linecache.getline(last.filename, last.lineno or 0).lstrip().startswith("raise ")


def outcome(index: int) -> dict[str, object]:
    """How one case ended."""
    began = time.perf_counter()
    ended: dict[str, object] = {"type": "returned", "message": "", "deliberate": False}
    try:
        CASES[index].call()
    except BaseException as error:
        ended = {"type": type(error).__name__, "message": str(error)}
        ended["deliberate"] = deliberate(error)
    return ended | {"index": index, "seconds": time.perf_counter() - began}


def main(out: Path, first: int) -> None:
    """All cases from the first on."""
    warnings.simplefilter("error")
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    with out.open("a", encoding="utf-8") as lines:
        for index in range(first, len(CASES)):
            print(json.dumps({"index": index, "type": "killed"}), file=lines, flush=True)
            resource.setrlimit(resource.RLIMIT_AS, (held() + BYTES, hard))
            signal.setitimer(signal.ITIMER_REAL, SECONDS)  # SIGALRM ends the process
            ended = outcome(index)
            signal.setitimer(signal.ITIMER_REAL, 0)
            print(json.dumps(ended), file=lines, flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
