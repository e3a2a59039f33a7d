"""The architecture page does what it says: its code runs as printed."""

import re
from pathlib import Path

PAGE = (Path(__file__).parents[2] / "book" / "architecture.md").read_text(
    encoding="utf-8"
)
CHECKS = """
assert (order, parameters) == (6, (2 * 4 + 1) * 8 + 1)
assert curve.test_rmse < 0.02
for result in (drawn, trained):
    assert result.status in ("converged", "iterations"), result.status
assert trained.train_rmse < drawn.train_rmse < 1
assert ("sine", "glu") in errors.columns
"""


def test_the_pages_code_runs_as_printed() -> None:
    blocks = re.findall(r"^```python\n(.*?)^```$", PAGE, flags=re.MULTILINE | re.DOTALL)
    assert len(blocks) == 4
    exec("\n".join([*blocks, CHECKS]), {})
