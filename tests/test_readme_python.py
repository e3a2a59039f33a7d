"""The Python that README prints runs as printed."""

from __future__ import annotations

import re
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest

README = Path(__file__).parents[1] / "README.md"


def test_the_readmes_lines_train_predict_and_plot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (block,) = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.S)
    draw = np.random.default_rng(0)
    size, age = draw.uniform(30, 200, 400), draw.integers(0, 80, 400)
    price = 2000.0 * size - 9.0 * age**2 + 0.1 * size * age
    pd.DataFrame({"size": size, "price": price, "age": age}).to_csv(
        tmp_path / "mine.csv", index=False
    )
    monkeypatch.chdir(tmp_path)
    mpl.use("agg")
    names: dict[str, object] = {}
    exec(compile(block, "README.md", "exec"), names)
    frame = names["frame"]
    assert isinstance(frame, pd.DataFrame)
    # In the file's units, which are hundreds of thousands: the GLU holds this quadratic.
    assert np.abs(frame["predicted"] - frame["price"]).max() < 1e-3 * np.ptp(price)
