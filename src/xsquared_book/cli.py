"""The command ``xsquared``, the same as ``python -m xsquared_book``.

Each command imports what it needs: ``xsquared --help`` and the numerics work without the book's
dependencies.
"""

from __future__ import annotations

import ast
import gc
import io
import random
import re
import sys
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

import click

from xsquared import __version__
from xsquared.checks import MOST, check_choice, check_integer, quoted, without_warnings

#: Trials of one sweep: beyond that describing them takes all the memory.
_MOST_TRIALS = 10**5
_COUNT = click.IntRange(1, MOST)
_PARAMETERS = "Name and value for a chapter's parameters cell; may be repeated."
_SPLIT = "paper: test points are the training points (default: paper for a target of one variable)."
_FILE = click.Path(path_type=Path)


def typed_value(text: str) -> Any:
    """A value given on the command line: a Python literal where it is one, else a string."""
    try:
        with without_warnings():  # about what is no literal: 1if 1else 2
            return ast.literal_eval(text.strip())
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):  # {[]: 1}
        return text.strip()


def _names(_context: click.Context, _option: click.Parameter, text: str) -> list[str]:
    """Names, by commas, each once."""
    return list(dict.fromkeys(name.strip() for name in text.split(",")))


def _text(_context: click.Context, _option: click.Parameter, text: str | None) -> str | None:
    """A text that is not empty, as of a variable that the shell does not know."""
    if text is not None and not text.strip():
        raise click.BadParameter("expected text, got none")
    return text


def _settings(
    _context: click.Context, _option: click.Parameter, texts: Sequence[str]
) -> dict[str, Any]:
    """Of ``name=value``, the values by name."""
    if wrong := [text for text in texts if not re.match("[^=]+=", text)]:
        raise click.BadParameter(f"expected name=value, got {quoted(wrong[0])}")
    given = [
        (name, typed_value(value)) for name, _, value in (text.partition("=") for text in texts)
    ]
    if len(dict(given)) < len(given):
        raise click.BadParameter("expected each name once")
    return dict(given)


def _widths(_context: click.Context, _option: click.Parameter, text: str) -> list[int]:
    """``5:50`` (both ends), ``5:50:5`` or ``4,8,16``."""
    widths: Sequence[int] = []
    with suppress(ValueError):
        if ":" in text:
            first, last, *step = (int(part) for part in text.split(":"))
            (stride,) = step or [1]
            widths = range(first, min(last, MOST + 1) + 1, max(stride, 0))  # 0 is refused
        else:
            widths = [int(part) for part in text.split(",")]
    if not 0 < len(widths) <= _MOST_TRIALS or min(widths) < 1 or max(widths) > MOST:
        raise click.BadParameter(
            f"expected widths of at least 1 as 5:50, 5:50:5 or 4,8,16, got {quoted(text)}"
        )
    return list(widths)


@click.group(no_args_is_help=False, context_settings={"show_default": True})
@click.version_option(__version__, prog_name="xsquared", message="%(prog)s %(version)s")
def commands() -> None:
    """An executable book on what a feed-forward layer can approximate."""


@commands.command()
@click.option("--only", multiple=True, metavar="NAME", help="A chapter; may be repeated.")
@click.option("-p", "parameters", nargs=2, multiple=True, help=_PARAMETERS)
@click.option("--jobs", type=_COUNT, help="Chapters at a time (default: the cores).")
def book(only: Sequence[str], parameters: Sequence[tuple[str, str]], jobs: int | None) -> None:
    """Execute the chapters and build the site.

    Every chapter is executed, the proofs are run, and the site is rendered into _build/html. With
    -p the chapters that declare the parameter are executed and left in _build/runs; the committed
    chapters are not touched.
    """
    from xsquared_book.compare import compare
    from xsquared_book.execute import execute
    from xsquared_book.project import BookError, busy, find_project
    from xsquared_book.proofs import run_proofs
    from xsquared_book.readme import update_readme
    from xsquared_book.render import render

    start = time.perf_counter()
    project = find_project(Path.cwd())
    values = {name: typed_value(value) for name, value in parameters}
    with busy(project):
        runs = execute(project, only, values, jobs)
        if values:
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


@commands.command()
@click.option("--code", is_flag=True, help="With the code that the site hides.")
def pdf(code: bool) -> None:
    """Print the whole book with Chromium into _build/html/xsquared.pdf.

    The site is rendered from the executed chapters, and every page links to the file.
    """
    from xsquared_book.pdf import print_book
    from xsquared_book.project import busy, find_project
    from xsquared_book.proofs import run_proofs
    from xsquared_book.render import render

    project = find_project(Path.cwd())
    with busy(project):
        if not project.proofs.is_file():
            run_proofs(project)
        print(print_book(project, render(project), code))


