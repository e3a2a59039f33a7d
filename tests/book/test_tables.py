"""Tables: one string a cell in every form, found by headers; numbers for prose."""

import re
from typing import Any

import myst_nb
import numpy as np
import pandas as pd
import pytest

from xsquared.book.tables import TABLE_MIME, Table, glue_numbers

FRAME = pd.DataFrame(
    {"unit": ["MLP", "GLU"], "error & $e_1$": [1e-3, np.nan], "n": [1, 20]}
)
FRAME["ok"] = [True, False]
TABLE = Table(FRAME, "Errors of $x^2$.", "tab-errors", {"error & $e_1$": ".1e"})


def test_all_forms_hold_the_same_strings_and_html_names_its_headers() -> None:
    expected = [["MLP", "1.0·10⁻³", "1", "yes"], ["GLU", "–", "20", "no"]]
    bundle = TABLE._repr_mimebundle_()
    assert bundle[TABLE_MIME]["rows"] == expected
    html = bundle["text/html"]
    cells = [
        re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", line) for line in html.splitlines()
    ]
    assert [row for row in cells if row][1:] == expected
    text = bundle["text/plain"].splitlines()
    assert [line.split() for line in text[3:]] == expected
    assert html.count('scope="col"') == 4
    assert '<th scope="row">MLP</th>' in html
    assert 'class="number">error &amp; $e_1$</th>' in html


def test_a_rows_format_goes_before_its_columns_and_an_index_gives_the_headers() -> None:
    index = pd.Index(["ratio", "error"], name="cells")
    frame = pd.DataFrame({25: [1.0, 0.5], 50: [2.0, 0.25]}, index=index)
    content = Table(
        frame, "C.", "tab-c", {"25": ".1f", "50": ".2f", "error": ".0e"}
    ).content
    assert content["columns"] == ["cells", "25", "50"]
    assert content["rows"] == [["ratio", "1.0", "2.00"], ["error", "5·10⁻¹", "2·10⁻¹"]]
    assert (content["stubs"], content["numeric"]) == (1, [False, True, True])
    levels = pd.DataFrame({"a": ["x", "y"], "b": [1, 2], "c": [3, -0.0]}).set_index(
        ["a", "b"]
    )
    content = Table(levels, "C.", "tab-c", ".1f").content
    assert (content["stubs"], content["rows"]) == (
        2,
        [["x", "1", "3.0"], ["y", "2", "0.0"]],
    )

    plain = pd.DataFrame({"a": ["x"], "b": [0.25]})
    assert Table(plain, "C.", "tab-c").content["rows"] == [["x", "0.25"]]


def test_numbers_are_rounded_to_plain_python(monkeypatch: pytest.MonkeyPatch) -> None:
    glued: dict[str, object] = {}
    monkeypatch.setattr(
        myst_nb, "glue", lambda key, value, **_: glued.update({key: value})
    )
    numbers: dict[str, Any] = {
        "slope": np.float64(-2.00449),
        "n": np.int64(50),
        "word": "none",
    }
    glue_numbers(numbers, 2)
    assert glued == {"slope": -2.0, "n": 50, "word": "none"}
    assert {type(value) for value in glued.values()} == {float, int, str}
    glue_numbers({"a": 1.23456}, 4)
    assert glued["a"] == 1.2346
    # A small error keeps its digits: rounded to decimals it would be none.
    glue_numbers({"a": 7.849e-5, "b": -0.0996, "c": 0.996, "d": 0.0}, 2)
    assert [glued[key] for key in "abcd"] == [7.8e-5, -0.1, 1.0, 0.0]
