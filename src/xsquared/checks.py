"""What a function refuses at its door: numbers, arrays and sizes that it cannot work with.

Every check names the argument, what was expected and what came, in one line of bounded length, and
returns the value in the type that the code behind the door relies on.
"""

from __future__ import annotations

import math
import numbers
import reprlib
import threading
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import numpy as np

#: Largest count, seed or order: it fits into 32 bits with a sign.
MOST = 2**31 - 1
#: Numbers that one array may hold: 1 GiB of float64.
MOST_NUMBERS = 2**27

_FILTERS = threading.RLock()
_REPR = reprlib.Repr()
_REPR.maxstring = _REPR.maxother = 80


def quoted(value: object) -> str:
    """A value as an error message shows it: on one line, in at most 200 characters."""
    if isinstance(value, int) and value.bit_length() > 128:
        return f"an integer of {value.bit_length()} bits"
    text = " ".join(_REPR.repr(value).split())
    return text if len(text) <= 200 else f"{text[:140]}...{text[-57:]}"


@contextmanager
def without_warnings() -> Iterator[None]:
    """Warnings of a library, unheard; one thread at a time, as their filters are the process's."""
    with _FILTERS, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def check_choice(name: str, value: object, known: Iterable[str]) -> str:
    """One of the known names.

    Raises:
        ValueError: any other value, whatever its type.
    """
    names = list(known)
    if isinstance(value, str) and value in names:
        return value
    raise ValueError(f"unknown {name} {quoted(value)}; known are {', '.join(names)}")


def check_integer(name: str, value: object, least: int = 0, most: int = MOST) -> int:
    """An integer of Python or numpy between two bounds, both included.

    Raises:
        ValueError: another type (neither a bool nor a float is an integer), or out of bounds.
    """
    if isinstance(value, int | np.integer) and not isinstance(value, bool):
        value = int(value)
        if least <= value <= most:
            return value
    bounds = f">= {least}" if most == MOST else f"from {least} to {most}"
    if most == MOST and isinstance(value, int) and value > most:
        bounds = f"<= {most}"
    raise ValueError(f"{name}: expected an integer {bounds}, got {quoted(value)}")


def check_integers(name: str, values: object, least: int = 0) -> list[int]:
    """At least one integer, each as :func:`check_integer` wants it.

    Raises:
        ValueError: no list of integers, an empty one, or an integer out of bounds.
    """
    if not isinstance(values, Iterable) or isinstance(values, str):
        raise ValueError(f"{name}: expected a list of integers, got {quoted(values)}")
    found = [check_integer(name, value, least) for value in values]
    if not found:
        raise ValueError(f"{name}: expected at least one integer, got none")
    return found


def check_number(
    name: str,
    value: object,
    *,
    least: float = -math.inf,
    above: float = -math.inf,
    most: float = math.inf,
) -> float:
    """A finite real number, ``least <= value <= most`` and ``above < value``.

    Raises:
        ValueError: another type (a bool is no number), not finite, or out of bounds.
    """
    if isinstance(value, numbers.Real) and not isinstance(value, bool):
        try:
            number = float(value)
        except OverflowError:  # an integer beyond float64
            number = math.inf
        if math.isfinite(number) and above < number and least <= number <= most:
            return number
    bounds = [(">", above), (">=", least), ("<=", most)]
    named = [f"{sign} {bound:g}" for sign, bound in bounds if math.isfinite(bound)]
    wanted = " ".join(["expected a finite number", " and ".join(named)]).rstrip()
    raise ValueError(f"{name}: {wanted}, got {quoted(value)}")


def check_array(name: str, values: object) -> np.ndarray:
    """Real numbers of any precision, integers, lists or tensors as one float64 array.

    Args:
        name: how the message calls them.
        values: whatever numpy reads as an array.

    Raises:
        ValueError: bool, complex, text, object or masked data, or ragged rows.
    """
    # Nothing to convert, as at each step of a solver.
    if type(values) is np.ndarray and values.dtype == np.float64:
        return values
    wanted = f"{name}: expected real numbers"
    if hasattr(values, "detach"):  # a tensor that autograd follows
        values = values.detach()
    try:
        # numpy reads [True, 2.0] as two numbers, and what the masks of several arrays hide too.
        parts = list(_parts(values))
        masked = any(isinstance(part, np.ma.MaskedArray) for part in parts)
        array = np.empty(0) if masked else np.asarray(values)
    except (TypeError, ValueError, OverflowError, RuntimeError):
        raise ValueError(f"{wanted} of one shape, got {quoted(values)}") from None
    if masked:
        raise ValueError(f"{wanted}, got a masked array")
    mixed = any(isinstance(v, bool) or str(getattr(v, "dtype", "")).endswith("bool") for v in parts)
    if mixed or array.dtype.kind not in "iuf":
        raise ValueError(f"{wanted}, got {'bool' if mixed else array.dtype} in {quoted(values)}")
    with np.errstate(over="ignore"):
        return array.astype(np.float64, copy=False)


def check_finite_array(name: str, values: object, ndim: int | None = None) -> np.ndarray:
    """An array as :func:`check_array` gives it, of finite numbers and so many axes, any where None.

    Raises:
        ValueError: as there, values that are not finite in float64, or another number of axes.
    """
    array = check_array(name, values)
    if not (finite := np.isfinite(array)).all():
        place = tuple(int(i) for i in np.argwhere(~finite)[0])
        found = f"{array[place]} at index {place}"
        raise ValueError(f"{name}: expected finite real numbers, got {found}")
    if ndim is not None and array.ndim != ndim:
        raise ValueError(f"{name}: expected {ndim} axes, got shape {array.shape}")
    return array


def _parts(values: object) -> Iterator[object]:
    """What lists and tuples hold, at any depth."""
    if isinstance(values, list | tuple):
        for value in values:
            yield from _parts(value)
    else:
        yield values


def check_size(name: str, *shape: int) -> None:
    """Refuse an array larger than memory should hold, before it is allocated.

    Raises:
        ValueError: more than :data:`MOST_NUMBERS` numbers.
    """
    if math.prod(shape) > MOST_NUMBERS:
        sizes = " x ".join(quoted(size) for size in shape)
        raise ValueError(f"{name}: expected at most {MOST_NUMBERS} numbers, got {sizes}")
