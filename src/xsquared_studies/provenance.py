"""What made a result: the sources that a function reaches, the packages, a reader's own records.

Followed are imports of this package and of the function's own, at the top of a module or inside a
function. Changing plotting or the book changes no fingerprint, nor does a comment or a docstring;
changing a trainer, the data, or the version of a package that computes does. Left out are this
package's modules that store and run trials, which carry results but do not compute them.
"""

from __future__ import annotations

import ast
import dis
import hashlib
import importlib
import json
import platform
import sys
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from importlib.metadata import version
from importlib.util import find_spec, resolve_name
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType, NoneType

import numpy as np
import torch

from xsquared import units
from xsquared.checks import quoted
from xsquared.units import Gate, Unit


def _clock() -> float:
    """Seconds on a clock that nobody sets, which goes on while the machine sleeps."""
    boot = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic() if boot is None else time.clock_gettime(boot)


#: What this process runs was read before or soon after this moment.
_LOADED = _clock()
_CARRIERS = tuple(
    f"xsquared_studies.{name}"
    for name in ("trial", "store", "executors", "provenance", "sweep", "committed", "declared")
)
_PACKAGES = ("numpy", "scipy", "scikit-learn", "torch")
#: Whose functions and classes their names describe, as sources and versions are summed anyway.
_COMPUTE = {"xsquared", "xsquared_studies", "numpy", "scipy", "torch", *sys.stdlib_module_names}
_GLOBAL = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS")
#: By what a function reaches values whose names its code does not show.
_HIDING = {"globals", "vars", "eval", "exec", "__import__", "open"}
#: What a class holds beside what it computes with.
_BESIDE = {
    *("__module__", "__qualname__", "__doc__", "__dict__", "__weakref__", "__annotations__"),
    *("__dataclass_fields__", "__dataclass_params__", "__firstlineno__", "__static_attributes__"),
}


@cache
def fingerprint(function: Callable[..., object]) -> str:
    """The sum of what computes when a function runs; kept for the life of the process.

    Raises:
        ValueError: a function that other processes could not import.
        RuntimeError: a source that changed after this process had started, so that what runs may
            not be what is read.
    """
    digest = hashlib.sha256(versions().encode())
    for name, path in sorted(sources(function).items()):
        # Ages, as the date may be set meanwhile. One in the future says nothing about a change.
        if 0 <= time.time() - path.stat().st_mtime < _clock() - _LOADED:
            raise RuntimeError(
                f"{path.name} changed after this process had loaded xsquared: start a new one, so "
                "that results are not filed under sources that did not make them"
            )
        digest.update(f"{name}\0{_code(path.read_text(encoding='utf-8'))}\0".encode())
    return digest.hexdigest()[:16]


@cache
def versions() -> str:
    """Python and the packages that compute, each with its version."""
    python = f"Python {sys.version_info[0]}.{sys.version_info[1]}, {platform.machine()}"
    return ", ".join([python, *(f"{name} {version(name)}" for name in _PACKAGES)])


def write_origin(path: Path, origin: Mapping[str, object]) -> None:
    """What made a table, as TOML beside it."""
    lines = [f"{key} = {json.dumps(value)}" for key, value in origin.items()]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8", newline="\n")


def own_records(unit: Unit) -> tuple[Gate | Unit, ...]:
    """The gates and the unit behind a unit that a reader has registered, gates first."""
    known = units.UNITS[unit.name]
    records: dict[Gate | Unit, None] = dict.fromkeys((unit.gate, known.gate, known))
    return tuple(record for record in records if record.name not in units.BUILT_IN)


def identity(sources: str, records: tuple[Gate | Unit, ...]) -> str:
    """A fingerprint of sources, with that of a reader's own records where a trial uses any.

    Raises:
        ValueError: a record that holds what has no description, as compiled code.
    """
    if not records:
        return sources
    text = "\0".join(_described(record, ()) for record in records)
    return f"{sources}-{hashlib.sha256(text.encode()).hexdigest()[:16]}"


def _described(thing: object, above: tuple[int, ...]) -> str:
    """What a record, or anything in it, computes: the same text in every process.

    Bytecode rather than source, which a notebook's worker process does not have; with the values of
    the names that it uses. What belongs to packages is described by its name alone, as their
    versions are summed anyway: what is set in them while they run (``sys.modules``, ``os.environ``)
    is not seen. Refused are instances of what extends a package's class, as there may be values in
    them that nothing here sees, but for ``torch.nn.Module``; and modules of the reader's own, whose
    names can be imported one by one.
    """
    if id(thing) in above:
        return "above"
    if name := _packaged(thing):
        return name
    kind = type(thing)
    if kind in (bool, int, float, complex, str, bytes, NoneType):
        return repr(thing)
    parts: object
    match thing:
        case np.ndarray() | np.generic() if (
            kind.__module__ == "numpy" and not thing.dtype.hasobject
        ):
            content = hashlib.sha256(np.ascontiguousarray(thing).tobytes()).hexdigest()
            return f"{thing.dtype}{thing.shape}{content}"
        case torch.Tensor() if _packaged(kind) and not vars(thing):
            try:
                return f"tensor {_described(thing.detach().cpu().numpy(), above)}"
            except (RuntimeError, TypeError):  # of a kind that numpy has not
                raise _unknown(thing) from None
        case list() | tuple() if kind in (list, tuple):
            inside = ",".join(_described(part, (*above, id(thing))) for part in thing)
            return f"{kind.__name__}({inside})"
        case set() | frozenset() if kind in (set, frozenset):
            return f"set{sorted(_described(part, above) for part in thing)}"
        case dict() if kind in (dict, OrderedDict):
            parts = [*thing.items()]
        case MethodType():
            parts = (thing.__func__, thing.__self__)
        case partial() if kind is partial:
            parts = (thing.func, thing.args, thing.keywords, vars(thing))
        case FunctionType():
            used = {name: thing.__globals__.get(name) for name in sorted(_names(thing.__code__))}
            cells = [cell.cell_contents for cell in thing.__closure__ or ()]
            parts = (thing.__code__, thing.__defaults__, thing.__kwdefaults__, cells)
            parts = (*parts, vars(thing), used)
        case CodeType():
            parts = (thing.co_code, thing.co_names, thing.co_consts)
        case type():
            own = {name: value for name, value in vars(thing).items() if name not in _BESIDE}
            parts = (kind, thing.__bases__, own)
        case Gate() | Unit():
            parts = vars(thing)
        case _ if hasattr(thing, "__dict__") and _is_own(kind):
            parts = (kind, vars(thing))
        case _:
            raise _unknown(thing)
    return f"{kind.__name__}{_described(parts, (*above, id(thing)))}"


