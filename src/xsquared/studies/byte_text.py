"""Bytes of Python to train small language models on, and what counting makes of them.

The text is the source code of pinned packages. A *passage* is 129 bytes of it, 128 of
which are predicted.
"""

from functools import cache

import numpy as np

from xsquared.studies.language_models import folder

#: Passages a step.
_BATCH = 8
#: Bytes of a passage that are predicted.
LENGTH = 128
#: Bytes before the first one judged in a passage: half of it.
BEFORE = LENGTH // 2
#: Kinds of bytes: ASCII's.
BYTES = 128
#: Passages judged.
_JUDGED = 1875
#: Bytes of the longest strings that are counted.
_ORDER = 6
#: Packages whose source is the text to train on, to choose rates by, and to judge by.
_PACKAGES = {
    "train": ("sympy", "scipy", "sklearn", "torch"),
    "choice": ("pandas",),
    "test": ("matplotlib",),
}


@cache
def text(part: str) -> np.ndarray:
    """Read a part's packages as bytes (N,); what is not ASCII is 127."""
    files = [
        path
        for package in _PACKAGES[part]
        for path in sorted(folder(package).rglob("*.py"))
    ]
    source = b"\n".join(path.read_bytes() for path in files)
    return np.minimum(np.frombuffer(source, np.uint8), BYTES - 1)


@cache
def passages(seed: int, steps: int) -> np.ndarray:
    """Draw the passages that a seed sees, none twice: (steps, batch, length + 1)."""
    count = len(text("train")) // (LENGTH + 1)
    cut = text("train")[: count * (LENGTH + 1)].reshape(count, -1)
    order = np.random.default_rng(seed).permutation(count)[: steps * _BATCH]
    return cut[order].reshape(steps, _BATCH, -1).astype(np.int64)


@cache
def judged(part: str) -> np.ndarray:
    """Cut passages to be judged by from all over a part: (count, length + 1)."""
    starts = np.linspace(0, len(text(part)) - LENGTH - 1, _JUDGED).astype(int)
    return text(part)[starts[:, None] + np.arange(LENGTH + 1)].astype(np.int64)


@cache
def counted(seed: int, steps: int) -> float:
    """Measure nats a byte of counts of the best number of bytes up to six.

    After Witten and Bell, from the passages that a seed sees: with c(w) the times that
    the string w was seen and k(u) the kinds of bytes that followed u,

        p(b | u) = (c(ub) + k(u) p(b | u without its first byte)) / (c(u) + k(u)),

    and p(b) before any count is one in 128.
    """
    seen = passages(seed, steps).reshape(-1, LENGTH + 1)
    windows = np.lib.stride_tricks.sliding_window_view(judged("test"), _ORDER, axis=1)
    asked = windows[:, -(LENGTH - BEFORE) :].reshape(
        -1, _ORDER
    )  # strings that end in b
    p = np.full(len(asked), 1 / BYTES)
    losses = []
    for k in range(1, _ORDER + 1):
        strings, times = _strings(seen, k)
        # Strings are sorted, so those that begin alike stand together.
        beginnings, first, kinds = np.unique(
            strings // BYTES, return_index=True, return_counts=True
        )
        totals = np.add.reduceat(times, first)
        string = _as_number(asked[:, -k:])
        at, known = _find(string, strings)
        at_beginning, begun = _find(string // BYTES, beginnings)
        count = np.where(known, times[at], 0)
        kind = kinds[at_beginning]
        smoothed = (count + kind * p) / (totals[at_beginning] + kind)
        p = np.where(begun, smoothed, p)
        losses.append(-np.log(p).mean())
    return float(min(losses))


def _strings(seen: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """List the strings of k bytes in passages, as sorted numbers, and their counts."""
    windows = np.lib.stride_tricks.sliding_window_view(seen, k, axis=1)
    return np.unique(_as_number(windows).ravel(), return_counts=True)


def _as_number(strings: np.ndarray) -> np.ndarray:
    """Read strings of bytes (..., k) as numbers to the base of 128."""
    return strings @ BYTES ** np.arange(strings.shape[-1])[::-1]


def _find(
    values: np.ndarray, sorted_values: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Find values among sorted ones: an index for each, and whether it is there."""
    at = np.minimum(np.searchsorted(sorted_values, values), len(sorted_values) - 1)
    return at, sorted_values[at] == values
