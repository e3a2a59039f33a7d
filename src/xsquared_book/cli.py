"""The command ``xsquared``, the same as ``python -m xsquared_book``."""

from __future__ import annotations

import argparse
import ast
import gc
import random
import re
import sys
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NoReturn

from xsquared import __version__
from xsquared.checks import MOST, check_integer, quoted

#: Trials of one sweep: beyond that describing them takes all the memory.
_MOST_TRIALS = 10**5


class _Parser(argparse.ArgumentParser):
    """Takes options by their full names, which :func:`_spaced` knows; its errors are brief."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(allow_abbrev=False, **settings)

    def error(self, message: str) -> NoReturn:
        super().error(_brief(message))


def _brief(message: str) -> str:
    """An error's lines with the middle cut out of what is long: it is what was given."""
    return re.sub(r".{501,}", lambda line: f"{line[0][:250]}...{line[0][-200:]}", message)


def typed_value(text: str) -> Any:
    """A value given on the command line: a Python literal where it is one, else a string."""
    try:
        return ast.literal_eval(text.strip())
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return text.strip()


def _positive(text: str) -> int:
    """An integer of at least 1."""
    try:
        return check_integer("value", int(text), 1)
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"expected an integer of at least 1 and at most {MOST}, got {quoted(text)}"
        ) from None


def _book(arguments: argparse.Namespace) -> None:
    """Prove, execute, collect, render; with parameters, execute and compare."""
    # Imported here: `xsquared --help` and the numerics work without the book's dependencies.
    from xsquared_book.compare import compare
    from xsquared_book.execute import execute
    from xsquared_book.project import BookError, busy, find_project
    from xsquared_book.proofs import run_proofs
    from xsquared_book.readme import update_readme
    from xsquared_book.render import render

    start = time.perf_counter()
    project = find_project(Path.cwd())
    parameters = {name: typed_value(value) for name, value in arguments.parameters}
    with busy(project):
        runs = execute(project, arguments.only, parameters, arguments.jobs)
        if parameters:
            for run in runs:
                print(f"{run.name}: {run.output}")
            try:
                print(compare(project, [run.name for run in runs]).text())
            except BookError as error:  # a new chapter, or no checkout of git: the run stands
                print(f"not compared: {error}")
            return
        run_proofs(project)
        update_readme(project)
        html = render(project)
    print(f"{html / 'index.html'} ({time.perf_counter() - start:.0f} s)")


def _pdf(arguments: argparse.Namespace) -> None:
    """Render and print."""
    from xsquared_book.pdf import print_book
    from xsquared_book.project import busy, find_project
    from xsquared_book.proofs import run_proofs
    from xsquared_book.render import render

    project = find_project(Path.cwd())
    with busy(project):
        if not project.proofs.is_file():
            run_proofs(project)
        print(print_book(project, render(project), arguments.code))


def _compare(arguments: argparse.Namespace) -> int:
    """What a run changed; 3 where a verdict flipped, 2 where there is nothing to compare."""
    from xsquared_book.compare import compare
    from xsquared_book.project import BookError, find_project

    try:
        project = find_project(Path.cwd())
        found = compare(project, arguments.names, arguments.baseline, arguments.book)
    except BookError as error:
        print(f"xsquared compare: error: {_brief(str(error))}", file=sys.stderr)
        return 2
    print(found.json() if arguments.json else found.text(arguments.all, arguments.md))
    return 3 if found.flipped else 0


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
    from matplotlib.backend_bases import FigureCanvasBase

    from xsquared_book.plotting import speedrun_figure
    from xsquared_studies.speedrun import FITTED_FROM, WIDTHS, speedrun

    start = time.perf_counter()
    _check_output(arguments.out, FigureCanvasBase.get_supported_filetypes())
    runs = speedrun(progress=sys.stderr.isatty())
    print(f"gates frozen on equidistant knots, widths {FITTED_FROM} to {WIDTHS[-1]}")
    for run in runs:
        print(f"{run.unit.upper()}  slope {run.slope}")
    speedrun_figure(runs).savefig(arguments.out)
    print(f"{arguments.out} ({time.perf_counter() - start:.1f} s)")


