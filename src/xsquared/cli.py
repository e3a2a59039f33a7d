"""The command ``xsquared``, the same as ``python -m xsquared``."""

from __future__ import annotations

import argparse
import ast
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from xsquared import __version__


def _parameter(text: str) -> Any:
    """A value given on the command line: a Python literal where it is one, else a string."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def _positive(text: str) -> int:
    """An integer of at least 1."""
    try:
        value = int(text)
    except ValueError:
        value = 0
    if value < 1:
        raise argparse.ArgumentTypeError(f"expected an integer of at least 1, got {text!r}")
    return value


def _book(arguments: argparse.Namespace) -> None:
    """Prove, execute, collect, render."""
    # Imported here: `xsquared --help` and the numerics work without the book's dependencies.
    from xsquared.book.execute import execute
    from xsquared.book.project import find_project
    from xsquared.book.proofs import run_proofs
    from xsquared.book.readme import update_readme
    from xsquared.book.render import render

    start = time.perf_counter()
    project = find_project(Path.cwd())
    parameters = {name: _parameter(value) for name, value in arguments.parameters}
    runs = execute(project, arguments.only, parameters, arguments.jobs)
    if parameters:
        for run in runs:
            print(f"{run.name}: {run.output}")
        return
    run_proofs(project)
    update_readme(project)
    html = render(project)
    print(f"{html / 'index.html'} ({time.perf_counter() - start:.0f} s)")


def build_parser() -> argparse.ArgumentParser:
    """The command line's grammar."""
    parser = argparse.ArgumentParser(prog="xsquared", description=__doc__)
    parser.add_argument("--version", action="version", version=f"xsquared {__version__}")
    commands = parser.add_subparsers(dest="command", required=True)
    book = commands.add_parser(
        "book",
        help="execute the chapters and build the site",
        description="Execute every chapter, run the proofs, and render the site into _build/html. "
        "With -p, execute the chapters that declare the parameter and leave the results in "
        "_build/runs; the committed chapters are not touched.",
    )
    book.add_argument(
        "--only", action="append", default=[], metavar="NAME", help="a chapter; may be repeated"
    )
    book.add_argument(
        "-p",
        dest="parameters",
        nargs=2,
        action="append",
        default=[],
        metavar=("NAME", "VALUE"),
        help="a value for a chapter's parameters cell; may be repeated",
    )
    book.add_argument(
        "--jobs", type=_positive, default=None, help="chapters at a time (default: the cores)"
    )
    book.set_defaults(run=_book)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit status.

    Errors that a person can mend are printed as one message without a traceback.
    """
    arguments = build_parser().parse_args(argv)
    try:
        arguments.run(arguments)
    except (RuntimeError, ValueError, OSError) as error:
        print(f"xsquared: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("xsquared: interrupted", file=sys.stderr)
        return 130
    return 0