def _packaged(thing: object) -> str:
    """The name under which a package has a module, function or class; empty if none has it."""
    if isinstance(thing, ModuleType):
        name = thing.__name__
        return name if _is_summed(name) and sys.modules.get(name) is thing else ""
    module, name = str(getattr(thing, "__module__", "")), getattr(thing, "__qualname__", "")
    kinds = type | FunctionType | BuiltinFunctionType | np.ufunc
    if not isinstance(thing, kinds) or not _is_summed(module):
        return ""
    found: object = sys.modules.get(module)
    for part in name.split("."):  # as a function may bear the name of one that it wraps
        found = getattr(found, part, None)
    plain = isinstance(thing, BuiltinFunctionType) and isinstance(
        getattr(thing, "__self__", None), ModuleType | None
    )
    return f"{module}.{name}" if plain or found is thing else ""


def _is_own(kind: type) -> bool:
    """Whether all that instances hold stands in their ``__dict__``."""
    bases = (base for base in kind.__mro__[:-1] if _is_summed(base.__module__))
    plain = all(issubclass(base, torch.nn.Module) for base in bases)
    return plain and not issubclass(kind, torch.jit.ScriptModule)


def _unknown(thing: object) -> ValueError:
    return ValueError(
        f"results cannot be stored for what computes with {quoted(thing)}: nothing tells it from "
        "another of its kind; write it as a function of numbers and arrays"
    )


def _is_summed(module: str) -> bool:
    """Whether a module's versions or sources are in the fingerprint."""
    return module.partition(".")[0] in _COMPUTE


def _names(code: CodeType) -> set[str]:
    """The global names that code uses, in functions inside it as well.

    Raises:
        ValueError: names behind which there may be anything.
    """
    steps = [(step.opname, step.argval) for step in dis.get_instructions(code)]
    imported = {name for does, name in steps if does == "IMPORT_NAME" and not _is_summed(name)}
    for name in sorted(_HIDING.intersection(code.co_names) | imported):
        raise _unknown(name)
    inside = (constant for constant in code.co_consts if isinstance(constant, CodeType))
    return {name for does, name in steps if does in _GLOBAL}.union(*map(_names, inside))


def _code(text: str) -> str:
    """A source without comments, docstrings and layout."""
    tree = ast.parse(text)
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    for node in ast.walk(tree):
        if isinstance(node, documented) and ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:]
    return ast.dump(tree)


def sources(function: Callable[..., object]) -> dict[str, Path]:
    """The modules that a function reaches, by name, and their files."""
    root, name = function.__module__, function.__qualname__
    if root == "__main__" or getattr(importlib.import_module(root), name, None) is not function:
        raise ValueError(
            f"expected a function at the top of an importable module, got {root}.{name}: worker "
            "processes import it by that name"
        )
    return _reached(root, "xsquared", "xsquared_studies", root.partition(".")[0])


def _reached(root: str, *packages: str) -> dict[str, Path]:
    """The modules of some packages that a module imports, and those that these do, with files."""
    found: dict[str, Path] = {}
    waiting = [root]
    while waiting:
        module = waiting.pop()
        if module in found or module in ("xsquared", "xsquared_studies", *_CARRIERS):
            continue
        if module.partition(".")[0] not in packages or (path := _source(module)) is None:
            continue
        found[module] = path
        waiting += _imports(module, path)
        waiting += [module.rpartition(".")[0]] if "." in module else []
    return dict(sorted(found.items()))


def _source(module: str) -> Path | None:
    """A module's file; None for what is no module, as the ``target`` of ``functions.target``."""
    try:
        spec = find_spec(module)
    except ModuleNotFoundError:
        return None
    if spec is None or spec.origin is None or not spec.origin.endswith(".py"):
        return None
    return Path(spec.origin)


def _imports(module: str, path: Path) -> Iterator[str]:
    """Names that may be modules imported by a module."""
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = resolve_name("." * node.level + (node.module or ""), package)
            yield base
            yield from (f"{base}.{alias.name}" for alias in node.names)
