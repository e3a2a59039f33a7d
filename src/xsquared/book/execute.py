"""Execute notebooks through papermill, in parallel, into chapters that only change with results.

Each notebook runs in a process of its own (papermill changes the working directory, so threads
would trip over each other), into a temporary file; the committed chapter is replaced only on
success.
"""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
import platform
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jupytext
import nbformat
import papermill
from papermill.exceptions import PapermillExecutionError
from tqdm.auto import tqdm

from xsquared.book.parameters import fitting_value, parameter_defaults
from xsquared.book.project import BookError, Project
from xsquared.book.verdicts import records

# One thread per kernel: two chapters run side by side, and sums keep the same order of addition
# whatever the machine's number of cores.
KERNEL_ENVIRONMENT = {
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "PYDEVD_DISABLE_FILE_VALIDATION": "1",
}


@dataclass(frozen=True)
class Execution:
    """How the execution of one notebook went.

    Attributes:
        name: the chapter, such as ``"03_constructions"``.
        seconds: wall time, the kernel's start included.
        output: the executed notebook.
        failure: one line naming notebook, cell and error; empty on success.
    """

    name: str
    seconds: float
    output: Path
    failure: str = ""


def usable_cores() -> int:
    """Cores that this process may use, where the system says, else those it has."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def select(project: Project, only: Sequence[str] = ()) -> list[Path]:
    """The notebooks named in ``only``, or all of them.

    Raises:
        BookError: a name is no chapter.
    """
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
        jobs: notebooks executed at a time; the number of usable cores where None.

    Returns:
        One execution per chapter, in reading order.

    Raises:
        BookError: an unknown chapter or parameter; a value of another kind than the parameter's
            default; ``jobs`` below 1; or a cell failed, in which case every other chapter was still
            executed and kept.
    """
    sources = select(project, only)
    given = dict(parameters or {})
    jobs = usable_cores() if jobs is None else jobs
    if jobs < 1:
        raise BookError(f"jobs must be at least 1, got {jobs}")
    chosen = {source: _chosen(source, given) for source in sources}
    for name in given:
        if not any(name in values for values in chosen.values()):
            known = sorted({known for source in sources for known in parameter_defaults(source)})
            raise BookError(
                f"no selected chapter has a parameter {name!r}; "
                f"they have {', '.join(known) or 'none'}"
            )
    if given:
        sources = [source for source in sources if chosen[source]]
    target = project.runs if given else project.chapters
    work = project.build / "executing"
    for folder in (target, work, project.failed):
        folder.mkdir(parents=True, exist_ok=True)

    executions: dict[str, Execution] = {}
    context = multiprocessing.get_context("spawn")
    with (
        ProcessPoolExecutor(min(jobs, len(sources)), mp_context=context) as pool,
        tqdm(total=len(sources), desc="chapters", unit="chapter") as bar,
    ):
        futures = [
            pool.submit(_execute_one, source, work, project.chapters, chosen[source])
            for source in sources
        ]
        for future in as_completed(futures):
            run = future.result()
            destination = (project.failed if run.failure else target) / run.output.name
            run.output.replace(destination)
            executions[run.name] = Execution(run.name, run.seconds, destination, run.failure)
            word = "FAILED" if run.failure else "done"
            bar.write(f"{run.name}: {word} in {run.seconds:.1f} s")
            bar.update()
    ordered = [executions[source.stem] for source in sources]
    failures = [run for run in ordered if run.failure]
    if failures:
        lines = [f"{run.failure}\n  half-executed notebook: {run.output}" for run in failures]
        raise BookError("\n".join(lines))
    if not given:
        _record_times(project, ordered)
    return ordered


def _chosen(source: Path, given: Mapping[str, Any]) -> dict[str, Any]:
    """Those of the given values that are for parameters of this chapter."""
    defaults = parameter_defaults(source)
    return {
        name: fitting_value(name, value, defaults[name])
        for name, value in given.items()
        if name in defaults
    }


def _execute_one(
    source: Path, work: Path, kernel_folder: Path, parameters: dict[str, Any]
) -> Execution:
    """Run one notebook in this process; leave the tidied result in ``work``."""
    os.environ.update(KERNEL_ENVIRONMENT)
    plain = work / f"{source.stem}.source.ipynb"
    output = work / f"{source.stem}.ipynb"
    kernel_folder.mkdir(parents=True, exist_ok=True)
    nbformat.write(jupytext.read(source), plain)
    failure = ""
    start = time.perf_counter()
    try:
        papermill.execute_notebook(
            str(plain),
            str(output),
            parameters=parameters,
            kernel_name="python3",
            cwd=str(kernel_folder),  # where nbval replays them
            progress_bar=False,
            # The kernel warns that TCP on loopback is not encrypted; nothing else is lost.
            extra_arguments=["--log-level=CRITICAL"],
        )
    except PapermillExecutionError as error:
        failure = (
            f"{source.name}, cell {error.cell_index} (In [{error.exec_count}]): "
            f"{error.ename}: {error.evalue}"
        )
    seconds = time.perf_counter() - start
    plain.unlink()
    notebook = nbformat.read(output, as_version=4)
    if not failure and not parameters:
        failure = _unexpected_verdicts(source, notebook)
    if not failure:
        tidy(notebook)
    nbformat.write(notebook, output)
    return Execution(source.stem, seconds, output, failure)


def _unexpected_verdicts(source: Path, notebook: nbformat.NotebookNode) -> str:
    """One line per verdict that is not the one on record; empty where there is none."""
    return "\n".join(
        f"{source.name}, {record['claim']}: measured {record['measured']}, {record['unexpected']}"
        for record in records(notebook)
        if record["unexpected"]
    )


def tidy(notebook: nbformat.NotebookNode) -> None:
    """Remove from an executed notebook, in place, all that changes without its results changing.

    Timestamps and the interpreter's version go; cell ids become a digest of the cell's source, so a
    new cell does not rename those behind it; consecutive chunks of one stream become one.
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
        tags = cell.metadata.get("tags")
        if tags is not None and not tags:
            del cell.metadata["tags"]
        elif tags and "injected-parameters" in tags and "hide-input" not in tags:
            tags.append("hide-input")
        if cell.cell_type == "code":
            cell.outputs = _merge_streams(cell.outputs)


def _merge_streams(outputs: list[nbformat.NotebookNode]) -> list[nbformat.NotebookNode]:
    """Join neighbouring outputs of one stream: how the kernel cuts them is a matter of timing."""
    merged: list[nbformat.NotebookNode] = []
    for output in outputs:
        last = merged[-1] if merged else None
        if (
            last is not None
            and output.output_type == "stream"
            and last.output_type == "stream"
            and output.name == last.name
        ):
            last.text += output.text
        else:
            merged.append(output)
    return merged


def _record_times(project: Project, executions: Sequence[Execution]) -> None:
    """Add these executions' times to the record that the reproduction page prints."""
    record: dict[str, Any] = {}
    if project.times.is_file():
        record = json.loads(project.times.read_text(encoding="utf-8"))
    record["machine"] = (
        f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, "
        f"Python {platform.python_version()}"
    )
    chapters = record.setdefault("chapters", {})
    chapters.update({run.name: round(run.seconds, 1) for run in executions})
    names = {source.stem for source in project.sources()}
    record["chapters"] = {name: chapters[name] for name in sorted(chapters) if name in names}
    project.times.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
