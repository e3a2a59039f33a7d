"""Mutation testing: which wrong lines of the package does no test notice?

Run from the root: ``python benchmarks/mutants.py [MODULE ...] [--count N] [--seed S]``. Of each
module it draws mutants, each one small change of the source, and runs the nearest tests on each:
the file of the same path below ``tests``, then those beside it that import the module, then the
slow ones of the first. A mutant is killed where they fail or take far longer than without it.
Mutants that no test can tell from the original stand in ``equivalent_mutants.toml``.

The draw hangs on the seed and the mutant alone, so an edit elsewhere leaves it as it was. Rows go
to a file: run again, it tries only what is new or survived. Tests run in forks of a process that
has imported everything but the package itself; what a test starts as a new process is not mutated.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import gc
import hashlib
import importlib
import json
import os
import re
import resource
import signal
import sys
import time
import tomllib
from collections.abc import Iterator
from importlib.machinery import SourceFileLoader
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
import pytest

#: Modules are named by their path below ``src``; what tests the packages, below ``tests``.
MODULES = ("xsquared*/*", "xsquared*/*/*")
FOLDERS = {"xsquared_book/papers": "papers", "xsquared_book": "book", "xsquared_studies": "studies"}
EQUIVALENT = Path("benchmarks/equivalent_mutants.toml")
FAST, SLOW = (f"{word} and not network and not browser" for word in ("not slow", "slow"))
PYTEST = ["-x", "-q", "-n0", "-p", "no:cacheprovider"]
# hypothesis is imported before pytest, which would rewrite it.
PYTEST += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]
OPERATORS = (
    "Lt LtE Gt, LtE Lt Gt, Gt GtE Lt, GtE Gt Lt, Eq NotEq, NotEq Eq, Is IsNot, IsNot Is, In NotIn, "
    "NotIn In, And Or, Or And, Add Sub, Sub Add, Mult Div, Div Mult, Pow Mult, FloorDiv Mult, "
    "Mod FloorDiv, BitAnd BitOr, BitOr BitAnd"
)
SWAPS = {old: new for old, *new in map(str.split, OPERATORS.split(", "))}
PAIRS = "min max, any all, minimum maximum, argmin argmax, floor ceil, sin cos, zeros ones"
CALLS = {a: b for pair in PAIRS.split(", ") for a, b in (pair.split(), pair.split()[::-1])}
# The order of their arguments says nothing, or turns every call into an error.
SYMMETRIC = {"isinstance", "issubclass", "min", "max", "minimum", "maximum", "allclose", "has"}
# What is left alone: types, and what errors say.
SKIPPED = {"annotation", "returns", "decorator_list", "exc", "cause"}


class Mutant(NamedTuple):
    """One change: its function, the lines before and after it, the whole source after it."""

    module: str
    function: str
    line: str
    mutant: str
    source: str


def swapped(operator: ast.AST) -> list[Any]:
    """What may stand in an operator's place."""
    return [getattr(ast, name)() for name in SWAPS.get(type(operator).__name__, ())]


def offers(node: ast.AST) -> Iterator[tuple[ast.expr | ast.stmt, ast.AST | str]]:
    """Pairs (old, new) of what this very node offers; text stands for a statement."""
    match node:
        case ast.Compare(left, ops, others):
            for i, op in enumerate(ops):
                for new in swapped(op):
                    yield node, ast.Compare(left, [*ops[:i], new, *ops[i + 1 :]], others)
        case ast.BinOp(left, op, right):
            yield from ((node, ast.BinOp(left, new, right)) for new in swapped(op))
        case ast.BoolOp(op, values):
            yield from ((node, ast.BoolOp(new, values)) for new in swapped(op))
        case ast.UnaryOp(op=ast.Not() | ast.USub(), operand=operand):
            yield node, operand
        case ast.Constant(value=bool(value)):
            yield node, ast.Constant(not value)
        case ast.Constant(value=int(value) | float(value)):
            yield node, ast.Constant(value + 1)
            if isinstance(value, int):
                yield node, ast.Constant(value - 1)
        case ast.Slice(lower, upper):
            for bound, sign in ((lower, ast.Add()), (upper, ast.Sub())):
                if bound is not None and not isinstance(bound, ast.Constant | ast.UnaryOp):
                    yield bound, ast.BinOp(bound, sign, ast.Constant(1))
        case ast.Call(func, [first, second, *rest], keywords):
            named = ast.unparse(func).split(".")[-1] in SYMMETRIC
            starred = isinstance(first, ast.Starred) or isinstance(second, ast.Starred)
            if not named and not starred and ast.dump(first) != ast.dump(second):
                yield node, ast.Call(func, [second, first, *rest], keywords)
        case ast.Return(value=ast.expr() as value) if ast.unparse(value) != "None":
            yield node, "return None"
        case ast.Continue() | ast.Break():
            yield node, "break" if isinstance(node, ast.Continue) else "continue"
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]) | ast.AugAssign():
            yield node, "pass"
        case ast.Raise() | ast.Expr(value=ast.Call() | ast.Yield() | ast.YieldFrom()):
            yield node, "pass"
        case ast.Name(id=name) if name in CALLS:
            yield node, ast.Name(CALLS[name])
        case ast.Attribute(value, name) if name in CALLS:
            yield node, ast.Attribute(value, CALLS[name])
    conditions = [node.test] if isinstance(node, ast.If | ast.While | ast.IfExp) else []
    for test in (*conditions, *getattr(node, "ifs", ())):
        if not isinstance(test, ast.UnaryOp | ast.Compare):  # those have changes of their own
            yield test, ast.UnaryOp(ast.Not(), test)


