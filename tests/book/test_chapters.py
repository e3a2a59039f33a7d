"""The committed book: every chapter executed, every picture described, every page in its place."""

import csv
import io
import math
import re
import shlex
from pathlib import Path
from types import ModuleType

import nbformat
import pytest

from xsquared_book.api_pages import rooms
from xsquared_book.cli import book, typed_value
from xsquared_book.papers import gated_units, gelu_linearization, ours_splines, ours_units
from xsquared_book.papers.ledger import ledger
from xsquared_book.parameters import declared, parameter_value
from xsquared_book.pictures import MOST_BYTES, PNG, SVG, picture_of, plotted_in
from xsquared_book.project import BookError, Project, read_source
from xsquared_book.readme import current_figure, table_in
from xsquared_book.render import check_chapters
from xsquared_book.tables import TABLE_MIME
from xsquared_book.verdicts import collect, summary_table

PROJECT = Project(Path(__file__).parents[2])
SOURCES = PROJECT.sources()
NAMES = [source.stem for source in SOURCES]
#: Figures in pixels, and why.
PIXELS = {"fig-convergence": "the README's, and previews of links show no SVG"}


def chapter(name: str) -> nbformat.NotebookNode:
    return nbformat.read(PROJECT.chapters / f"{name}.ipynb", as_version=4)


def undescribed(notebook: nbformat.NotebookNode) -> list[str]:
    """First lines of cells whose picture lacks alt text or caption, or hidden code a name."""
    found = []
    for cell in notebook.cells:
        settings, outputs = cell.metadata.get("mystnb", {}), cell.get("outputs", [])
        figure = settings.get("figure", {})
        told = settings.get("image", {}).get("alt") and figure.get("caption")
        # A figure's or table's code is named by the page, other code by its author.
        named = figure or any(TABLE_MIME in o.get("data", {}) for o in outputs)
        named = named or settings.get("code_prompt_show")
        hidden = "hide-input" in cell.metadata.get("tags", [])
        if (hidden and not named) or (any(map(picture_of, outputs)) and not told):
            found.append(cell.source.splitlines()[0])
    return found


def exercises(source: Path) -> list[str]:
    """The items of a chapter's exercises, which stand before what it showed."""
    text = source.read_text(encoding="utf-8")
    found = re.findall(r"^## Exercises\n([\s\S]*?)^## (.*)$", text, re.MULTILINE)
    assert [following for _, following in found] == ["What this chapter showed"]
    assert f"`xsquared book --only {source.stem} -p NAME VALUE` runs" in found[0][0]
    return re.findall(r"^\d\. .*(?:\n   .*)*", found[0][0], re.MULTILINE)


def unusable_exercises(source: Path) -> list[str]:
    """Exercises without a parameter, and those that a reader cannot run or that change nothing."""
    has, found = declared(source), []
    for item in exercises(source):
        commands = shlex.split(" ".join(re.findall(r"`(-p [^`]+)`", item)))
        given = dict(book.make_context("book", commands).params["parameters"])
        try:
            values = {n: has[n].fitting(typed_value(v)) for n, v in given.items()}
        except (KeyError, BookError):
            values = {}
        if not values or any(parameter_value(has[n].default) == v for n, v in values.items()):
            found.append(item)
    return found


@pytest.mark.parametrize("source", PROJECT.sources(), ids=lambda source: source.stem)
def test_every_number_that_readers_set_has_bounds_that_its_default_meets(source: Path) -> None:
    for name, parameter in declared(source).items():
        default = parameter_value(parameter.default)
        assert parameter.fitting(default) == default
        text = "expression" in name or (isinstance(default, list) and isinstance(default[0], str))
        assert text or -math.inf < parameter.low < parameter.high < math.inf


def test_chapters_are_executed_from_their_present_sources_and_none_is_left_over() -> None:
    assert sorted(path.stem for path in PROJECT.chapters.glob("*.ipynb")) == NAMES
    check_chapters(PROJECT)


@pytest.mark.parametrize("name", NAMES)
def test_every_code_cell_ran_in_order_and_shows_tables_not_printed_lines(name: str) -> None:
    cells = [c for c in chapter(name).cells if c.cell_type == "code"]
    assert [c.execution_count for c in cells] == list(range(1, len(cells) + 1))
    assert [c for c in cells if "print(" in c.source or "glue(" in c.source] == []


@pytest.mark.parametrize("name", NAMES)
def test_pictures_have_alt_text_and_caption_and_hidden_code_a_name(name: str) -> None:
    assert undescribed(chapter(name)) == []


@pytest.mark.parametrize("name", NAMES)
def test_figures_are_light_in_lines_but_for_a_reason_and_hold_their_numbers(name: str) -> None:
    for cell in chapter(name).cells:
        for output in filter(picture_of, cell.get("outputs", [])):
            kind, file = picture_of(output)
            assert kind == (PNG if cell.metadata.mystnb.figure.name in PIXELS else SVG)
            # Not so near the limit that another processor's last digits decide.
            assert len(file) < 0.95 * MOST_BYTES or kind == PNG
            assert file.count(b"\n") == 0 or kind == PNG, "CI's comparison leaves out one line"
            rows = list(csv.DictReader(io.StringIO(plotted_in(output))))
            assert list(rows[0]) in (["panel", "line", "x", "y"], ["panel", "line", "x", "y", "z"])
            unnamed = {row["line"] for row in rows if re.match(r"\d+, #", row["line"])}
            assert not unnamed, "lines without a label; one with an underscore stays out of legends"


