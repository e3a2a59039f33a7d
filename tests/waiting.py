"""Waiting for another process, which may never do what is waited for."""

from __future__ import annotations

import time
from collections.abc import Callable


def wait_until(true: Callable[[], bool], what: str, seconds: float = 480.0) -> None:
    """Poll.

    Args:
        true: whether it has happened.
        what: the same in words.
        seconds: how long to wait: for what never happens, as a busy machine takes minutes; less
            than a test may take, so that the message is seen.

    Raises:
        TimeoutError: it has not happened; the message says what.
    """
    end = time.monotonic() + seconds
    while not true():
        if time.monotonic() > end:
            raise TimeoutError(f"waited {seconds:.0f} s in vain: {what}")
        time.sleep(0.005)