def _sweep(arguments: argparse.Namespace) -> int:
    """Train every unit at every width with every seed; store each row; write the table."""
    from xsquared.functions import target
    from xsquared.training import solver_from
    from xsquared_studies import export, run_sweep
    from xsquared_studies.experiment import run_trial
    from xsquared_studies.trial import Trial

    _check_output(arguments.out, ("parquet", "csv"))
    data = str(Path(arguments.data).absolute()) if arguments.data else ""
    learned = {"problem": arguments.problem, "data": data, "y": arguments.y}
    on_line, (low, high) = False, arguments.domain or (-1.0, 1.0)
    domain: tuple[tuple[float, float], ...] = ((low, high),) if arguments.domain else ()
    if not (arguments.problem or data):
        made = target(arguments.target.strip(), (low, high))
        on_line, domain = made.dim == 1, made.domain
        learned["expression"] = arguments.target.strip()
    settings = {name: typed_value(value) for name, value in arguments.settings}
    solver = arguments.solver or ("free_knots" if on_line else "growth")
    solver_from(solver, settings)
    count = len(arguments.widths) * len(arguments.unit) * arguments.seeds
    check_integer("trials, units times widths times seeds", count, 1, _MOST_TRIALS)
    trials = [
        Trial(
            unit=unit,
            n_hidden=n,
            **learned,
            domain=domain,
            activation=arguments.activation,
            solver=solver,
            settings=tuple(settings.items()),
            gates=arguments.gates,
            split=arguments.split or ("paper" if on_line else "held-out"),
            points=arguments.points,
            seed=seed,
        )
        for n in arguments.widths
        for unit in arguments.unit
        for seed in range(arguments.seeds)
    ]
    store = arguments.out.with_suffix(".sqlite")
    report = run_sweep(trials, run_trial, store, arguments.jobs, arguments.scheduler)
    export(report.results, arguments.out)
    print(report)
    print(f"{arguments.out} ({len(report.results)} rows; {store} resumes the sweep)")
    return int(len(report.failures) == len(report.results))


def _study(arguments: argparse.Namespace) -> int:
    """Run declared studies and write their rows, or check some of them."""
    from xsquared_studies.committed import TOLERANCE, check, drawn, find_study, run
    from xsquared_studies.declared import STUDIES

    if arguments.all == bool(arguments.name):
        raise ValueError(f"expected a study or --all; the studies are {', '.join(STUDIES)}")
    names = list(STUDIES) if arguments.all else [arguments.name]
    where = (arguments.jobs, arguments.scheduler)
    seed = random.randrange(10**6) if arguments.seed is None else arguments.seed
    failed = False
    for study in map(find_study, names):
        if arguments.check:
            trials = drawn(study, arguments.check, seed)
            lines = check(study, trials, *where)
            print(f"{study.name}: {len(trials)} rows drawn with seed {seed}")
            failed |= bool(lines)
        else:
            report, lines = run(study, *where)
            print(f"{study.name}: {report}")
            failed |= len(report.failures) == len(report.results)
        print(f"{len(lines)} rows are not as committed, within {TOLERANCE:.0%}", *lines, sep="\n  ")
    return int(failed)


def _check_output(path: Path, formats: Collection[str]) -> None:
    """Refuse what cannot be written, or should not be, before any work is done.

    Raises:
        ValueError: a format that is not known, or something other than a regular file.
        OSError: naming the path and the reason.
    """
    if path.suffix.removeprefix(".") not in formats:
        known = ", ".join(f".{name}" for name in sorted(formats))
        raise ValueError(f"cannot write {path}: expected a name ending in one of {known}")
    try:
        existed = path.exists()
        if existed and not path.is_file():
            raise ValueError(f"cannot write {path}: it is no regular file")
        with path.open("ab"):
            pass
    except OSError as error:
        raise OSError(f"cannot write {path}: {error.strerror}") from error
    if not existed:
        path.unlink()


def _names(text: str) -> list[str]:
    """Names, by commas, each once."""
    return list(dict.fromkeys(name.strip() for name in text.split(",")))


def _column(text: str) -> str:
    """A name, without the space that :func:`_spaced` puts before a minus sign."""
    return text[1:] if text.startswith(" -") else text


def _setting(text: str) -> tuple[str, str]:
    """``name=value``."""
    name, separator, value = text.partition("=")
    if not name or not separator:
        raise argparse.ArgumentTypeError(f"expected name=value, got {quoted(text)}")
    return name, value


