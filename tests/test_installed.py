"""The package installed, outside a checkout: README's Python, rows, notebooks."""

import json
import os
import re
import shutil
import site
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from xsquared.book.project import find_project, read_source

PROJECT = find_project(Path(__file__))
#: Chapters with a reader's parameters: small ones, other targets and sizes.
CASES: dict[str, dict[str, Any]] = {
    "01_function_space": {"seed": 2, "n_hidden": 1, "half_width": 1.0, "n_gates": 2},
    "02_one_more_power": {
        "expression": "exp(x)", "domain": (0, 2), "n_shown": 3, "widths": [10, 20],
    },
    "09_other_paper": {"n_terms": 2, "degree": 6, "seeds": 2, "test_pairs": 20},
    "A_features": {
        "n_terms": 2, "radii": [2.0, 3.0], "draws": 500, "random_dimension": 3,
        "feature_counts": [64, 128], "random_seeds": 2, "seeds": 2,
    },
}  # fmt: skip
RUN = """
import json, pathlib, sys
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
for cells in json.loads(pathlib.Path(sys.argv[1]).read_text()):
    shell.reset()
    for source in cells:
        shell.run_cell(source).raise_error()
import xsquared
print(xsquared.__file__)
"""


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Python of an environment with this package installed from a copy of its files."""
    folder = tmp_path_factory.mktemp("installed")
    for name in ("src", "results"):
        shutil.copytree(PROJECT.root / name, folder / "copy" / name)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(PROJECT.root / name, folder / "copy" / name)
    subprocess.run(
        [sys.executable, "-m", "venv", "--without-pip", folder / "venv"], check=True
    )
    (packages,) = (folder / "venv").glob("lib/python*/site-packages")
    (packages / "dependencies.pth").write_text("\n".join(site.getsitepackages()))
    made = folder / "venv" / "bin" / "python"
    install = ["-m", "pip", "--python", str(made), "install", "--quiet", "--no-deps"]
    install += ["--no-build-isolation", str(folder / "copy")]
    subprocess.run([sys.executable, *install], check=True, cwd=folder)
    shutil.rmtree(folder / "copy")
    return made


def run_cells(python: Path, folder: Path, notebooks: list[list[str]]) -> None:
    """Run notebooks, cell after cell, in a folder that is no checkout."""
    (folder / "cells.json").write_text(json.dumps(notebooks))
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    kept |= {"MPLBACKEND": "agg", "OMP_NUM_THREADS": "1"}
    command = [str(python), "-c", RUN, str(folder / "cells.json")]
    done = subprocess.run(
        command, cwd=folder, env=kept, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
    assert str(python.parents[1]) in done.stdout.splitlines()[-1]


@pytest.mark.slow
def test_readme_rows_and_downloads_with_other_parameters_run(
    python: Path, tmp_path: Path
) -> None:
    readme = (PROJECT.root / "README.md").read_text(encoding="utf-8")
    rows = """from xsquared.studies import STUDIES, rows
assert all(len(rows(name)) for name in STUDIES)"""
    shipped = """from xsquared import load
assert len(load('housing').test) == 4128"""
    blocks = re.findall(r"```python\n(.*?)```", readme, re.DOTALL)
    # Each block as printed, by itself.
    notebooks = [*([block] for block in blocks), [rows, shipped]]
    assert len(blocks) >= 2
    for name, parameters in CASES.items():
        notebooks.append(cells := [f"print({name!r})"])
        for cell in read_source(PROJECT.notebooks / f"{name}.md").cells:
            if cell.cell_type == "code":
                cells.append(cell.source)
            if "parameters" in cell.metadata.get("tags", ()):
                cells += [f"{key} = {value!r}" for key, value in parameters.items()]
    run_cells(python, tmp_path, notebooks)
