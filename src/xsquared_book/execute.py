"""Execute notebooks through papermill, in parallel, into chapters that only change with results.

Each notebook runs in a process of its own (papermill changes the working directory, so threads
would trip over each other), into a temporary file; the committed chapter is replaced only on
success, and no process or kernel outlives the book.
"""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
import platform
import shutil
import signal
import threading
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, cast

import nbformat
import papermill
from nbclient.exceptions import DeadKernelError
from papermill.exceptions import PapermillExecutionError
from tqdm import tqdm

from xsquared_book.parameters import declared
from xsquared_book.pictures import picture_of, same_figure
from xsquared_book.project import BookError, Project, busy, read_source, records
from xsquared_studies.sweep import ENVIRONMENT

_Task = tuple[Path, Path, Path, dict[str, Any]]
KERNEL_ENVIRONMENT = ENVIRONMENT | {"PYDEVD_DISABLE_FILE_VALIDATION": "1"}


@dataclass(frozen=True)
class Execution:
    """How the execution of one chapter went: wall time, and where the notebook lies.

    The failure is one line naming notebook, cell and error; empty on success.
    """

    name: str
    seconds: float
    output: Path
    failure: str = ""


def usable_cores() -> int:
    """Cores that this process may use, where the system says, else those it has."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def select(project: Project, only: Sequence[str] = ()) -> list[Path]:
    """The notebooks named in ``only``, or all of them; a BookError where a name is no chapter."""
    sources = project.sources()
    unknown = sorted(set(only) - {source.stem for source in sources})
    if unknown:
        known = ", ".join(source.stem for source in sources)
        raise BookError(f"no chapter named {', '.join(unknown)}; the chapters are {known}")
    return [source for source in sources if not only or source.stem in only]


def execute(
    project: Project,
    only: Sequence[str] = (),
    parameters: Mapping[str, Any] | None = None,
    jobs: int | None = None,
) -> list[Execution]:
    """Execute chapters and put the results in their places.

    Without parameters, results replace ``book/chapters``; with parameters they go to
    ``_build/runs`` and the committed chapters stay as they are.

    Args:
        project: the checkout.
        only: names of the chapters to execute; all where empty.
        parameters: values for the notebooks' ``parameters`` cells. Each must be declared by at
            least one selected chapter; chapters that declare none of them are not executed.
        jobs: notebooks executed at a time; as many as usable cores where None.

    Returns:
        One execution per chapter, in reading order.

    Raises:
        BookError: an unknown chapter or parameter; a value that does not fit the parameter's
            default; a source that cannot be read; ``jobs`` below 1; another run in this checkout;
            or a chapter failed, in which case every other one was still executed and kept.
    """
    sources = select(project, only)
    given = dict(parameters or {})
    jobs = usable_cores() if jobs is None else jobs
    if jobs < 1:
        raise BookError(f"jobs must be at least 1, got {jobs}")
    parameters_of = {source: declared(source) for source in sources}
    known = {name for own in parameters_of.values() for name in own}
    if unknown := [name for name in given if name not in known]:
        has = ", ".join(sorted(known)) or "none"
        raise BookError(f"no selected chapter has a parameter {unknown[0]!r}; they have {has}")
    chosen = {
        source: {name: own[name].fitting(given[name]) for name in own if name in given}
        for source, own in parameters_of.items()
    }
    if given:
        sources = [source for source in sources if chosen[source]]
    target = project.runs if given else project.chapters
    executions: dict[str, Execution] = {}
    with busy(project), tqdm(total=len(sources), desc="chapters", unit="chapter") as bar:
        work = project.build / "executing"
        for folder in (target, work, project.failed):
            folder.mkdir(parents=True, exist_ok=True)
        tasks = [(source, work, project.chapters, chosen[source]) for source in sources]
        with closing(_side_by_side(tasks, jobs)) as runs:
            for run in runs:
                place = (project.failed if run.failure else target) / run.output.name
                if run.output.is_file():
                    _move(run.output, place)
                executions[run.name] = Execution(run.name, run.seconds, place, run.failure)
                word = "FAILED" if run.failure else "done"
                bar.write(f"{run.name}: {word} in {run.seconds:.1f} s")
                bar.update()
    ordered = [executions[source.stem] for source in sources]
    failures = [f"{r.failure}\n  half-executed notebook: {r.output}" for r in ordered if r.failure]
    if failures:
        raise BookError("\n".join(failures))
    if not given:
        _record_times(project, ordered)
    return ordered


def _move(file: Path, place: Path) -> None:
    """Replace one file by another in one step, from another file system too."""
    part = place.with_suffix(".part")
    shutil.copyfile(file, part)
    part.replace(place)
    file.unlink()


def _side_by_side(tasks: Sequence[_Task], jobs: int) -> Generator[Execution]:
    """Each task in a process of its own, at most ``jobs`` at a time; whatever ends this ends them.

    A process that dies is the failure of its own chapter only.
    """
    context = multiprocessing.get_context("spawn")
    waiting = list(reversed(tasks))
    running: dict[Connection, tuple[Any, _Task]] = {}
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                receiver, sender = context.Pipe(duplex=False)
                process = context.Process(target=_work, args=(sender, *waiting[-1]))
                process.start()
                sender.close()
                running[receiver] = (process, waiting.pop())
            for ready in wait(list(running)):
                receiver = cast(Connection, ready)
                process, (source, work, *_) = running.pop(receiver)
                try:
                    run = receiver.recv()
                except EOFError:
                    process.join()
                    failure = f"{source.name}: its process ended with code {process.exitcode}"
                    run = Execution(source.stem, 0.0, work / f"{source.stem}.ipynb", failure)
                process.join()
                yield run
    finally:
        for process, _ in running.values():
            process.terminate()


def _work(sender: Connection, *task: Any) -> None:
    """What a chapter's process does."""

    def end_with_book() -> None:
        cast(Any, multiprocessing.parent_process()).join()
        os._exit(1)

    # An interrupt is for the book, which then ends this process; and this process ends with the
    # book, even a killed one. Kernels watch their parent themselves.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=end_with_book, daemon=True).start()
    sender.send(_execute_one(*task))


