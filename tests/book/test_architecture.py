"""The architecture page does what it says: its code runs as printed, its chapter executes."""

import re
import subprocess
import sys
from pathlib import Path

import nbformat
from xsquared_book.api_pages import rooms

from xsquared_book.execute import execute
from xsquared_book.project import Project
from xsquared_book.tables import TABLE_MIME

PAGE = (Path(__file__).parents[2] / "book" / "architecture.md").read_text(encoding="utf-8")
CHECKS = """
import numpy as np
assert (order, parameters) == (6, (2 * 4 + 1) * 8 + 1)
assert data.dim == 2 and len(data.train) == 400
for result in (drawn, trained):
    assert result.status in ("converged", "iterations"), result.status
    with torch.no_grad():
        away = result.network(torch.tensor(data.train.x)).numpy()[:, 0] - data.train.y
    assert np.isclose(np.sqrt(np.mean(away**2)), result.train_rmse)
assert trained.train_rmse < drawn.train_rmse < 1
try:
    fit(data, "quartic", n_hidden=8, solver=RandomGates())
except ValueError as error:
    assert "random_gates trains no gates" in str(error)
else:
    raise AssertionError("gates='trained' is not refused")
assert len(UNGATED.trials()) == 15
assert sentence == "holds (2 of 3: fails for frozen-3-50)"
"""


def test_the_pages_code_runs_as_printed() -> None:
    """In a process of its own: what it registers stays there."""
    blocks = re.findall(r"^```python\n(.*?)^```$", PAGE, flags=re.MULTILINE | re.DOTALL)
    assert len(blocks) == 7
    code = "\n".join([*blocks, CHECKS])
    command = [sys.executable, "-c", code]
    run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert run.returncode == 0, run.stderr


def test_the_pages_chapter_executes(small_project: Project) -> None:
    ((text),) = re.findall(r"^````markdown\n(.*?)^````$", PAGE, flags=re.MULTILINE | re.DOTALL)
    (small_project.notebooks / "12_quartic_units.md").write_text(text, encoding="utf-8")
    (run,) = execute(small_project, ["12_quartic_units"], {"n_hidden": 10}, jobs=1)
    shown = [o for c in nbformat.read(run.output, as_version=4).cells for o in c.get("outputs", [])]
    assert [output.data[TABLE_MIME]["rows"] for output in shown] == [[["MLP", "31"], ["GLU", "51"]]]


def test_the_page_names_every_room_in_order() -> None:
    table = PAGE.partition("| Room |")[2].partition("\n\n")[0]
    rows = table.splitlines()[2:]
    named = [name for row in rows for name in re.findall(r"`(\w+)`", row.split("|")[1])]
    numerics = [room.partition(".")[2] for room in rooms() if room.startswith("xsquared.")]
    assert named == numerics
