"""Waiting for another process, which may never do what is waited for."""

import time
from collections.abc import Callable
from pathlib import Path


def wait_until(true: Callable[[], bool], what: str, seconds: float = 480.0) -> None:
    """Poll, for less long than a test may take; raise TimeoutError with the name."""
    end = time.monotonic() + seconds
    while not true():
        if time.monotonic() > end:
            raise TimeoutError(f"waited {seconds:.0f} s in vain: {what}")
        time.sleep(0.005)


def ended(process: int) -> bool:
    """Whether the process of that id has ended, whoever collects it."""
    try:
        stat = Path(f"/proc/{process}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return True
    return stat.rpartition(")")[2].split()[0] == "Z"
