"""Notes of how figures and tables were made: read off the code, below each, with the data."""

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest

from tests.site_in_browser import IN_BROWSER, PROJECT, Reader
from xsquared_book.how_made import rests_on, write_environment, write_study
from xsquared_book.metadata import revision
from xsquared_book.pictures import plotted_in
from xsquared_book.project import Project
from xsquared_book.tables import TABLE_MIME

CHAPTERS = [source.stem for source in PROJECT.sources()]


@pytest.mark.parametrize(
    ("codes", "parameters"),
    [
        (["y = n", "print(y)"], {"n": "3"}),
        (["y = n", "y = m", "print(y)"], {"m": "[1, 2]"}),
        (["y = {}; unused = m", "y['a'] = n", "print(y)"], {"n": "3"}),
        (["y = []", "y.append(m)", "print(y)"], {"m": "[1, 2]"}),
        (["def f(n):\n    return n", "print(f(1))"], {}),
        (["def f(x):\n    return x + n", "print(f(1))"], {"n": "3"}),
        (["n = 2", "print(n)"], {}),
        (["y = [m for m in range(3)]", "print(y)"], {}),
        (["for y in m:\n    z = y", "z = z + n", "print(z)"], {"n": "3", "m": "[1, 2]"}),
        (["", "print(m, n)"], {"n": "3", "m": "[1, 2]"}),
        (["print(m)", "print(1)"], {}),
    ],
)
def test_parameters_are_followed_through_code(codes: list[str], parameters: dict[str, str]) -> None:
    cells = ["", "n = 3  # neurons\nm = [1, 2]", *codes, "print(n)"]
    assert rests_on(cells, len(codes) + 1, 1) == (parameters, [])


def test_studies_are_those_whose_rows_reach_the_cell() -> None:
    codes = ["n = 3", "a = rows('line', n)", "b = rows('table1', 1)", "print(a)", "print(b, a)"]
    assert rests_on(codes, 3, 0) == ({"n": "3"}, ["line"])
    assert rests_on(codes, 4, 0) == ({"n": "3"}, ["line", "table1"])


def test_what_made_a_study_and_which_versions_is_told(small_project: Project) -> None:
    small_project.results.mkdir()
    told = {"rows": 1275, "date": "2026-01-02", "commit": "abc", "versions": "numpy <2>"}
    lines = [f"{key} = {json.dumps(value)}" for key, value in told.items()]
    (small_project.results / "line.toml").write_text("\n".join(lines))
    assert write_study(small_project, "line") == (
        "line, 1,275 rows of 2026-01-02, commit abc, numpy &lt;2&gt; (results/line.csv)"
    )
    assert write_environment(small_project) == ""
    lock = '# pinned\nnumpy==2.4.6\nnumpydoc==1.0\ntorch==2.13.0; python_version < "3.14"\n'
    (small_project.root / "requirements.lock").write_text(lock)
    assert write_environment(small_project) == "numpy 2.4.6, torch 2.13.0"


def shown_data(name: str) -> dict[str, list[list[str]]]:
    """The rows of tables and of what figures plot that a chapter's outputs hold, by file."""
    found = {}
    for cell in nbformat.read(PROJECT.chapters / f"{name}.ipynb", as_version=4).cells:
        for output in cell.get("outputs", []):
            if table := output.get("data", {}).get(TABLE_MIME):
                found[f"{table['name']}.csv"] = [table["columns"], *table["rows"]]
            if text := plotted_in(output):
                file = f"{cell.metadata.mystnb.figure.name}.csv"
                found[file] = list(csv.reader(text.splitlines()))
    return found


@pytest.fixture(scope="module")
def still(browser: Any) -> Iterator[Any]:
    """A tab where no script of a page runs: notes need none."""
    context = browser.new_context(java_script_enabled=False)
    yield context.new_page()
    context.close()


class TestInTheBrowser:
    pytestmark = IN_BROWSER

    @pytest.mark.parametrize("name", CHAPTERS)
    def test_every_figure_and_table_has_its_note(self, still: Any, address: str, name: str) -> None:
        page = still
        page.goto(f"{address}/chapters/{name}.html")
        shown = page.locator(".cell :is(figure, table)[id]")
        notes = page.locator("details.xs-made")
        assert notes.count() == shown.count() > 2
        numbers = shown.locator(".caption-number").all_inner_texts()
        titles = notes.locator("summary").evaluate_all("all => all.map(s => s.textContent)")
        assert titles == [f"How {number.strip()} was made" for number in numbers]
        places = "all => all.every(a => document.querySelector(a.getAttribute('href')))"
        assert notes.locator("a[href^='#cell-']").evaluate_all(places)
        told = notes.evaluate_all("all => all.map(n => n.textContent)")
        wanted = [write_environment(PROJECT), *["Executed chapter"] * bool(revision(PROJECT.root))]
        assert all(words in text for text in told for words in wanted)
        links = notes.locator("a[download]")
        assert links.count() == shown.count(), "the data of every figure and table"
        names = links.evaluate_all("all => all.map(a => a.pathname.split('/').at(-1))")
        data = shown_data(name)
        assert sorted(names) == sorted(data)
        texts = "all => Promise.all(all.map(a => fetch(a.href).then(r => r.text())))"
        for file, text in zip(names, links.evaluate_all(texts), strict=True):
            assert list(csv.reader(text.splitlines())) == data[file]

    def test_a_note_opens_by_keys_and_leads_to_its_cell(self, reader: Reader) -> None:
        page = reader.open("chapters/08_real_data.html", 390, "dark")
        number = page.locator("#tab-table1 .caption-number").inner_text().strip()
        note = page.locator("details.xs-made", has_text=f"How {number} was made")
        assert not note.locator("ul").is_visible()
        note.locator("summary").focus()
        page.keyboard.press("Enter")
        text = note.inner_text()
        assert "table1, " in text
        assert "line, " in text
        assert "seeds = 10" in text
        assert "references" not in text
        assert reader.judge(["wcag2a", "wcag2aa", "wcag22aa"], "details.xs-made[open]") == []
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        cell = note.locator("a[href^='#cell-']").first.get_attribute("href")
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        page.wait_for_url(f"**/08_real_data.html{cell}")
        assert page.locator(f"{cell} #tab-table1").count() == 1
        assert reader.complaints == reader.outside == []

    def test_the_notebook_that_a_note_names_is_there(self, site: Path) -> None:
        text = (site / "chapters" / "08_real_data.html").read_text()
        assert 'href="../_sources/chapters/08_real_data.ipynb"' in text
        assert (site / "_sources" / "chapters" / "08_real_data.ipynb").is_file()

    def test_a_number_leads_to_the_code_that_glued_it_and_is_no_stop(self, reader: Reader) -> None:
        page = reader.open("chapters/09_gelu_series.html")
        links = page.locator("a.xs-from")
        source = (PROJECT.notebooks / "09_gelu_series.md").read_text(encoding="utf-8")
        assert links.count() == source.count("{glue:text}`") > 10
        assert links.evaluate_all("all => all.every(a => a.tabIndex < 0)")
        link = links.filter(has_text="0.000009").first
        cell = page.locator(link.get_attribute("href"))
        assert '"error_1": largest_error(n_terms, 1)' in cell.locator("pre").first.text_content()
        assert not cell.locator("pre").first.is_visible()
        link.click()
        assert cell.locator("pre").first.is_visible()
        assert cell.evaluate("cell => cell.getBoundingClientRect().top < innerHeight")
