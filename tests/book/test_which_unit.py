"""The decision table of the chapter on the choice of a unit follows its rows."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from xsquared_book.project import Project, read_source
from xsquared_studies import rows
from xsquared_studies.which_unit import SIZES, told

Recommend = Callable[[pd.DataFrame], pd.DataFrame]


def recommend() -> Recommend:
    """The chapter's own function."""
    source = Project(Path(__file__).parents[2]).root / "notebooks" / "13_which_unit.md"
    (text,) = [c.source for c in read_source(source).cells if "def recommend(" in c.source]
    room: dict[str, Any] = {"np": np, "pd": pd, "math": math, "stdtrit": stdtrit, "SIZES": SIZES}
    exec(text, room)
    made: Recommend = room["recommend"]
    return made


def measured() -> pd.DataFrame:
    """The committed rows of the smooth target of one input, with ReLU gates."""
    table = told(rows("which_unit")).assign(case="smooth")
    smooth = (table["kind"] == "smooth") & (table["inputs"] == 1)
    known = table["name"].isin(["mlp", "glu", "relu2_mlp"])
    return table[smooth & known & (table["protocol"] == "bounded") & (table["size"] > 11)]


def test_the_choice_and_how_sure_it_is_follow_the_rows() -> None:
    choose, table = recommend(), measured()
    before = choose(table).loc["smooth"]
    assert (before["best"], before["alike"], before["sure"]) == ("relu2_mlp", [], "sure")
    assert before["gain"][0] > before["gain"][1] > 1

    def changed(name: str, factor: float) -> pd.Series:
        error = table["test_rmse"] * np.where(table["name"] == name, factor, 1.0)
        return choose(table.assign(test_rmse=error)).loc["smooth"]

    assert changed("glu", 1e-3)["best"] == "glu"
    assert changed("mlp", 1e-3)["best"] == "mlp"
    weaker = changed("relu2_mlp", before["gain"][0])  # as good as the MLP, behind the GLU
    assert weaker["best"] == "glu"
    assert weaker["gain"][0] < before["gain"][0]
