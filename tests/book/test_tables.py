"""Tables: one string per cell in every form; numbers for the prose."""

from __future__ import annotations

import re
from typing import Any

import myst_nb
import numpy as np
import pandas as pd
import pytest

from xsquared_book.tables import MISSING, TABLE_MIME, Table, glue_numbers

FRAME = pd.DataFrame(
    {"unit": ["MLP", "GLU"], "error & $e_1$": [1e-3, np.nan], "n": [1, 20], "ok": [True, False]}
)
FORMATS = {"error & $e_1$": ".1e"}


def test_all_forms_hold_the_same_strings() -> None:
    table = Table(FRAME, "Errors of $x^2$.", "tab-errors", FORMATS)
    expected = (("MLP", "1.0e-03", "1", "yes"), ("GLU", MISSING, "20", "no"))
    assert table.rows == expected
    bundle = table._repr_mimebundle_()
    assert [list(row) for row in expected] == bundle[TABLE_MIME]["rows"]
    html = [
        tuple(re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", line))
        for line in bundle["text/html"].splitlines()
    ]
    assert tuple(row for row in html if row)[1:] == expected
    text = bundle["text/plain"].splitlines()
    assert text[0] == "Errors of $x^2$."
    assert tuple(tuple(line.split()) for line in text[3:]) == expected


def test_html_names_its_headers() -> None:
    bundle = Table(FRAME, "A caption.", "tab-errors", FORMATS)._repr_mimebundle_()
    assert bundle["text/html"].count('scope="col"') == 4
    assert '<th scope="row">MLP</th>' in bundle["text/html"]
    assert "<caption>A caption.</caption>" in bundle["text/html"]
    assert 'class="number">error &amp; $e_1$</th>' in bundle["text/html"]
    assert "style=" not in bundle["text/html"]


def test_markdown_has_the_caption_and_a_line_a_row() -> None:
    table = Table(FRAME, "A caption.", "tab-errors", FORMATS)
    caption, _, head, rule, *rows = table.markdown().splitlines()
    assert (caption, rule) == ("A caption.", "| --- | --- | --- | --- |")
    assert head == "| unit | error & $e_1$ | n | ok |"
    assert rows == [f"| {' | '.join(row)} |" for row in table.rows]


def test_a_rows_format_goes_before_its_columns_and_an_index_gives_the_headers() -> None:
    frame = pd.DataFrame(
        {25: [1.0, 0.5], 50: [2.0, 0.25]}, index=pd.Index(["ratio", "error"], name="cells")
    )
    table = Table(frame, "C.", "tab-c", {"25": ".1f", "50": ".2f", "error": ".0e"})
    assert table.columns == ("cells", "25", "50")
    assert table.rows == (("ratio", "1.0", "2.00"), ("error", "5e-01", "2e-01"))
    assert table.stubs == 1
    assert table.numeric == (False, True, True)
    assert Table(frame, "C.", "tab-c", ".3f").rows[0] == ("ratio", "1.000", "2.000")


def test_two_levels_of_rows_are_two_header_columns() -> None:
    frame = pd.DataFrame({"a": ["x", "y"], "b": [1, 2], "c": [3, 4]}).set_index(["a", "b"])
    table = Table(frame, "C.", "tab-c")
    assert (table.stubs, table.rows) == (2, (("x", "1", "3"), ("y", "2", "4")))


@pytest.mark.parametrize(
    ("frame", "name", "formats", "message"),
    [
        (FRAME, "errors", FORMATS, "expected a table's name as tab-something, got 'errors'"),
        (FRAME, "tab-e", {}, "the numbers of 'error & \\$e_1\\$' have no format, got 0.001"),
        (FRAME, "tab-e", {**FORMATS, "m": ".1f"}, "formats for m, which are neither columns"),
        (FRAME[:0], "tab-e", FORMATS, "expected rows and one level of columns"),
        (
            FRAME,
            "tab-e",
            {**FORMATS, "unit": ".1f", "n": "q"},
            "expected a number's format, got 'q'",
        ),
    ],
)
def test_bad_tables_are_refused_when_made(
    frame: pd.DataFrame, name: str, formats: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        Table(frame, "C.", name, formats)


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
def test_what_is_no_number_is_refused(
    numbers: dict[str, Any], digits: object, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        glue_numbers(numbers, digits)  # type: ignore[arg-type]
