"""The replay is strict: nbval fails on one changed digit and names the cell."""

import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

from tests.small_project import execute_drawing
from xsquared_book.execute import execute
from xsquared_book.pictures import SVG, packed, plotted_in
from xsquared_book.project import Project

ROOT = Path(__file__).parents[2]


def replay(path: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--nbval"]
    command += ["--nbval-current-env", "-c", str(ROOT / "pyproject.toml")]
    command += ["--rootdir", str(path.parents[2])]
    return subprocess.run([*command, str(path)], capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_changed_digit_fails_and_names_the_cell(small_project: Project) -> None:
    (run,) = execute(small_project, jobs=1)
    good = replay(run.output)
    assert good.returncode == 0, good.stdout + good.stderr
    text = run.output.read_text()
    assert text.count("squared 4") == 1
    run.output.write_text(text.replace("squared 4", "squared 5"))
    bad = replay(run.output)
    assert bad.returncode == 1
    assert "book/chapters/01_good.ipynb::Cell 1" in bad.stdout
    assert "squared 5" in bad.stdout


@pytest.mark.slow
def test_a_figures_numbers_are_compared_and_not_its_lines(small_project: Project) -> None:
    run = execute_drawing(small_project, "plt.plot([n, 3])")
    notebook = nbformat.read(run.output, as_version=4)
    cell = notebook.cells[-1]
    (output,) = cell.outputs
    drawn, numbers = output.data[SVG], plotted_in(output)
    output.data[SVG] = re.sub(r"(\.\d)\d", r"\g<1>7", drawn)
    assert output.data[SVG] != drawn
    # Rounding, another number, no figure.
    for factor, same in ((1 + 1e-9, True), (1.01, False)):
        output.metadata["plotted"] = packed(numbers.replace(",3\n", f",{3 * factor}\n"))
        assert plotted_in(output) != numbers
        nbformat.write(notebook, run.output)
        replayed = replay(run.output)
        assert (replayed.returncode == 0) == same, replayed.stdout + replayed.stderr
        assert ("the figure shows other numbers" in replayed.stdout) != same
    del output.data[SVG]
    nbformat.write(notebook, run.output)
    assert replay(run.output).returncode == 1