def changes(
    node: ast.AST, function: str = ""
) -> Iterator[tuple[str, ast.expr | ast.stmt, ast.AST | str]]:
    """Every change below a node, with the function it is in."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        function = f"{function}.{node.name}".lstrip(".")
    yield from ((function, old, new) for old, new in offers(node))
    if isinstance(node, ast.Call) and ast.unparse(node.func) == "isinstance":
        node = node.args[0]
    for field, value in ast.iter_fields(node):
        for child in value if isinstance(value, list) else [value]:
            text = not isinstance(child, ast.AST) or isinstance(child, ast.JoinedStr)
            if not text and field not in SKIPPED:
                yield from changes(child, function)


def mutants(module: str, source: str) -> list[Mutant]:
    """All of a module's mutants."""
    lines = [line.encode() for line in source.splitlines(keepends=True)]
    found = dict[tuple[str, ...], Mutant]()
    for function, old, new in changes(ast.parse(source)):
        text = new if isinstance(new, str) else ast.unparse(new)
        if isinstance(new, ast.BinOp | ast.BoolOp | ast.Compare | ast.UnaryOp) or text[0] == "-":
            text = f"({text})"
        start, end = old.lineno - 1, old.end_lineno
        head, tail = lines[start][: old.col_offset], lines[end - 1][old.end_col_offset :]
        after = head + text.encode() + tail
        mutated = b"".join([*lines[:start], after, *lines[end:]]).decode()
        line, mutant = (" ".join(t.decode().split()) for t in (b"".join(lines[start:end]), after))
        made = Mutant(module, function, line, mutant, mutated)
        found.setdefault(made[:4], made)
    return list(found.values())


class Tests:
    """Runs the tests of the working folder in forks, on mutated sources."""

    def __init__(self) -> None:
        self.root = Path.cwd()
        self.sources = self.root / "src"
        packages = {path.parent.name for path in self.root.glob("src/*/__init__.py")}
        self.seconds: dict[tuple[str, ...], float] = {}
        sys.path[:0] = [str(self.root / "src"), str(self.root)]
        for path in (*self.sources.rglob("*.py"), *self.root.glob("tests/conftest.py")):
            for name in re.findall(r"^ *(?:from|import) (\w[\w.]*)(?: import|$)", text(path), re.M):
                if name.split(".")[0] not in {*packages, "tests"}:
                    importlib.import_module(name)
        gc.freeze()  # collections in a fork leave alone what it inherits

    def stages(self, module: str) -> list[tuple[str, ...]]:
        """Arguments of pytest, one run after the other while the mutant lives."""
        *parents, name = module.split("/")
        inside = "/".join(parents)
        folder = self.root / "tests" / FOLDERS.get(inside, inside.partition("/")[2])
        nearest = folder / f"test_{name}.py"
        package = ".".join(parents)
        names = re.compile(rf"from {package}(\.{name} import| import \(?[\w\s,]*\b{name}\b)")
        beside = (path for path in sorted(folder.glob("test_*.py")) if names.search(text(path)))
        importers = [str(path) for path in beside if path != nearest]
        own = [(str(nearest), "-m", FAST)] if nearest.exists() else []
        near = [(*importers, "-m", FAST)] if importers else []
        return [*own, *near, *((file, "-m", SLOW) for file, *_ in own)]

    def fate(self, mutant: Mutant) -> str:
        """What becomes of it: killed, timeout or survived."""
        for stage in self.stages(mutant.module):
            if stage not in self.seconds:
                start = time.monotonic()
                if (status := self.run(stage, None, 3600.0)) not in (0, 5):
                    raise SystemExit(f"{stage}: status {status} without any mutant")
                self.seconds[stage] = time.monotonic() - start
            status = self.run(stage, mutant, 5 * self.seconds[stage] + 30)
            if status not in (0, 5):
                return "timeout" if status is None else "killed"
        return "survived"

    def run(self, stage: tuple[str, ...], mutant: Mutant | None, limit: float) -> int | None:
        """Exit status of pytest in a fork; None where it took longer than the limit, in seconds."""
        if not (pid := os.fork()):
            os.setsid()
            resource.setrlimit(resource.RLIMIT_DATA, (8 << 30, 8 << 30))
            null = os.open(os.devnull, os.O_RDWR)
            for stream in range(3):
                os.dup2(null, stream)
            if mutant:
                serve(self.sources / f"{mutant.module}.py", mutant.source)
            os._exit(pytest.main([*PYTEST, *stage]))
        ended, deadline = 0, time.monotonic() + limit
        try:
            while not ended and time.monotonic() < deadline:
                time.sleep(0.02)
                ended, status = os.waitpid(pid, os.WNOHANG)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)  # what it has started, and itself where it hangs
        if not ended:
            os.waitpid(pid, 0)
        return os.waitstatus_to_exitcode(status) if ended else None


