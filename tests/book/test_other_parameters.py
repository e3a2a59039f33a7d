"""Chapters run with a reader's parameters: small ones, other targets, problems and sizes."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.small_project import commit, git
from xsquared.book.compare import compare
from xsquared.book.execute import execute
from xsquared.book.project import Project, find_project

#: The points of a picture; optimisers that run their thousands of steps whatever is set; widths and
#: seeds that 07 has too, where they would take most of a minute.
LEFT_OUT = {"02_truncation_errors", "04_training", "08_real_data"}

CASES: dict[str, dict[str, Any]] = {
    "01_function_space": {"seed": 2, "n_hidden": 1, "half_width": 1.0, "n_gates": 2},
    "03_constructions": {
        "expression": "exp(x)",
        "domain": (0, 2),
        "n_shown": 3,
        "widths": [20, 10],
    },
    # Widths of the committed rows here; below, and in the next chapter, a target of one's own.
    "05_scaling_1d": {
        "widths": [5, 10, 12],
        "checked": [5],
        "sizes": [30],
        "jobs": 1,
    },
    "06_gated_quadratic_unit": {
        "expression": "sin(5*x)",
        "domain": (0, 1.5),
        "widths": [4, 10, 12],
        "wide": [14, 20],
        "jobs": 1,
    },
    "07_higher_dimensions": {
        "problems": ["witch"],
        "widths": [2, 3],
        "seeds": 2,
        "surface_width": 2,
        "smooth_widths": [2],
        "smooth_seeds": 2,
        "jobs": 1,
    },
    "09_gelu_series": {
        "n_terms": 2,
        "radii": [2, 4, 5, 6, 8],
        "shown_terms": [1],
        "tolerance": 0.01,
        "seed": 3,
        "dimension": 2,
    },
    "10_gelu_features": {
        "n_terms": 2,
        "target_z": [0.5, -1.0, 0.0],
        "degree": 6,
        "radii": [2.0],
        "limit_bytes": 2**20,
        "draws": 500,
        "random_dimension": 3,
        "feature_counts": [32, 64],
        "seeds": 2,
    },
    "11_learned_features": {
        "seeds": 2,
        "epochs": [3, 10, 30],
        "test_pairs": 50,
        "large_seeds": 2,
        "large_steps": 600,
        "large_test_pairs": 20,
        "map_pairs": 20,
    },
    "12_order_and_constants": {
        "factor_counts": [0, 2],
        "order_widths": [16, 24],
        "constant_cells": 32,
        "local_widths": [5, 11],
        "law_widths": [10, 20, 40],
        "most_pieces": 6,
        "rough_widths": [4, 6],
        "smooth_widths": [4, 8],
        "smooth_seeds": 1,
    },
}


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """The chapters' sources in a checkout of their own, so that nothing else is written to."""
    root = find_project(Path(__file__)).root
    for folder in ("notebooks", "results"):
        shutil.copytree(root / folder, tmp_path / folder)
    shutil.copy(root / "_toc.yml", tmp_path)
    return Project(tmp_path)


def test_every_other_chapter_has_a_case(project: Project) -> None:
    assert {source.stem for source in project.sources()} == LEFT_OUT | set(CASES)


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_a_chapter_runs_with_other_parameters(project: Project, name: str) -> None:
    (run,) = execute(project, [name], CASES[name], jobs=1)
    assert run.output == project.runs / f"{name}.ipynb"


@pytest.mark.slow
def test_chapter_05_runs_with_a_target_of_ones_own(project: Project) -> None:
    # No committed row serves it, so the widths are few; slopes need two from 10 on.
    own = {"expression": "exp(2*x)", "domain": (0, 1.5), "widths": [4, 10, 12], "checked": [4]}
    (run,) = execute(project, ["05_scaling_1d"], own | {"sizes": [30], "jobs": 1}, jobs=1)
    assert run.output == project.runs / "05_scaling_1d.ipynb"


@pytest.mark.slow
def test_an_exercise_of_09_flips_the_verdicts_that_it_names(project: Project) -> None:
    name = "09_gelu_series"
    project.chapters.mkdir(parents=True)
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