@pytest.mark.parametrize("source", SOURCES, ids=NAMES)
def test_a_chapter_has_exercises_that_change_its_parameters(source: Path) -> None:
    assert len(exercises(source)) >= 2
    assert unusable_exercises(source) == []


def test_a_figure_a_table_and_an_equation_have_a_name_of_their_own_in_the_whole_book() -> None:
    """One in two chapters is found late, when links to it are written, and not by its name."""
    names = [
        name
        for source in SOURCES
        for name in re.findall(
            r"[ {]name: (fig-[\w-]+)|[ (]\"(tab-[\w-]+)\"[,)]|^\$\$ \((eq-[\w-]+)\)",
            source.read_text(encoding="utf-8"),
            re.MULTILINE,
        )
    ]
    kinds = [sum(map(bool, column)) for column in zip(*names, strict=True)]
    assert min(kinds) > 25, "a kind whose names are no longer found"
    assert sorted(names) == sorted(set(names))


@pytest.mark.parametrize("name", NAMES)
def test_glued_numbers_are_rounded_and_printed_lines_fit_the_page(name: str) -> None:
    """The replay compares numbers to the last digit; what is longer has to be scrolled to."""
    lines = []
    for cell in chapter(name).cells:
        for output in cell.get("outputs", []):
            lines += output.get("text", "").splitlines()
            for mime, text in output.get("data", {}).items():
                if mime.startswith("application/papermill.record/text/plain"):
                    digits = re.sub(r"e[-+]?\d+$", "", text).replace(".", "").strip("-0")
                    assert not digits.isdigit() or len(digits) <= 8, f"{text} in {cell.source}"
    assert [line for line in lines if len(line.rstrip()) > 72] == []


@pytest.mark.parametrize("source", SOURCES, ids=NAMES)
def test_lines_of_code_that_shows_fit_the_page(source: Path) -> None:
    cells = [cell for cell in read_source(source).cells if cell.cell_type == "code"]
    shown = [cell.source for cell in cells if "hide-input" not in cell.metadata.get("tags", [])]
    assert shown
    assert [line for text in shown for line in text.splitlines() if len(line) > 88] == []


@pytest.mark.parametrize("name", NAMES)
def test_chapter_has_one_parameters_cell_and_opens_by_saying_what_it_recomputes(name: str) -> None:
    cells = chapter(name).cells
    assert sum("parameters" in c.metadata.get("tags", []) for c in cells) == 1
    assert cells[0].cell_type == "markdown"
    assert re.match(r"# .*\s+\S", cells[0].source), "sections and figures that it recomputes"


@pytest.mark.parametrize("name", NAMES)
def test_skipped_outputs_are_few_and_give_a_reason(name: str) -> None:
    tags = [(c.metadata.get("tags", []), c.source) for c in chapter(name).cells]
    skipped = [source for given, source in tags if "nbval-ignore-output" in given]
    assert len(skipped) <= 2
    assert all(source.startswith("# Volatile:") for source in skipped), "its first line says why"


#: A line's magic, an import, a run's wall time or a call that reads a clock.
CLOCK = re.compile(
    r"^%+time|^\s*(?:import|from) .*\b(?:time|timeit|datetime)\b|\.(?:wall_s|now|today)\b", re.M
)


@pytest.mark.parametrize("source", SOURCES, ids=NAMES)
def test_no_cell_reads_a_clock(source: Path) -> None:
    """What a clock says is no result; benchmarks/ measures times."""
    cells = [cell for cell in read_source(source).cells if cell.cell_type == "code"]
    assert cells
    assert [found for cell in cells if (found := CLOCK.findall(cell.source))] == []


def test_chapters_settle_every_claim_and_the_readme_shows_it() -> None:
    """Reading refuses a claim in another chapter than the ledger's."""
    settled = {entry.claim.id for entry in collect(PROJECT.chapters) if entry.sort != "open"}
    assert settled == set(ledger())
    assert table_in(PROJECT) == summary_table(PROJECT)
    assert PROJECT.readme_figure.read_bytes() == current_figure(PROJECT)


def test_contents_list_every_page_once_and_the_reference_every_room() -> None:
    # Entries without a file are globs: the reference's pages.
    contents = (PROJECT.root / "_toc.yml").read_text()
    listed = re.findall(r"^(?:root:|[ -]*file:) *(\S+)$", contents, re.MULTILINE)
    pages = [path.stem for path in PROJECT.book.glob("*.md")]
    assert sorted(listed) == sorted([*pages, *(f"chapters/{name}" for name in NAMES)])
    reference = "".join(page.read_text() for page in PROJECT.book.glob("api_*.md"))
    documented = re.findall(r"{rooms} (\w+)", reference)
    assert sorted(documented) == sorted({room.partition(".")[0] for room in rooms()})


@pytest.mark.parametrize("module", [gated_units, gelu_linearization, ours_splines, ours_units])
def test_every_equation_has_its_mark_in_a_chapter(module: ModuleType) -> None:
    text = "".join(source.read_text(encoding="utf-8") for source in SOURCES)
    assert [key for key in module.paper.numbers if f"{{proof}}`{key}`" not in text] == []


def test_committed_files_name_no_path_of_one_machine() -> None:
    for path in [*SOURCES, *PROJECT.chapters.glob("*.ipynb"), *PROJECT.book.glob("*.md")]:
        assert not re.search(r"(?<![\w.])/(home|root|work|tmp|Users)/\w", path.read_text()), path
