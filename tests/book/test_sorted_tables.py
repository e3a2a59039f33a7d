"""Long tables in a browser: sorted by the buttons of their headers."""

from pathlib import Path
from typing import Any

import pytest

from tests.site_in_browser import IN_BROWSER, Reader

pytestmark = IN_BROWSER
TABLE1 = "chapters/08_real_data.html"

#: Cells of columns in another order than sorted, which is that of the letters after them.
COLUMNS = {
    "numbers": ["10 c", "9.5 b", "-1 a", "1,200 e", "1 100 d"],
    "powers": [r"\(10^{-3}\) c", "2.5e-9 a", r"\(1.5\times 10^{-4}\) b", "0.5 d", "2×10^3 e"],
    "intervals": ["[2, 30] c", "[−10, 5] a", "1 to 100 b", "(3, 1) d", "≤ 4 e"],
    "words": ["Eq. (12) d", "Eq. (6) c", "Appendix a", "Eq. (2) b", "Fig. 1 e"],
    "gaps": ["–", "2 b", "1 a", "", "3 c"],
}


def first_column(page: Any, table: str, column: int = 0) -> list[str]:
    cells = "(rows, column) => rows.map(row => row.cells[column].innerText.trim())"
    return page.locator(f"{table} tbody tr").evaluate_all(cells, column)


def planted(page: Any) -> None:
    """Let the page's script run on a table of these columns."""
    rows = zip(*COLUMNS.values(), strict=True)
    html = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    heads = "".join(f'<th scope="col">{name}</th>' for name in COLUMNS)
    page.evaluate(
        "table => document.querySelector('article').innerHTML = table",
        f'<table class="xs-sortable" id="t"><thead><tr>{heads}</tr></thead>'
        f"<tbody>{html}</tbody></table>",
    )
    page.add_script_tag(path=Path(__file__).parents[2] / "book" / "_static" / "tables.js")


def test_numbers_powers_intervals_and_words_are_in_order(reader: Reader) -> None:
    page = reader.open("coverage.html")
    planted(page)
    for place, (name, cells) in enumerate(COLUMNS.items()):
        button = page.get_by_role("button", name=name)
        told = sorted((cell for cell in cells if cell[-1:].isalpha()), key=lambda cell: cell[-1])
        blank = [cell for cell in cells if cell not in told]
        button.click()
        assert first_column(page, "#t", place) == [*told, *blank], name
        button.click()
        assert first_column(page, "#t", place) == [*reversed(told), *blank], name
        button.click()
        assert first_column(page, "#t", place) == cells, name
    assert reader.complaints == reader.outside == []


@pytest.mark.parametrize(("theme", "width"), [("light", 1280), ("dark", 390)])
def test_a_table_is_sorted_by_keys_and_says_so(reader: Reader, theme: str, width: int) -> None:
    page = reader.open(TABLE1, width, theme)
    table = page.locator("#tab-table1")
    rows = first_column(page, "#tab-table1", 2)
    size = table.bounding_box()
    heads = table.locator("thead th")
    buttons = heads.get_by_role("button")
    assert buttons.count() == heads.count()
    buttons.nth(1).focus()
    page.keyboard.press("Tab")
    assert buttons.nth(2).evaluate("b => b.matches(':focus-visible')")
    seen = []
    for _ in range(3):
        page.keyboard.press("Enter")
        seen.append((heads.nth(2).get_attribute("aria-sort"), first_column(page, "#tab-table1", 2)))
        assert buttons.nth(2).evaluate("b => b === document.activeElement")
    assert [way for way, _ in seen] == ["ascending", "descending", None]
    numbers = [[float(cell.replace("−", "-")) for cell in cells] for _, cells in seen]
    assert numbers[0] == sorted(numbers[0])
    assert numbers[1] == sorted(numbers[1], reverse=True)
    assert seen[2][1] == rows != seen[0][1]
    buttons.nth(0).click()
    buttons.nth(1).click()
    assert table.locator("[aria-sort]").count() == 1
    assert table.bounding_box()["width"] == size["width"], "no room of their own"


def test_formulas_of_a_header_are_set_in_its_button(reader: Reader) -> None:
    page = reader.open("chapters/12_order_and_constants.html")
    heads = page.locator("#tab-law thead th")
    assert heads.nth(1).locator("button mjx-container").count() == 1
    names = heads.locator("button[aria-label]").evaluate_all("all => all.map(b => b.ariaLabel)")
    assert names == ["k", "kappa, law"]
    formulas = page.locator("#tab-law tbody mjx-container")
    before = formulas.count()
    heads.nth(0).get_by_role("button").click()
    first = "rows => rows.map(row => row.cells[0].dataset.text)"
    names = page.locator("#tab-law tbody tr").evaluate_all(first)
    assert names == sorted(names, key=names.index)
    assert len(set(names)) == sum(a != b for a, b in zip(["", *names[:-1]], names, strict=True))
    assert formulas.count() == before > 10


def test_short_tables_and_pages_without_scripts_have_no_buttons(site: Path, browser: Any) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto((site / TABLE1).as_uri())
    assert page.locator("thead button").count() == 0
    context.close()
    page = browser.new_page()
    page.goto((site / TABLE1).as_uri())
    assert page.locator("table:not(.xs-sortable) thead button").count() == 0
    assert page.locator("table.xs-sortable thead button").count() > 0
    page.emulate_media(media="print")
    drawn = "b => getComputedStyle(b, '::after').content"
    assert page.locator("#tab-table1 thead button").first.evaluate(drawn) == "none"
    page.close()
