"""The command ``xsquared``, the same as ``python -m xsquared``."""

from __future__ import annotations

import argparse
import ast
import gc
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
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
    from xsquared.book.project import busy, find_project
    from xsquared.book.proofs import run_proofs
    from xsquared.book.readme import update_readme
    from xsquared.book.render import render

    start = time.perf_counter()
    project = find_project(Path.cwd())
    parameters = {name: _parameter(value) for name, value in arguments.parameters}
    with busy(project):
        runs = execute(project, arguments.only, parameters, arguments.jobs)
        if parameters:
            for run in runs:
                print(f"{run.name}: {run.output}")
            return
        run_proofs(project)
        update_readme(project)
        html = render(project)
    print(f"{html / 'index.html'} ({time.perf_counter() - start:.0f} s)")


@contextmanager
def _no_garbage_collection() -> Iterator[None]:
    """Leave the search for cycles out of a run of seconds.

    Imports make hundreds of thousands of objects that live until the process ends. Going through
    them again and again took a tenth of a speedrun, and a last time at exit a sixth: frozen, they
    are passed over there too.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if enabled:
            gc.enable()


@_no_garbage_collection()
def _speedrun(arguments: argparse.Namespace) -> None:
    """Three slopes and a figure."""
    from xsquared.plotting import speedrun_figure
    from xsquared.studies.speedrun import FITTED_FROM, WIDTHS, speedrun

    start = time.perf_counter()
    _check_writable(arguments.out)
    runs = speedrun(progress=sys.stderr.isatty())
    print(f"gates frozen on equidistant knots, widths {FITTED_FROM} to {WIDTHS[-1]}")
    for run in runs:
        print(f"{run.unit.upper()}  slope {run.slope}")
    speedrun_figure(runs).savefig(arguments.out)
    print(f"{arguments.out} ({time.perf_counter() - start:.1f} s)")


def _sweep(arguments: argparse.Namespace) -> None:
    """Train every unit at every width with every seed; store each row; write the table."""
    from xsquared.functions import target
    from xsquared.studies import Trial, export_parquet, run_sweep
    from xsquared.studies.experiment import run_trial

    low, high = arguments.domain
    made = target(arguments.target, (low, high))
    _check_writable(arguments.out)
    trials = [
        Trial(
            unit=unit,
            n_hidden=n,
            optimizer=arguments.optimizer,
            protocol=arguments.protocol,
            points=arguments.points,
            seed=seed,
            expression=arguments.target,
            domain=made.domain,
            activation=arguments.activation,
        )
        for n in arguments.widths
        for unit in arguments.unit
        for seed in range(arguments.seeds)
    ]
    store = arguments.out.with_suffix(".jsonl")
    report = run_sweep(trials, run_trial, store, arguments.jobs, arguments.scheduler)
    export_parquet(report.results, arguments.out)
    print(report)
    print(f"{arguments.out} ({len(report.results)} rows; {store} resumes the sweep)")


def _check_writable(path: Path) -> None:
    """Refuse a place that cannot be written before any work is done.

    Raises:
        OSError: naming the path and the reason.
    """
    existed = path.exists()
    try:
        with path.open("ab"):
            pass
    except OSError as error:
        raise OSError(f"cannot write {path}: {error.strerror}") from error
    if not existed:
        path.unlink()


def _one_of(what: str, known: Sequence[str]) -> Callable[[str], list[str]]:
    """A comma-separated choice from known names."""

    def parse(text: str) -> list[str]:
        names = [name.strip() for name in text.split(",")]
        for name in names:
            if name not in known:
                raise argparse.ArgumentTypeError(
                    f"expected {what} among {', '.join(known)}, got {name!r}"
                )
        return list(dict.fromkeys(names))

    return parse


def _widths(text: str) -> list[int]:
    """``5:50`` (both ends), ``5:50:5`` or ``4,8,16``."""
    try:
        if ":" in text:
            first, last, *step = (int(part) for part in text.split(":"))
            (stride,) = step or [1]
            widths = list(range(first, last + 1, stride))
        else:
            widths = [int(part) for part in text.split(",")]
    except ValueError:
        widths = []
    if not widths or min(widths) < 1:
        raise argparse.ArgumentTypeError(
            f"expected widths of at least 1 as 5:50, 5:50:5 or 4,8,16, got {text!r}"
        )
    return widths


def _add_experiments(commands: Any) -> None:
    """The grammar of ``speedrun`` and ``sweep``."""
    quick = commands.add_parser(
        "speedrun",
        help="the three slopes in seconds",
        description="Fit MLP, GLU and GQU with frozen gates at widths 1, 4, ..., 100, print the "
        "slopes of their errors with 95%% intervals, and draw them.",
    )
    quick.add_argument(
        "--out", type=Path, default=Path("speedrun.png"), help="the figure (default: %(default)s)"
    )
    quick.set_defaults(run=_speedrun)
    sweep = commands.add_parser(
        "sweep",
        help="train networks on any expression and store a row for each",
        description="Train every unit at every width with every seed. Each row is stored the "
        "moment it is known, in a .jsonl file beside the output; a sweep that was stopped resumes "
        "from there when called again.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    sweep.add_argument("--target", default="1/(1+cos(pi*x)**2)", help="expression in x, y, z")
    sweep.add_argument(
        "--domain", type=float, nargs=2, default=[-1.0, 1.0], metavar=("A", "B"), help="interval"
    )
    units = ("mlp", "glu", "gqu")
    sweep.add_argument(
        "--unit", type=_one_of("units", units), default=list(units), help="units, by commas"
    )
    sweep.add_argument(
        "--widths", type=_widths, default="5:50", help="neurons: 5:50, 5:50:5 or 4,8,16"
    )
    sweep.add_argument(
        "--protocol",
        choices=("spline", "gates", "full"),
        default="full",
        help="what is trained: all but the gates, then the gates too, or all parameters",
    )
    sweep.add_argument(
        "--optimizer", choices=("newton", "varpro", "adamw", "lbfgs"), default="varpro", help="how"
    )
    sweep.add_argument(
        "--activation", choices=("relu", "gelu", "silu"), default="relu", help="of the gates"
    )
    sweep.add_argument("--seeds", type=_positive, default=1, help="runs per unit and width")
    sweep.add_argument("--points", type=_positive, default=10_000, help="training points")
    sweep.add_argument("--out", type=Path, default=Path("results.parquet"), help="the table")
    sweep.add_argument("--jobs", type=_positive, default=1, help="trials at a time")
    sweep.add_argument("--scheduler", default="", help="tcp://host:port of a Dask scheduler")
    sweep.set_defaults(run=_sweep)


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
    _add_experiments(commands)
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
