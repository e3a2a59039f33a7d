"""Execute notebooks through papermill into chapters that only change with results.

Each notebook runs in a process of its own, as papermill changes the working directory.
Where a chapter's sources and printed outputs are as committed, the committed file
stays, figures included: their last digits differ between processors.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import nbformat
import papermill
from papermill.exceptions import PapermillExecutionError
from tqdm import tqdm

from xsquared.book.pictures import PNG, SVG
from xsquared.book.project import (
    BookError,
    Project,
    name_cells,
    read_source,
    records,
    written,
)
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
        parameters: values for the notebooks' ``parameters`` cells; chapters that
            declare none of them are not executed.
        jobs: notebooks executed at a time; as many as cores where None.

    Returns:
        The executed notebooks.

    Raises:
        BookError: an unknown chapter or parameter, or a chapter failed; every other one
            is kept.
    """
    sources = _sources(project, only)
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
        for notebook, given in _to_run(sources, values, Path(work)):
            task = pool.submit(_execute_one, notebook, target, project.chapters, given)
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


def _sources(project: Project, only: Sequence[str]) -> list[Path]:
    """List the sources of chapters by their names, all where there are none."""
    sources = project.sources()
    names = [source.stem for source in sources]
    unknown = sorted({*only} - {*names})
    if unknown:
        raise BookError(
            f"no chapter named {', '.join(unknown)}; the chapters are "
            f"{', '.join(names)}"
        )
    return [source for source in sources if not only or source.stem in only]


def _to_run(
    sources: Sequence[Path], values: Mapping[str, Any], folder: Path
) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Write the notebooks to execute into a folder; each with the values it declares.

    Without values all are executed, with values those that declare one of them.
    """
    notebooks = []
    declared: dict[Path, set[str]] = {}
    for source in sources:
        notebook = folder / f"{source.stem}.ipynb"
        nbformat.write(read_source(source), notebook)
        notebooks.append(notebook)
        if values:
            declared[notebook] = set(papermill.inspect_notebook(str(notebook)))
    known = set().union(*declared.values())
    unknown = sorted({*values} - known)
    if unknown:
        raise BookError(
            f"no chapter has a parameter {', '.join(unknown)}; they have "
            f"{', '.join(sorted(known))}"
        )
    for notebook in notebooks:
        given = {
            name: value for name, value in values.items() if name in declared[notebook]
        }
        if given or not values:
            yield notebook, given


def _execute_one(
    plain: Path, target: Path, kernel_folder: Path, parameters: dict[str, Any]
) -> tuple[float, str]:
    """Run one notebook in this process; return wall seconds, and what failed."""
    output = plain.with_suffix(".executed.ipynb")
    start = time.perf_counter()
    try:
        papermill.execute_notebook(
            str(plain),
            str(output),
            parameters=parameters,
            kernel_name="python3",
            cwd=str(kernel_folder),
            progress_bar=False,
            # The kernel warns that TCP on loopback is not encrypted; nothing else is
            # lost.
            extra_arguments=["--log-level=CRITICAL"],
        )
    except PapermillExecutionError as error:
        cell = f"{plain.stem}, cell {error.cell_index} (In [{error.exec_count}])"
        return time.perf_counter() - start, f"{cell}: {error.ename}: {error.evalue}"
    seconds = time.perf_counter() - start
    notebook = nbformat.read(output, as_version=4)
    if not parameters:
        unexpected = [
            f"{plain.stem}, {row['claim']}: measured {row['measured']}, "
            f"{row['unexpected']}"
            for row in records(notebook)
            if row["unexpected"]
        ]
        if unexpected:
            return seconds, "\n".join(unexpected)
    tidy(notebook)
    _replace(target / plain.name, notebook)
    return seconds, ""


def _replace(path: Path, notebook: nbformat.NotebookNode) -> None:
    """Put an executed notebook in its place, unless one that says the same is there."""
    if path.is_file():
        committed = nbformat.read(path, as_version=4)
        if printed(committed) == printed(notebook):
            return
    unfinished = path.with_suffix(".part")  # what is cut short replaces nothing
    nbformat.write(notebook, unfinished)
    unfinished.replace(path)


def tidy(notebook: nbformat.NotebookNode) -> None:
    """Remove from an executed notebook, in place, what changes without its results.

    Timestamps and the interpreter's version go; cell ids become a digest of the cell's
    source; chunks of one stream, which the kernel cuts by timing, become one.
    """
    kernel = notebook.metadata.get("kernelspec", {})
    notebook.metadata = nbformat.from_dict(
        {"kernelspec": kernel, "language_info": {"name": "python"}}
    )
    name_cells(notebook)
    for cell in notebook.cells:
        for key in ("papermill", "execution"):
            cell.metadata.pop(key, None)
        tags = cell.metadata.pop("tags", [])
        if "injected-parameters" in tags and "hide-input" not in tags:
            tags.append("hide-input")
        if tags:
            cell.metadata["tags"] = tags
        if cell.cell_type == "code":
            cell.outputs = _joined(cell.outputs)


def _joined(outputs: list[nbformat.NotebookNode]) -> list[nbformat.NotebookNode]:
    """Join successive chunks of one stream."""
    joined: list[nbformat.NotebookNode] = []
    for output in outputs:
        stream = output.get("name")  # other outputs have none
        if joined and stream is not None and stream == joined[-1].get("name"):
            joined[-1].text += output.text
        else:
            joined.append(output)
    return joined


def printed(notebook: nbformat.NotebookNode) -> list[Any]:
    """List what a notebook's author and its outputs say, figures left blank."""
    content = written(notebook)
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            data = dict(output.get("data", {}))
            for picture in {SVG, PNG} & {*data}:
                data[picture] = ""
            content.append((output.get("text"), data))
    return content
