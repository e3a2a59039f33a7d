"""The page on using the package does what it says: its code to build on runs as printed."""

import re
from pathlib import Path

PAGE = (Path(__file__).parents[2] / "book" / "use.md").read_text(encoding="utf-8")
CHECKS = """
assert (order, parameters) == (6, (2 * 4 + 1) * 8 + 1)
assert curve.test_rmse < 0.02
for result in (drawn, trained):
    assert result.status in ("converged", "iterations"), result.status
assert trained.train_rmse < drawn.train_rmse < 1
assert ("sine", "glu") in errors.columns
"""


def test_the_pages_code_to_build_on_runs_as_printed() -> None:
    part = PAGE.partition("## Build on it")[2]
    blocks = re.findall(r"^```python\n(.*?)^```$", part, flags=re.MULTILINE | re.DOTALL)
    assert len(blocks) == 4
    exec("\n".join([*blocks, CHECKS]), {})