def _execute_one(
    source: Path, work: Path, kernel_folder: Path, parameters: dict[str, Any]
) -> Execution:
    """Run one notebook in this process; leave the tidied result in ``work``."""
    os.environ.update(KERNEL_ENVIRONMENT)
    plain = work / f"{source.stem}.source.ipynb"
    output = work / f"{source.stem}.ipynb"
    kernel_folder.mkdir(parents=True, exist_ok=True)
    nbformat.write(read_source(source), plain)
    failure = ""
    start = time.perf_counter()
    run = partial(
        papermill.execute_notebook,
        str(plain),
        str(output),
        parameters=parameters,
        kernel_name="python3",
        cwd=str(kernel_folder),  # where nbval replays them
        progress_bar=False,
        # The kernel warns that TCP on loopback is not encrypted; nothing else is lost.
        extra_arguments=["--log-level=CRITICAL"],
    )
    try:
        try:
            run()
        except RuntimeError as error:
            # Ports are chosen, and when the kernel takes them another process may have been faster.
            if "died before replying" not in str(error):
                raise
            run()
    except PapermillExecutionError as error:
        failure = (
            f"{source.name}, cell {error.cell_index} (In [{error.exec_count}]): "
            f"{error.ename}: {error.evalue}"
        )
    except DeadKernelError:
        cells = nbformat.read(output, as_version=4).cells  # as papermill last saved them
        begun = [i for i, cell in enumerate(cells) if cell.metadata.papermill.start_time]
        place = f"cell {begun[-1]}" if begun else "before its first cell"
        failure = f"{source.name}, {place}: the kernel died (a crash, or no memory)"
    seconds = time.perf_counter() - start
    plain.unlink()
    notebook = nbformat.read(output, as_version=4)
    if not failure and not parameters:
        failure = "\n".join(
            f"{source.name}, {row['claim']}: measured {row['measured']}, {row['unexpected']}"
            for row in records(notebook)
            if row["unexpected"]
        )
    if not failure:
        tidy(notebook)
        if not parameters:
            keep_figures(notebook, kernel_folder / output.name)
    nbformat.write(notebook, output)
    return Execution(source.stem, seconds, output, failure)


def keep_figures(notebook: nbformat.NotebookNode, committed: Path) -> None:
    """Leave the committed chapter's figures in place that differ by rounding only.

    Rounding is another on each processor.
    """
    if not committed.is_file():
        return
    books = nbformat.read(committed, as_version=4), notebook
    before, now = ([cell for cell in book.cells if cell.cell_type == "code"] for book in books)
    figures = {
        figure["name"]: output
        for cell in before
        if (figure := cell.metadata.get("mystnb", {}).get("figure"))
        for output in filter(picture_of, cell.outputs)
    }
    for cell in now:
        kept = figures.get(cell.metadata.get("mystnb", {}).get("figure", {}).get("name"), {})
        cell.outputs = [kept if same_figure(kept, output) else output for output in cell.outputs]


def tidy(notebook: nbformat.NotebookNode) -> None:
    """Remove from an executed notebook, in place, all that changes without its results changing.

    Timestamps and the interpreter's version go; cell ids become a digest of the cell's source, so a
    new cell does not rename those behind it; chunks of one stream, which the kernel cuts by timing,
    become one.
    """
    kernel = notebook.metadata.get("kernelspec", {})
    notebook.metadata = nbformat.from_dict(
        {"kernelspec": kernel, "language_info": {"name": "python"}}
    )
    seen: dict[str, int] = {}
    for cell in notebook.cells:
        digest = hashlib.sha256(f"{cell.cell_type}\n{cell.source}".encode()).hexdigest()[:12]
        seen[digest] = seen.get(digest, 0) + 1
        cell.id = digest if seen[digest] == 1 else f"{digest}-{seen[digest]}"
        for key in ("papermill", "execution"):
            cell.metadata.pop(key, None)
        tags = cell.metadata.pop("tags", [])
        if "injected-parameters" in tags and "hide-input" not in tags:
            tags.append("hide-input")
        if tags:
            cell.metadata["tags"] = tags
        if cell.cell_type == "code":
            merged: list[nbformat.NotebookNode] = []
            for output in cell.outputs:  # a stream has a name, other outputs have none
                if merged and output.get("name", "") == merged[-1].get("name"):
                    merged[-1].text += output.text
                else:
                    merged.append(output)
            cell.outputs = merged


def _record_times(project: Project, executions: Sequence[Execution]) -> None:
    """Add these executions' times to the record that the reproduction page prints."""
    times: dict[str, float] = {}
    if project.times.is_file():
        times = json.loads(project.times.read_text(encoding="utf-8"))["chapters"]
    times |= {run.name: round(run.seconds, 1) for run in executions}
    python = f"Python {platform.python_version()}"
    record = {
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, {python}",
        "chapters": {s.stem: times[s.stem] for s in project.sources() if s.stem in times},
    }
    project.times.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
