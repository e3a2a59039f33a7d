"""Execute notebooks through papermill into chapters that only change with results.

Each notebook runs in a process of its own, as papermill changes the working directory.
Where a chapter's sources and printed outputs are as committed, the committed file
stays, figures included: their last digits differ between processors.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import nbformat
import papermill
from papermill.exceptions import PapermillExecutionError
from tqdm import tqdm

from xsquared.book.pictures import PNG, SVG
from xsquared.book.project import BookError, Project, code_cells, read_source, records
from xsquared.book.prose import fill
from xsquared.studies.committed import COMMITTED_ONLY
from xsquared.studies.sweep import ENVIRONMENT


def execute(
    project: Project,
    only: Sequence[str] = (),
    parameters: Mapping[str, Any] | None = None,
    jobs: int | None = None,
) -> list[Path]:
    """Execute chapters and put the results in their places.

    Without parameters, results replace ``book/chapters``; with parameters they go to
    ``_build/runs`` and the committed chapters stay as they are.

    Args:
        project: the checkout.
        only: names of the chapters to execute; all where empty.
        parameters: values for the notebooks' ``parameters`` cells, all of which must
            declare them.
        jobs: notebooks executed at a time; as many as cores where None.

    Returns:
        The executed notebooks.

    Raises:
        BookError: an unknown chapter or parameter, or a chapter failed; every other one
            is kept.
    """
    sources = project.sources(only)
    values = dict(parameters or {})
    target = project.runs if values else project.chapters
    # The kernels run where chapters lie, as they do when nbval replays them.
    for folder in (target, project.chapters):
        folder.mkdir(parents=True, exist_ok=True)
    os.environ.update(ENVIRONMENT, PYDEVD_DISABLE_FILE_VALIDATION="1")
    os.environ[COMMITTED_ONLY] = "" if values else "1"
    notebooks = []
    failures = []
    with (
        TemporaryDirectory() as work,
        ProcessPoolExecutor(jobs or os.cpu_count(), get_context("spawn")) as pool,
    ):
        running = {}
        for notebook in _to_run(sources, values, Path(work)):
            task = pool.submit(_execute_one, notebook, target, project.chapters, values)
            running[task] = notebook
        for task in tqdm(as_completed(running), total=len(running), unit="chapter"):
            notebook = running[task]
            seconds, failure = task.result()
            state = "FAILED" if failure else "done"
            tqdm.write(f"{notebook.stem}: {state} in {seconds:.1f} s")
            notebooks.append(target / notebook.name)
            if failure:
                failures.append(failure)
    if failures:
        raise BookError("\n".join(failures))
    fill(project, [path.stem for path in notebooks] if values else ())
    return sorted(notebooks)


def _to_run(
    sources: Sequence[Path], values: Mapping[str, Any], folder: Path
) -> list[Path]:
    """Write the notebooks to execute into a folder, if they declare these values."""
    notebooks = []
    for source in sources:
        notebook = folder / f"{source.stem}.ipynb"
        nbformat.write(read_source(source), notebook)
        notebooks.append(notebook)
        if not values:
            continue
        declared = papermill.inspect_notebook(str(notebook))
        unknown = sorted({*values} - {*declared})
        if unknown:
            raise BookError(
                f"{source.stem} has no parameter {', '.join(unknown)}; it has "
                f"{', '.join(declared)}"
            )
    return notebooks


def _execute_one(
    plain: Path, target: Path, kernel_folder: Path, parameters: dict[str, Any]
) -> tuple[float, str]:
    """Run one notebook in this process; return wall seconds, and what failed."""
    output = plain.with_suffix(".executed.ipynb")
    start = time.perf_counter()
    run = partial(
        papermill.execute_notebook,
        str(plain),
        str(output),
        parameters=parameters,
        kernel_name="python3",
        cwd=str(kernel_folder),
        progress_bar=False,
        # The kernel warns that TCP on loopback is not encrypted; nothing else is lost.
        extra_arguments=["--log-level=CRITICAL"],
        coalesce_streams=True,  # the kernel cuts them by timing
    )
    try:
        try:
            run()
        except RuntimeError:  # no kernel: another one had taken a port of its
            run()
    except PapermillExecutionError as error:
        cell = f"{plain.stem}, cell {error.cell_index} (In [{error.exec_count}])"
        return time.perf_counter() - start, f"{cell}: {error.ename}: {error.evalue}"
    seconds = time.perf_counter() - start
    notebook = nbformat.read(output, as_version=4)
    path = target / plain.name
    if not parameters:
        unexpected = [
            f"{plain.stem}, {row['claim']}: measured {row['measured']}, "
            f"{row['unexpected']}"
            for row in records(notebook)
            if row["unexpected"]
        ]
        if unexpected:
            return seconds, "\n".join(unexpected)
        if path.is_file():
            committed = nbformat.read(path, as_version=4)
            if printed(committed) == printed(notebook):
                return seconds, ""
    unfinished = path.with_suffix(".part")  # what is cut short replaces nothing
    nbformat.write(notebook, unfinished)
    unfinished.replace(path)
    return seconds, ""


def printed(notebook: nbformat.NotebookNode) -> list[Any]:
    """List a notebook's code and what it puts out, figures left blank."""
    content: list[Any] = []
    for cell in code_cells(notebook):
        content.append(cell.source)
        for output in cell.outputs:
            data = dict(output.get("data", {}))
            for picture in {SVG, PNG} & {*data}:
                data[picture] = ""
            content.append((output.get("text"), data))
    return content
