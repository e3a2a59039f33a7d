"""Tables: one string per cell in every form; numbers for the prose."""

import re
from typing import Any

import myst_nb
import numpy as np
import pandas as pd
import pytest

from xsquared_book.tables import MISSING, TABLE_MIME, Table, glue_numbers

FRAME = pd.DataFrame({"unit": ["MLP", "GLU"], "error & $e_1$": [1e-3, np.nan], "n": [1, 20]})
FRAME["ok"] = [True, False]
FORMATS = {"error & $e_1$": ".1e"}


def test_all_forms_hold_the_same_strings_and_html_names_its_headers() -> None:
    table = Table(FRAME, "Errors of $x^2$.", "tab-errors", FORMATS)
    expected = (("MLP", "1.0e-03", "1", "yes"), ("GLU", MISSING, "20", "no"))
    assert table.rows == expected
    bundle = table._repr_mimebundle_()
    assert [list(row) for row in expected] == bundle[TABLE_MIME]["rows"]
    html = bundle["text/html"]
    cells = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", line) for line in html.splitlines()]
    assert tuple(tuple(row) for row in cells if row)[1:] == expected
    text = bundle["text/plain"].splitlines()
    assert text[0] == "Errors of $x^2$."
    assert tuple(tuple(line.split()) for line in text[3:]) == expected
    assert html.count('scope="col"') == 4
    assert '<th scope="row">MLP</th>' in html
    assert "<caption>Errors of $x^2$.</caption>" in html
    assert 'class="number">error &amp; $e_1$</th>' in html
    assert "style=" not in html


def test_a_rows_format_goes_before_its_columns_and_an_index_gives_the_headers() -> None:
    index = pd.Index(["ratio", "error"], name="cells")
    frame = pd.DataFrame({25: [1.0, 0.5], 50: [2.0, 0.25]}, index=index)
    table = Table(frame, "C.", "tab-c", {"25": ".1f", "50": ".2f", "error": ".0e"})
    assert table.columns == ("cells", "25", "50")
    assert table.rows == (("ratio", "1.0", "2.00"), ("error", "5e-01", "2e-01"))
    assert (table.stubs, table.numeric) == (1, (False, True, True))
    assert Table(frame, "C.", "tab-c", ".3f").rows[0] == ("ratio", "1.000", "2.000")
    levels = pd.DataFrame({"a": ["x", "y"], "b": [1, 2], "c": [3, 4]}).set_index(["a", "b"])
    table = Table(levels, "C.", "tab-c")
    assert (table.stubs, table.rows) == (2, (("x", "1", "3"), ("y", "2", "4")))


@pytest.mark.parametrize(
    ("rows", "name", "formats", "message"),
    [
        (2, "errors", FORMATS, "expected a table's name as tab-something, got 'errors'"),
        (2, "tab-e", {}, "the numbers of 'error & \\$e_1\\$' have no format, got 0.001"),
        (2, "tab-e", {**FORMATS, "m": ".1f"}, "formats for m, which are neither columns"),
        (0, "tab-e", FORMATS, "expected rows, and columns of one level"),
        (2, "tab-e", {**FORMATS, "unit": ".1f", "n": "q"}, "expected a number's format, got 'q'"),
    ],
)
def test_bad_tables_are_refused(
    rows: int, name: str, formats: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        Table(FRAME[:rows], "C.", name, formats)


def test_columns_of_one_name_are_refused_and_what_is_missing_is_a_dash() -> None:
    with pytest.raises(ValueError, match="columns of one level and different names"):
        Table(FRAME[["unit", "n", "unit"]], "C.", "tab-e", ".1f")
    missing = FRAME.assign(n=pd.array([1, None], dtype="Int64"))
    assert Table(missing, "C.", "tab-e", FORMATS).rows[1][1:3] == ("–", "–")


def test_numbers_are_rounded_to_plain_python(monkeypatch: pytest.MonkeyPatch) -> None:
    glued: dict[str, object] = {}
    monkeypatch.setattr(myst_nb, "glue", lambda key, value, **_: glued.update({key: value}))
    numbers: dict[str, Any] = {"slope": np.float64(-2.00449), "n": np.int64(50), "word": "none"}
    glue_numbers(numbers, 2)
    assert glued == {"slope": -2.0, "n": 50, "word": "none"}
    assert {type(value) for value in glued.values()} == {float, int, str}
    glue_numbers({"a": 1.23456, "b": 12.6}, {"a": 4, "b": 0})
    assert (glued["a"], glued["b"]) == (1.2346, 13.0)


@pytest.mark.parametrize(
    ("numbers", "digits", "message"),
    [
        ({"a": True}, 3, "a: expected a number or text to glue, got True"),
        ({"a": np.zeros(2)}, 3, "a: expected a number or text to glue"),
        ({"a": 0.5}, {"b": 1}, "a: 0.5 has no digits; those of b are set"),
    ],
)
def test_no_number_is_refused(numbers: dict[str, Any], digits: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        glue_numbers(numbers, digits)  # type: ignore[arg-type]
