"""The architecture page does what it says: its code runs as printed."""

import re
import subprocess
import sys
from pathlib import Path

PAGE = (Path(__file__).parents[2] / "book" / "architecture.md").read_text(encoding="utf-8")
CHECKS = """
assert (order, parameters) == (6, (2 * 4 + 1) * 8 + 1)
assert curve.test_rmse < 0.02
for result in (drawn, trained):
    assert result.status in ("converged", "iterations"), result.status
assert trained.train_rmse < drawn.train_rmse < 1
assert ("sine", "glu") in errors.columns
"""


def test_the_pages_code_runs_as_printed() -> None:
    """In a process of its own: what it registers stays there."""
    blocks = re.findall(r"^```python\n(.*?)^```$", PAGE, flags=re.MULTILINE | re.DOTALL)
    assert len(blocks) == 4
    command = [sys.executable, "-c", "\n".join([*blocks, CHECKS])]
    run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert run.returncode == 0, run.stderr
