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
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from xsquared import __version__

_COUNT = click.IntRange(1)
_PARAMETERS = "Name and value for a chapter's parameters cell; may be repeated."
_FILE = click.Path(path_type=Path)


def typed_value(text: str) -> Any:
    """A value given on the command line: a Python literal where it is one, else a string."""
    try:
        return ast.literal_eval(text.strip())
    except (ValueError, SyntaxError):
        return text.strip()


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
    from xsquared_book.plotting import speedrun_figure
    from xsquared_studies.speedrun import FITTED_FROM, WIDTHS, speedrun

    start = time.perf_counter()
    runs = speedrun(progress=sys.stderr.isatty())
    print(f"gates frozen on equidistant knots, widths {FITTED_FROM} to {WIDTHS[-1]}")
    for run in runs:
        print(f"{run.unit.upper()}  slope {run.slope}")
    speedrun_figure(runs).savefig(out)
    print(f"{out} ({time.perf_counter() - start:.1f} s)")
    gc.freeze()  # nor does the end of the process go through it


@commands.command()
@click.argument("name", default="")
@click.option("--all", "every", is_flag=True, help="Every study.")
@click.option("--check", "count", type=_COUNT, help="Compare so many rows drawn at random.")
@click.option("--seed", type=int, help="Of the draw (default: a new one).")
@click.option("--jobs", type=_COUNT, help="Trials at a time (default: the cores).")
@click.option("--scheduler", default="", help="Of a Dask cluster to use, as tcp://HOST:PORT.")
def study(
    name: str, every: bool, count: int | None, seed: int | None, jobs: int | None, scheduler: str
) -> int:
    """Run or check a declared study, whose rows chapters read.

    Runs the study, or resumes it, and writes its rows to results/; or, with --check, runs some of
    its rows anew and compares them with the committed ones.
    """
    from distributed import Client

    from xsquared_studies.committed import TOLERANCE, check, run
    from xsquared_studies.declared import STUDIES, find_study
    from xsquared_studies.sweep import local_client

    if every == bool(name):
        raise ValueError(f"expected a study or --all; the studies are {', '.join(STUDIES)}")
    wanted = {one: find_study(one) for one in (STUDIES if every else [name])}
    draw = random.Random(seed := random.randrange(10**6) if seed is None else seed)
    status = 0
    with Client(scheduler) if scheduler else local_client(jobs) as client:
        for one, declared in wanted.items():
            if count:
                trials = declared.trials()
                drawn = draw.sample(trials, min(count, len(trials)))
                lines = check(one, drawn, client)
                print(f"{one}: {len(drawn)} rows drawn with seed {seed}")
                status |= bool(lines)
            else:
                made, lines = run(one, client)
                failed = (made["status"] == "failed").sum()
                print(f"{one}: {len(made)} rows, {failed} of them failed")
                status |= failed == len(made)
            said = f"{len(lines)} rows are not as committed, within {TOLERANCE:.0%}"
            print(said, *lines, sep="\n  ")
    return int(status)


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
