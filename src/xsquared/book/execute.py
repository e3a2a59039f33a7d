"""Execute notebooks through papermill, in parallel, into chapters that only change with
results.

Each notebook runs in a process of its own, as papermill changes the working directory.
Where a chapter's sources and printed outputs are as committed, the committed file
stays, figures included: their last digits differ between processors.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Mapping, Sequence
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
from xsquared.book.project import BookError, Project, read_source, records, said
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
    sources = [
        source for source in project.sources() if not only or source.stem in only
    ]
    if unknown := sorted({*only} - {source.stem for source in sources}):
        known = ", ".join(source.stem for source in project.sources())
        raise BookError(
            f"no chapter named {', '.join(unknown)}; the chapters are {known}"
        )
    given = dict(parameters or {})
    target = project.runs if given else project.chapters
    for folder in (target, project.chapters):  # nbval replays chapters where they lie
        folder.mkdir(parents=True, exist_ok=True)
    os.environ.update(
        ENVIRONMENT, PYDEVD_DISABLE_FILE_VALIDATION="1"
    )  # handed to the kernels
    os.environ[COMMITTED_ONLY] = "" if given else "1"
    failures, made = [], []
    with (
        TemporaryDirectory() as work,
        ProcessPoolExecutor(jobs or os.cpu_count(), get_context("spawn")) as pool,
    ):
        plain = {source: Path(work) / f"{source.stem}.ipynb" for source in sources}
        declared = {}
        for source, place in plain.items():
            nbformat.write(read_source(source), place)
            declared[source] = papermill.inspect_notebook(str(place)) if given else {}
        has = {name for own in declared.values() for name in own}
        if given and (unknown := sorted({*given} - has)):
            they = ", ".join(sorted(has))
            raise BookError(
                f"no chapter has a parameter {', '.join(unknown)}; they have {they}"
            )
        running = {}
        for source, place in plain.items():
            own = {name: given[name] for name in given if name in declared[source]}
            if own or not given:
                running[
                    pool.submit(_execute_one, place, target, project.chapters, own)
                ] = source
        for run in tqdm(as_completed(running), total=len(running), unit="chapter"):
            seconds, failure = run.result()
            word = "FAILED" if failure else "done"
            tqdm.write(f"{running[run].stem}: {word} in {seconds:.1f} s")
            made.append(target / f"{running[run].stem}.ipynb")
            failures += [failure] if failure else []
    if failures:
        raise BookError("\n".join(failures))
    return sorted(made)


def _execute_one(
    plain: Path, target: Path, kernel_folder: Path, parameters: dict[str, Any]
) -> tuple[float, str]:
    """Run one notebook in this process; return wall seconds, and what failed."""
    output, place = plain.with_suffix(".executed.ipynb"), target / plain.name
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
    seconds, notebook = time.perf_counter() - start, nbformat.read(output, as_version=4)
    wrong = [row for row in records(notebook) if row["unexpected"] and not parameters]
    if wrong:
        told = [
            f"{row['claim']}: measured {row['measured']}, {row['unexpected']}"
            for row in wrong
        ]
        return seconds, "\n".join(f"{plain.stem}, {line}" for line in told)
    tidy(notebook)
    if not place.is_file() or told_by(nbformat.read(place, as_version=4)) != told_by(
        notebook
    ):
        part = place.with_suffix(".part")
        nbformat.write(notebook, part)
        part.replace(place)
    return seconds, ""


def tidy(notebook: nbformat.NotebookNode) -> None:
    """Remove from an executed notebook, in place, all that changes without its results
    changing.

    Timestamps and the interpreter's version go; cell ids become a digest of the cell's
    source; chunks of one stream, which the kernel cuts by timing, become one.
    """
    kernel = notebook.metadata.get("kernelspec", {})
    notebook.metadata = nbformat.from_dict(
        {"kernelspec": kernel, "language_info": {"name": "python"}}
    )
    seen: dict[str, int] = {}
    for cell in notebook.cells:
        digest = hashlib.sha256(
            f"{cell.cell_type}\n{cell.source}".encode()
        ).hexdigest()[:12]
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


def told_by(notebook: nbformat.NotebookNode) -> list[Any]:
    """What a notebook's author and its outputs say; of figures only that they are
    there.
    """
    told = said(notebook)
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            shown = {
                kind: "" if kind in (SVG, PNG) else text for kind, text in data.items()
            }
            told.append((output.get("text"), shown))
    return told
