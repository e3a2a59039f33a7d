"""The command ``xsquared``.

Each command imports what it needs: the numerics work without the book's dependencies.
"""

from __future__ import annotations

import ast
import random
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from importlib import import_module
from pathlib import Path
from typing import Any

import click

from xsquared import __version__


def typed_value(text: str) -> Any:
    """Read a value of the command line: a Python literal, or else a string."""
    stripped = text.strip()
    try:
        return ast.literal_eval(stripped)
    except (ValueError, SyntaxError):
        return stripped


@contextmanager
def _needing(extra: str, otherwise: str = "") -> Iterator[None]:
    """Say which extra of the package has what an import does not find.

    Raises:
        RuntimeError: a module is not installed.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        remedy = f"{error}: pip install 'xsquared[{extra}]'"
        message = ", ".join(filter(None, [remedy, otherwise]))
        raise RuntimeError(message) from error


@click.group(context_settings={"show_default": True})
@click.version_option(__version__, prog_name="xsquared", message="%(prog)s %(version)s")
def commands() -> None:
    """An executable book on what a feed-forward layer can approximate."""


@commands.command()
@click.option(
    "--only", multiple=True, metavar="NAME", help="A chapter; may be repeated."
)
@click.option(
    "-p",
    "parameters",
    nargs=2,
    multiple=True,
    help="Name and value of a parameter; may be repeated.",
)
@click.option(
    "--jobs", type=click.IntRange(1), help="Chapters at a time (default: the cores)."
)
def book(
    only: Sequence[str], parameters: Sequence[tuple[str, str]], jobs: int | None
) -> None:
    """Execute the chapters and build the site into _build/html.

    With --only the pages of these chapters alone are built. With -p, too, they are left
    in _build/runs, with a page each that marks what is not as in the committed
    chapters, which are not touched.
    """
    if parameters and not only:
        raise click.UsageError("-p sets parameters of the chapters that --only names")
    with _needing("book"):
        from xsquared.book.execute import execute
        from xsquared.book.project import find_project
        from xsquared.book.render import render, render_pages
        from xsquared.book.runs import mark_run

    start = time.perf_counter()
    project = find_project(Path.cwd())
    values = {name: typed_value(value) for name, value in parameters}
    names = [path.stem for path in execute(project, only, values, jobs)]
    if values:
        for name in names:
            print(f"{name}. {mark_run(project, name)[1]}")
    if only:
        pages = render_pages(project, names, runs=bool(values))
    else:
        pages = [render(project) / "index.html"]
    print(*pages, f"({time.perf_counter() - start:.0f} s)", sep="\n")


@commands.command()
def fill() -> None:
    """Write the sources' prose, with numbers and links, into the executed chapters.

    `book` does so, too. Nothing is executed, as prose that changed needs no more.
    """
    with _needing("book"):
        from xsquared.book.project import find_project
        from xsquared.book.prose import fill

    for path in fill(find_project(Path.cwd())):
        print(path)


@commands.command()
@click.option(
    "--out", type=click.Path(path_type=Path), default="speedrun.png", help="The figure."
)
def speedrun(out: Path) -> None:
    """Measure two slopes in seconds.

    The speedrun of the gated-units paper's repository: MLP and GLU at widths 1, 4, ...,
    100, gates on equidistant hinges. Slopes are printed beside those of its picture,
    and drawn.
    """
    from xsquared.book.plotting import speedrun_figure
    from xsquared.studies.speedrun import PRINTED, speedrun

    start = time.perf_counter()
    runs = speedrun()
    for run in runs:
        slopes = f"slope {run.slope.value:.3f}, printed {PRINTED[run.unit]}"
        print(f"{run.unit.upper()}  {slopes}")
    speedrun_figure(runs).savefig(out)
    print(f"{out} ({time.perf_counter() - start:.1f} s)")


@commands.command()
@click.argument("name", default="")
@click.option("--all", "every", is_flag=True, help="Every study.")
@click.option("--part", is_flag=True, help="Write what is there, and compute nothing.")
@click.option(
    "--check", "count", type=click.IntRange(1), help="Compare rows drawn at random."
)
@click.option(
    "--jobs", type=click.IntRange(1), help="Trials at a time (default: the cores)."
)
@click.option(
    "--scheduler", default="", help="Of a Dask cluster to use, as tcp://HOST:PORT."
)
def study(
    name: str,
    every: bool,
    part: bool,
    count: int | None,
    jobs: int | None,
    scheduler: str,
) -> int:
    """Run or check a declared study, whose rows chapters read.

    Runs the trials that have no row in results/ yet, goes on where it was stopped, and
    writes the rows there; with --part it only writes what is there; with --check it
    runs some trials anew and compares. To run all trials anew, remove results/NAME.csv
    and results/NAME.toml first.
    """
    from xsquared.studies.declared import STUDIES
    from xsquared.studies.sweep import local_client

    if every == bool(name):
        raise click.UsageError(
            f"expected a study or --all; the studies are {', '.join(STUDIES)}"
        )
    if part and count:
        raise click.UsageError(
            "--part writes what is there, --check runs trials: give one of them"
        )

    def connect() -> AbstractContextManager[Any]:
        if jobs == 1 and not scheduler:
            return nullcontext()
        with _needing("cluster", "or run one trial at a time by --jobs 1"):
            distributed = import_module("distributed")
        return distributed.Client(scheduler) if scheduler else local_client(jobs)

    bad = False
    for study_name in STUDIES if every else [name]:
        if count:
            bad |= not _check_study(study_name, count, connect)
        else:
            bad |= not _run_study(study_name, connect, part)
    return int(bad)


def _check_study(
    name: str, count: int, connect: Callable[[], AbstractContextManager[Any]]
) -> bool:
    """Run some committed trials anew; whether all come out as they are committed."""
    from xsquared.studies.committed import TOLERANCE, check, rows
    from xsquared.studies.declared import find_study
    from xsquared.studies.sweep import trial_key

    committed = set(rows(name)["key"])
    trials = [
        trial for trial in find_study(name).trials() if trial_key(trial) in committed
    ]
    drawn = random.sample(trials, min(count, len(trials)))
    differences = check(name, drawn, connect)
    print(
        f"{name}: {len(differences)} rows of {len(drawn)} trials are not as committed, "
        f"within {TOLERANCE:.0%}"
    )
    for difference in differences:
        print(f"  {difference}")
    return not differences


def _run_study(
    name: str, connect: Callable[[], AbstractContextManager[Any]], part: bool
) -> bool:
    """Run the trials of a study that have no row; whether not all have failed."""
    from xsquared.studies.committed import run
    from xsquared.studies.declared import find_study

    frame = run(name, connect, part).drop_duplicates("key")
    failed = 0 if frame.empty else (frame["status"] == "failed").sum()
    trials = len(find_study(name).trials())
    print(f"{name}: {len(frame)} of {trials} trials, {failed} of them failed")
    return not failed or failed < len(frame)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line, errors being one message; return the exit status."""
    try:
        return commands.main(argv, "xsquared", standalone_mode=False) or 0
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (KeyboardInterrupt, click.Abort):
        print("xsquared: interrupted", file=sys.stderr)
        return 130
    except (RuntimeError, ValueError, OSError) as error:
        print(f"xsquared: {error}", file=sys.stderr)
        return 1