@commands.command()
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--baseline", default="HEAD", metavar="REV", help="A git revision.")
@click.option("--book", is_flag=True, help="The chapters in book/chapters in place of the runs.")
def compare(names: Sequence[str], baseline: str, book: bool) -> int:
    """Say what a run with other parameters changed.

    Shows parameters and claims of the runs in _build/runs beside the recorded ones, and what else
    differs; the figures side by side in _build/runs/compare.html. Exits with 0 where no verdict
    flipped, 3 where one did, 2 where there is nothing to compare.
    """
    from xsquared_book.compare import compare
    from xsquared_book.project import BookError, find_project

    try:
        found = compare(find_project(Path.cwd()), names, baseline, book)
    except BookError as error:
        raise click.UsageError(str(error)) from error
    print(found.text())
    return 3 if found.flipped else 0


@commands.command()
@click.option("--out", type=_FILE, default="speedrun.png", help="The figure.")
def speedrun(out: Path) -> None:
    """Measure three slopes in seconds.

    MLP, GLU and GQU are fitted with frozen gates at widths 1, 4, ..., 100. The slopes of their
    errors are printed with 95% intervals, and drawn.
    """
    gc.disable()  # a third of a speedrun's time went into what imports make, which is no garbage
    click.get_current_context().call_on_close(gc.enable)
    from matplotlib.backend_bases import FigureCanvasBase

    from xsquared_book.plotting import speedrun_figure
    from xsquared_studies.speedrun import FITTED_FROM, WIDTHS, speedrun

    start = time.perf_counter()
    _check_output(out, FigureCanvasBase.get_supported_filetypes())
    runs = speedrun(progress=sys.stderr.isatty())
    print(f"gates frozen on equidistant knots, widths {FITTED_FROM} to {WIDTHS[-1]}")
    for run in runs:
        print(f"{run.unit.upper()}  slope {run.slope}")
    speedrun_figure(runs).savefig(out)
    print(f"{out} ({time.perf_counter() - start:.1f} s)")
    gc.freeze()  # nor does the end of the process go through it


