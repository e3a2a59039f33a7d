"""Chapters run with a reader's parameters: small ones, other targets, problems and sizes."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jupyter_client.manager import KernelManager
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from nbformat.v4 import new_code_cell

from tests.small_project import commit, git
from xsquared_book.compare import compare
from xsquared_book.execute import KERNEL_ENVIRONMENT, execute
from xsquared_book.parameters import declared
from xsquared_book.project import Project, find_project, read_source

#: The points of a picture; optimisers that run their thousands of steps whatever is set; widths and
#: seeds that 07 has too, where they would take most of a minute.
LEFT_OUT = {"02_truncation_errors", "04_training", "08_real_data"}

#: Of 05 widths of the committed rows; below, and in the next chapter, a target of one's own.
CASES: dict[str, dict[str, Any]] = {
    "01_function_space": {"seed": 2, "n_hidden": 1, "half_width": 1.0, "n_gates": 2},
    "03_constructions": {
        "expression": "exp(x)", "domain": (0, 2), "n_shown": 3, "widths": [20, 10],
    },
    "05_scaling_1d": {"widths": [5, 10, 12], "checked": [5], "sizes": [30], "jobs": 1},
    "06_gated_quadratic_unit": {
        "expression": "sin(5*x)", "domain": (0, 1.5), "widths": [4, 10, 11], "wide": [12, 14],
        "jobs": 1,
    },
    "07_higher_dimensions": {"seeds": 2, "compared_widths": [8], "surface_width": 2, "jobs": 1},
    "09_gelu_series": {
        "n_terms": 2, "radii": [2, 4, 5, 6, 8], "shown_terms": [1], "tolerance": 0.01, "seed": 3,
        "dimension": 2,
    },
    "10_gelu_features": {
        "n_terms": 2, "target_z": [0.5, -1.0, 0.0], "degree": 6, "radii": [2.0],
        "draws": 500, "random_dimension": 3, "feature_counts": [64, 128], "seeds": 2,
    },
    "11_learned_features": {
        "seeds": 2, "epochs": [3, 10, 30], "test_pairs": 50, "large_seeds": 2, "large_steps": 400,
        "large_test_pairs": 20,
    },
    "12_order_and_constants": {
        "factor_counts": [0, 2], "order_widths": [16, 24], "constant_cells": 32,
        "local_widths": [5, 11], "law_cells": 160, "most_pieces": 6,
        "rough_widths": [4, 6], "smooth_widths": [4, 8],
    },
    "13_which_unit": {
        "units": ["mlp", "glu", "glu:relu2"], "kinds": ["kinked"], "inputs": [1], "seeds": 2,
        "spline_sizes": [106, 211], "jobs": 1,
    },
    "14_transformer": {"degrees": [2, 6], "resamples": 200},
}  # fmt: skip


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """The chapters' sources in a checkout of their own, so that nothing else is written to."""
    root, made = find_project(Path(__file__)).root, tmp_path_factory.mktemp("checkout")
    for folder in ("notebooks", "results"):
        shutil.copytree(root / folder, made / folder)
    shutil.copy(root / "_toc.yml", made)
    return Project(made)


@pytest.fixture(scope="module")
def kernel(project: Project) -> Iterator[KernelManager]:
    """One for all chapters: most of a short run is loading the same packages."""
    project.chapters.mkdir(parents=True)
    manager = KernelManager(kernel_name="python3")
    manager.start_kernel(cwd=str(project.chapters), env=os.environ | KERNEL_ENVIRONMENT)
    yield manager
    manager.shutdown_kernel(now=True)


def test_every_other_chapter_has_a_case(project: Project) -> None:
    assert {source.stem for source in project.sources()} == LEFT_OUT | set(CASES)


def run_in(kernel: KernelManager, source: Path, parameters: dict[str, Any]) -> None:
    """Run all cells with other parameters; a cell that raises is an error."""
    has, notebook = declared(source), read_source(source)
    given = [(name, has[name].fitting(new)) for name, new in parameters.items()]
    tags = [cell.metadata.get("tags", []) for cell in notebook.cells]
    (place,) = (i for i, own in enumerate(tags) if "parameters" in own)
    notebook.cells.insert(place + 1, new_code_cell("\n".join(f"{n} = {v!r}" for n, v in given)))
    notebook.cells.insert(0, new_code_cell("%reset -f"))
    client = NotebookClient(notebook, km=kernel)
    try:
        client.execute()
    finally:
        if client.kc:
            client.kc.stop_channels()


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_a_chapter_runs_with_others(project: Project, kernel: KernelManager, name: str) -> None:
    run_in(kernel, project.notebooks / f"{name}.md", CASES[name])


@pytest.mark.slow
def test_chapter_05_runs_with_a_target_of_ones_own(project: Project, kernel: KernelManager) -> None:
    # No committed row serves it, so the widths are few; slopes need two from 10 on.
    own = {"expression": "exp(2*x)", "domain": (0, 1.5), "widths": [10, 11], "checked": [10]}
    run_in(kernel, project.notebooks / "05_scaling_1d.md", own | {"sizes": [60], "jobs": 1})


def test_a_cell_that_raises_is_an_error(project: Project, kernel: KernelManager) -> None:
    with pytest.raises(CellExecutionError, match="epochs: expected ascending numbers"):
        run_in(kernel, project.notebooks / "11_learned_features.md", {"epochs": [3]})


@pytest.mark.slow
def test_an_exercise_of_09_flips_the_verdicts_that_it_names(project: Project) -> None:
    name = "09_gelu_series"
    project.chapters.mkdir(parents=True, exist_ok=True)
    shutil.copy(find_project(Path(__file__)).chapters / f"{name}.ipynb", project.chapters)
    git(project, "init")
    commit(project)
    execute(project, [name], {"n_terms": 13}, jobs=1)
    found = compare(project, [name])
    assert found.flipped == [
        *(f"gl-table1-{radius}" for radius in (1, 3, 7)),
        "gl-acceptable-on-3",
        "gl-only-around-zero",
    ]
    (series,) = (pair for key, pair in found.others["tables"].items() if key == "tab-series")
    then, now = ([float(row[1]) for row in table["rows"]] for table in series)
    assert [new < old for old, new in zip(then, now, strict=True)] == [True, True, False, False]
