"""The package installed, outside a checkout: README's Python, committed rows, every chapter."""

import json
import os
import re
import shutil
import site
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from xsquared_book.parameters import declared

from xsquared_book.project import Project, find_project, read_source

PROJECT: Project = find_project(Path(__file__))
#: Chapters as they are: parameters that are the points of a picture.
AS_THEY_ARE = {"02_truncation_errors", "A_derivations_gated"}
#: A reader's parameters: small ones, other targets, problems and sizes. Of 05 widths of the
#: committed rows; in the next chapter a target of one's own.
CASES: dict[str, dict[str, Any]] = {
    "01_function_space": {"seed": 2, "n_hidden": 1, "half_width": 1.0, "n_gates": 2},
    "03_constructions": {
        "expression": "exp(x)", "domain": (0, 2), "n_shown": 3, "widths": [10, 20],
    },
    "04_training": {"n_compared": 4, "widths": [3, 10, 20], "wide": [20, 28, 40], "stalled": [3]},
    "05_scaling_1d": {"widths": [5, 10, 12], "checked": [5], "sizes": [30], "jobs": 1},
    "06_gated_quadratic_unit": {
        "expression": "sin(5*x)", "domain": (0, 1.5), "widths": [10, 11], "wide": [12, 14],
        "jobs": 1,
    },
    "07_higher_dimensions": {"seeds": 2, "compared_widths": [8], "surface_width": 2, "jobs": 1},
    "08_real_data": {"seeds": 3, "references": 2, "jobs": 1},
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
        "rough_widths": [2, 3], "smooth_widths": [4, 8],
    },
    "13_which_unit": {
        "units": ["mlp", "glu", "glu:relu2"], "kinds": ["kinked"], "inputs": [1], "seeds": 2,
        "spline_sizes": [106, 211], "jobs": 1,
    },
    "14_transformer": {"degrees": [2, 6], "resamples": 200},
}  # fmt: skip
#: No committed row serves this, so the widths are few; slopes need two from 10 on.
OWN_TARGET = {
    "expression": "exp(2*x)", "domain": (0, 1.5), "widths": [10, 11], "checked": [10],
    "sizes": [60], "jobs": 1,
}  # fmt: skip
#: What `[book]` and `[cluster]` add, and no other dependency needs.
EXTRAS = (
    "bs4 dask distributed docutils imagesize jupyter_book jupytext myst_nb nbclient "
    "nbformat papermill playwright pybtex sphinx sphinx_book_theme yaml"
)
RUN = """
import importlib.abc, json, pathlib, sys

class Missing(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name.partition(".")[0] in sys.argv[1].split():
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Missing())
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
for path in sys.argv[2:]:
    for source in json.loads(pathlib.Path(path).read_text()):
        shell.run_cell(source).raise_error()
    shell.reset()
    import matplotlib.pyplot
    matplotlib.pyplot.close("all")
import xsquared
print(xsquared.__file__)
"""


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Python of an environment with this package installed from a copy of its files.

    What it depends on is that of the environment at hand: nothing is downloaded.
    """
    folder = tmp_path_factory.mktemp("installed")
    for name in ("src", "results"):
        shutil.copytree(PROJECT.root / name, folder / "copy" / name)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(PROJECT.root / name, folder / "copy" / name)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / "venv"], check=True)
    (packages,) = (folder / "venv").glob("lib/python*/site-packages")
    (packages / "dependencies.pth").write_text("\n".join(site.getsitepackages()))
    made = folder / "venv" / "bin" / "python"
    install = ["-m", "pip", "--python", str(made), "install", "--quiet", "--no-deps"]
    install += ["--no-build-isolation", str(folder / "copy")]
    subprocess.run([sys.executable, *install], check=True, cwd=folder)
    shutil.rmtree(folder / "copy")
    return made


def run_cells(python: Path, folder: Path, notebooks: dict[str, list[str]]) -> None:
    """Run notebooks' code one after the other, in a folder that is no checkout."""
    paths = [folder / f"{name}.json" for name in notebooks]
    for path, cells in zip(paths, notebooks.values(), strict=True):
        path.write_text(json.dumps(cells))
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [python, "-c", RUN, EXTRAS, *paths],
        cwd=folder,
        env=kept | {"MPLBACKEND": "agg", "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
    assert str(python.parents[1]) in done.stdout.splitlines()[-1]


def cells_of(source: Path, parameters: dict[str, Any]) -> list[str]:
    """The code of a chapter, which is that of its notebook for download, with other parameters."""
    has, found = declared(source), list[str]()
    for cell in read_source(source).cells:
        if cell.cell_type == "code":
            found.append(cell.source)
        if "parameters" in cell.metadata.get("tags", ()):
            found += [f"{name} = {has[name].fitting(new)!r}" for name, new in parameters.items()]
    return found


@pytest.mark.slow
def test_rows_and_readme_run(python: Path, tmp_path: Path) -> None:
    draw = np.random.default_rng(0)
    size, age = draw.uniform(30, 200, 400), draw.integers(0, 80, 400)
    price = 2000.0 * size - 9.0 * age**2 + 0.1 * size * age
    mine = pd.DataFrame({"size": size, "price": price, "age": age})
    mine.to_csv(tmp_path / "mine.csv", index=False)
    readme = (PROJECT.root / "README.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", readme, re.DOTALL)
    # In the file's units, which are hundreds of thousands: the GLU holds this quadratic.
    predicted = "assert (frame.predicted - frame.price).abs().max() < 1e-3 * np.ptp(frame.price)"
    committed = (
        "from xsquared_studies import STUDIES, rows\nassert all(len(rows(s)) for s in STUDIES)"
    )
    shipped = (
        "from importlib.resources import files\n"
        "from xsquared import load\n"
        "assert (files('xsquared.data') / 'DATA.md').is_file()\n"
        "assert (len(load('airfoil').test), len(load('housing').test)) == (301, 4128)"
    )
    cells = [*blocks, f"import numpy as np\n{predicted}", committed, shipped]
    run_cells(python, tmp_path, {"readme": cells})


def test_every_chapter_has_a_case() -> None:
    assert {source.stem for source in PROJECT.sources()} == AS_THEY_ARE | set(CASES)


def test_a_cell_that_raises_is_an_error(python: Path, tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="ZeroDivisionError"):
        run_cells(python, tmp_path, {"raises": ["1 / 0"]})


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_every_downloaded_notebook_runs(python: Path, tmp_path: Path) -> None:
    runs = {
        source.stem: cells_of(source, CASES.get(source.stem, {})) for source in PROJECT.sources()
    }
    (five,) = (source for source in PROJECT.sources() if source.stem == "05_scaling_1d")
    run_cells(python, tmp_path, runs | {"own_target": cells_of(five, OWN_TARGET)})