def text(path: Path) -> str:
    """What a file holds, nothing where there is none."""
    return path.read_text(encoding="utf-8") if path.exists() else ""


def listed(entries: str) -> set[tuple[str, ...]]:
    """The equivalent mutants of a file, each by all of it but its source."""
    found = tomllib.loads(entries).get("line", [])
    return {(e["module"], e["function"], e["line"], m) for e in found for m in e["mutants"]}


def serve(path: Path, source: str) -> None:
    """From now on a file is imported as if it held this source."""
    real = SourceFileLoader.get_code

    def get_code(self: SourceFileLoader, name: str) -> object:
        return compile(source, path, "exec") if self.path == str(path) else real(self, name)

    SourceFileLoader.get_code = get_code  # type: ignore[assignment]


def main() -> None:
    """Draw, try, and print what survives."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("module", nargs="*", default=MODULES, help="as xsquared/training/newton")
    parser.add_argument("--count", type=int, default=20, help="mutants of each module")
    parser.add_argument("--seed", type=int, default=0, help="of the draw")
    parser.add_argument("--out", type=Path, default=Path("_build/mutants.jsonl"), help="the rows")
    asked = parser.parse_args()
    tests, rows = Tests(), []
    equivalent = listed(text(EQUIVALENT))
    asked.out.parent.mkdir(parents=True, exist_ok=True)
    fates = {tuple(row[:4]): row[4] for row in map(json.loads, text(asked.out).splitlines())}
    paths = (path for name in asked.module for path in sorted(tests.sources.glob(f"{name}.py")))
    for module in (str(path.relative_to(tests.sources).with_suffix("")) for path in paths):
        every = mutants(module, text(tests.sources / f"{module}.py"))
        if unused := {e for e in equivalent if e[0] == module} - {m[:4] for m in every}:
            raise SystemExit(f"{EQUIVALENT}: no such mutant: {sorted(unused)}")
        every.sort(key=lambda m: hashlib.sha256(f"{asked.seed} {m[:4]}".encode()).digest())
        for mutant in every[: asked.count]:
            key, fate = mutant[:4], fates.get(mutant[:4], "survived")
            if key in equivalent:
                fate = "equivalent"
            elif fate == "survived" and (fate := tests.fate(mutant)) == "survived":
                print("{}: {}\n  - {}\n  + {}".format(*key), flush=True)
            with asked.out.open("a", encoding="utf-8") as file:
                file.write(json.dumps([*key, fate]) + "\n")
            rows.append((module, len(every), fate))
    frame = pd.DataFrame(rows, columns=["module", "of", "fate"])
    counts = pd.crosstab([frame.module, frame.of], frame.fate, margins=True, margins_name="drawn")
    lost = counts.get("survived", 0) / counts.drawn
    print(counts.assign(score=(100 * (1 - lost)).round(1)).to_string())


if __name__ == "__main__":
    main()