def _widths(text: str) -> list[int]:
    """``5:50`` (both ends), ``5:50:5`` or ``4,8,16``."""
    widths: Sequence[int] = []
    with suppress(ValueError):
        if ":" in text:
            first, last, *step = (int(part) for part in text.split(":"))
            (stride,) = step or [1]
            widths = range(first, last + 1, stride)
        else:
            widths = [int(part) for part in text.split(",")]
    if not 0 < len(widths) <= _MOST_TRIALS or min(widths) < 1 or max(widths) > MOST:
        raise argparse.ArgumentTypeError(
            f"expected widths of at least 1 as 5:50, 5:50:5 or 4,8,16, got {quoted(text)}"
        )
    return list(widths)


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
        help="train networks on an expression, a problem or your own table, a row for each",
        description="Train every unit at every width with every seed. Each row is stored the "
        "moment it is known, in a .sqlite file beside the output; a sweep that was stopped resumes "
        "from there when called again.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    learned = sweep.add_mutually_exclusive_group()
    learned.add_argument("--target", default="1/(1+cos(pi*x)**2)", help="expression in x, y, z")
    learned.add_argument("--problem", default="", help="a problem of the book, as friedman1")
    learned.add_argument(
        "--data", default="", metavar="FILE", help="csv or parquet file; needs --y"
    )
    sweep.add_argument(
        "--y", type=_column, default="", metavar="COLUMN", help="the column of FILE to predict"
    )
    sweep.add_argument(
        "--domain",
        type=float,
        nargs=2,
        default=None,
        metavar=("A", "B"),
        help="interval of every variable of the target (without one: -1 1)",
    )
    sweep.add_argument("--unit", type=_names, default="mlp,glu,gqu", help="units, by commas")
    sweep.add_argument(
        "--widths", type=_widths, default="5:50", help="neurons: 5:50, 5:50:5 or 4,8,16"
    )
    sweep.add_argument(
        "--activation", default="", help="gate of all units (without one: each unit's own)"
    )
    sweep.add_argument(
        "--gates", choices=("trained", "frozen"), default="trained", help="trained, or left alone"
    )
    sweep.add_argument(
        "--solver",
        default="",
        help="free_knots, growth, varpro, newton, adamw or lbfgs (without one: free_knots for a "
        "target of one variable, growth else)",
    )
    sweep.add_argument(
        "--set",
        dest="settings",
        type=_setting,
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a setting of the solver; may be repeated",
    )
    sweep.add_argument(
        "--split",
        choices=("paper", "held-out"),
        default="",
        help="paper: test points are the training points (without one: paper for a target of one "
        "variable, held-out else)",
    )
    sweep.add_argument(
        "--points", type=_positive, default=None, help="training points (None: all, or the split's)"
    )
    sweep.add_argument("--seeds", type=_positive, default=1, help="runs per unit and width")
    sweep.add_argument(
        "--out", type=Path, default=Path("results.parquet"), help="the table, .parquet or .csv"
    )
    _add_where(sweep)
    sweep.set_defaults(run=_sweep)
    study = commands.add_parser(
        "study",
        help="run or check a declared study, whose rows chapters read",
        description="Run a study, or resume it, and write its rows to results/; or, with --check, "
        "run some of its rows anew and compare them with the committed ones.",
    )
    study.add_argument("name", nargs="?", default="", metavar="NAME", help="of the study")
    study.add_argument("--all", action="store_true", help="every study")
    study.add_argument(
        "--check", type=_positive, default=0, metavar="K", help="compare K rows drawn at random"
    )
    study.add_argument("--seed", type=int, default=None, help="of the draw (default: a new one)")
    _add_where(study)
    study.set_defaults(run=_study)


def _add_where(parser: argparse.ArgumentParser) -> None:
    """Where trials run."""
    parser.add_argument("--jobs", type=_positive, default=1, help="trials at a time")
    parser.add_argument(
        "--scheduler", default="", metavar="tcp://HOST:PORT", help="a Dask scheduler to run them"
    )


def build_parser() -> argparse.ArgumentParser:
    """The command line's grammar."""
    parser = _Parser(prog="xsquared", description=__doc__)
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
    pdf = commands.add_parser(
        "pdf",
        help="print the whole book",
        description="Render the site from the executed chapters, print it with Chromium into "
        "_build/html/xsquared.pdf, and link that from every page.",
    )
    pdf.add_argument("--code", action="store_true", help="with the code that the site hides")
    pdf.set_defaults(run=_pdf)
    compare = commands.add_parser(
        "compare",
        help="what a run with other parameters changed",
        description="Parameters and claims of the runs in _build/runs beside the recorded ones, "
        "and what else differs; the figures side by side in _build/runs/compare.html. Exits with 0 "
        "where no verdict flipped, 3 where one did, 2 where there is nothing to compare.",
    )
    compare.add_argument("names", nargs="*", metavar="NAME", help="a chapter (default: every run)")
    compare.add_argument(
        "--baseline", default="HEAD", metavar="REV", help="a git revision (default: %(default)s)"
    )
    compare.add_argument(
        "--book", action="store_true", help="the chapters in book/chapters in place of the runs"
    )
    compare.add_argument("--all", action="store_true", help="also the rows that did not change")
    forms = compare.add_mutually_exclusive_group()
    forms.add_argument("--md", action="store_true", help="in Markdown")
    forms.add_argument("--json", action="store_true", help="every row, for a program")
    compare.set_defaults(run=_compare)
    _add_experiments(commands)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit status.

    Errors that a person can mend are printed as one message without a traceback.
    """
    given = sys.argv[1:] if argv is None else argv
    arguments = build_parser().parse_args(_spaced(given))
    try:
        return arguments.run(arguments) or 0
    except (RuntimeError, ValueError, OSError) as error:
        print(f"xsquared: {_brief(str(error))}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("xsquared: interrupted", file=sys.stderr)
        return 130


def _spaced(given: Sequence[str]) -> list[str]:
    """A space before values such as -x**2 and -price, which argparse would take for options."""
    left, spaced = 0, []
    for word in given:
        spaced.append(f" {word}" if left and word.startswith("-") else word)
        left = left - 1 if left else {"--target": 1, "--y": 1, "--domain": 2, "-p": 2}.get(word, 0)
    return spaced
