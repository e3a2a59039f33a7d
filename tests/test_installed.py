"""The package installed, outside a checkout: README's Python, committed rows, every chapter."""

import json
import os
import re
import shutil
import site
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.book.test_other_parameters import CASES
from xsquared_book.project import Project, find_project, read_source

PROJECT: Project = find_project(Path(__file__))
#: Chapters that would take more than fifteen seconds.
SLOWEST = ("07_higher_dimensions", "11_learned_features", "12_order_and_constants")
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


def cells_of(source: Path) -> list[str]:
    """The code of a chapter, which is that of its notebook for download."""
    found = []
    for cell in read_source(source).cells:
        if cell.cell_type == "code":
            found.append(cell.source)
        if source.stem in SLOWEST and "parameters" in cell.metadata.get("tags", ()):
            found += [f"{name} = {value!r}" for name, value in CASES[source.stem].items()]
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


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_every_downloaded_notebook_runs(python: Path, tmp_path: Path) -> None:
    """The slowest with the few trials of another test."""
    sources = {source.stem: cells_of(source) for source in PROJECT.sources()}
    run_cells(python, tmp_path, sources)