def _where(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that say where trials run."""
    dask = click.option("--scheduler", default="", help="Of Dask, as tcp://HOST:PORT.")
    return click.option("--jobs", type=_COUNT, default=1, help="Trials at a time.")(dask(command))


@commands.command()
@click.option("--target", callback=_text, help="Expression in x, y, z (default: the paper's).")
@click.option("--problem", callback=_text, help="A problem of the book, as friedman1.")
@click.option("--data", callback=_text, metavar="FILE", help="CSV or Parquet file; needs --y.")
@click.option("--y", callback=_text, metavar="COLUMN", help="The column of FILE to predict.")
@click.option("--domain", type=float, nargs=2, help="Interval of each variable (default: -1 1).")
@click.option("--unit", callback=_names, default="mlp,glu,gqu", help="Units, by commas.")
@click.option("--widths", callback=_widths, default="5:50", help="As 5:50, 5:50:5 or 4,8,16.")
@click.option("--activation", callback=_text, help="Gate of all units (default: their own).")
@click.option(
    "--gates", type=click.Choice(("trained", "frozen")), default="trained", help="Or left alone."
)
@click.option("--solver", callback=_text, help="Default: free_knots in one variable, else growth.")
@click.option(
    "--set", "settings", callback=_settings, multiple=True, help="name=value, for the solver."
)
@click.option("--split", type=click.Choice(("paper", "held-out")), help=_SPLIT)
@click.option("--points", type=_COUNT, help="Training points (default: all, or the split's).")
@click.option("--seeds", type=_COUNT, default=1, help="Runs per unit and width.")
@click.option("--out", type=_FILE, default="results.parquet", help="As .parquet or .csv.")
@click.option("--retry-failed", is_flag=True, help="Run trials again that failed.")
@_where
def sweep(
    target: str | None,
    problem: str | None,
    data: str | None,
    y: str | None,
    domain: tuple[float, float] | None,
    unit: list[str],
    widths: list[int],
    activation: str | None,
    solver: str | None,
    settings: dict[str, Any],
    split: Literal["paper", "held-out"] | None,
    seeds: int,
    out: Path,
    retry_failed: bool,
    jobs: int,
    scheduler: str,
    **same: Any,
) -> int:
    """Train networks on an expression, a problem or your own table.

    Every unit is trained at every width with every seed. Each row is stored the moment it is known,
    in a .sqlite file beside the output; a sweep that was stopped resumes from there when called
    again.
    """
    from xsquared.functions import target as read_target
    from xsquared.training import solver_from
    from xsquared_studies.experiment import check, run_trial
    from xsquared_studies.sweep import run_sweep, to_frame, write_table
    from xsquared_studies.trial import Trial

    if sum(map(bool, (target, problem, data))) > 1:
        raise click.UsageError("expected one of --target, --problem and --data")
    _check_output(out, ("parquet", "csv"))
    if data and out.exists() and out.samefile(data):
        raise ValueError(f"cannot write {out}: it is the table to be read")
    table = str(Path(data).absolute()) if data else ""
    learned: dict[str, Any] = {"problem": problem or "", "data": table, "y": y or ""}
    on_line, interval = False, domain or (-1.0, 1.0)
    box: tuple[tuple[float, float], ...] = (interval,) if domain else ()
    if not (problem or data):
        learned["expression"] = (target or "1/(1+cos(pi*x)**2)").strip()
        made = read_target(learned["expression"], interval)
        on_line, box = made.dim == 1, made.domain
    solver = solver or ("free_knots" if on_line else "growth")
    solver_from(solver, settings)
    count = len(widths) * len(unit) * seeds
    check_integer("trials, units times widths times seeds", count, 1, _MOST_TRIALS)
    trials = [
        Trial(
            unit=one,
            n_hidden=n,
            **learned,
            domain=box,
            activation=activation or "",
            solver=solver,
            settings=tuple(settings.items()),
            split=split or ("paper" if on_line else "held-out"),
            seed=seed,
            **same,
        )
        for n in widths
        for one in unit
        for seed in range(seeds)
    ]
    check(trials)
    store = out.with_suffix(".sqlite")
    report = run_sweep(trials, run_trial, store, jobs, scheduler, retry_failed=retry_failed)
    write_table(to_frame(report.results), out)
    print(report)
    print(f"{out} ({len(report.results)} rows; {store} resumes the sweep)")
    return int(len(report.failures) == len(report.results))


@commands.command()
@click.argument("name", default="")
@click.option("--all", "every", is_flag=True, help="Every study.")
@click.option("--check", "count", type=_COUNT, help="Compare so many rows drawn at random.")
@click.option("--seed", type=int, help="Of the draw (default: a new one).")
@_where
def study(
    name: str, every: bool, count: int | None, seed: int | None, jobs: int, scheduler: str
) -> int:
    """Run or check a declared study, whose rows chapters read.

    Runs the study, or resumes it, and writes its rows to results/; or, with --check, runs some of
    its rows anew and compares them with the committed ones.
    """
    from xsquared_studies.committed import TOLERANCE, check, drawn, run
    from xsquared_studies.declared import STUDIES

    if every == bool(name):
        raise ValueError(f"expected a study or --all; the studies are {', '.join(STUDIES)}")
    studies = STUDIES.values() if every else [STUDIES[check_choice("study", name, STUDIES)]]
    where = (jobs, scheduler)
    seed = random.randrange(10**6) if seed is None else seed
    failed = False
    for one in studies:
        if count:
            trials = drawn(one, count, seed)
            lines = check(one, trials, *where)
            print(f"{one.name}: {len(trials)} rows drawn with seed {seed}")
            failed |= bool(lines)
        else:
            report, lines = run(one, *where)
            print(f"{one.name}: {report}")
            failed |= len(report.failures) == len(report.results)
        print(f"{len(lines)} rows are not as committed, within {TOLERANCE:.0%}", *lines, sep="\n  ")
    return int(failed)


def _check_output(path: Path, formats: Collection[str]) -> None:
    """Refuse what cannot be written, or should not be, before any work is done."""
    if len(str(path).splitlines()) > 1:
        raise ValueError(f"cannot write {quoted(str(path))}: expected a name on one line")
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
        path.resolve().unlink()  # what a link points to


def _brief(message: str) -> str:
    """An error's lines with the middle cut out of what is long: it is what was given."""
    return re.sub(r".{501,}", lambda line: f"{line[0][:250]}...{line[0][-200:]}", message)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit status.

    Errors that a person can mend are printed as one message without a traceback.
    """
    given = sys.argv[1:] if argv is None else argv
    if isinstance(sys.stdout, io.TextIOWrapper):  # a name it cannot write ends no command
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        return commands.main(given, "xsquared", standalone_mode=False) or 0
    except click.ClickException as error:
        context = getattr(error, "ctx", None)
        told = context.command_path if context else "xsquared"
        print(f"{told}: error: {_brief(error.format_message())}", file=sys.stderr)
        return 2
    except (KeyboardInterrupt, click.Abort):  # a RuntimeError
        print("xsquared: interrupted", file=sys.stderr)
        return 130
    except (RuntimeError, ValueError, OSError) as error:
        print(f"xsquared: {_brief(str(error))}", file=sys.stderr)
        return 1
