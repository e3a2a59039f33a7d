"""The committed book: every chapter executed, every picture described, every page in
its place.
"""

import os
import re
import shutil
import subprocess
import sys
from base64 import b64encode
from pathlib import Path

import nbformat
import pytest

from xsquared.book.papers.ledger import ledger
from xsquared.book.pictures import PNG, SVG
from xsquared.book.project import Project, read_source, records
from xsquared.book.render import check_chapters

PROJECT = Project(Path(__file__).parents[2])
SOURCES = PROJECT.sources()
NAMES = [source.stem for source in SOURCES]
CHAPTERS = [name for name in NAMES if name[0].isdigit()]


def chapter(name: str) -> nbformat.NotebookNode:
    return nbformat.read(PROJECT.chapters / f"{name}.ipynb", as_version=4)


def test_chapters_are_executed_from_their_present_sources_and_none_is_left_over() -> (
    None
):
    assert sorted(path.stem for path in PROJECT.chapters.glob("*.ipynb")) == NAMES
    check_chapters(PROJECT)


@pytest.mark.parametrize("name", NAMES)
def test_every_code_cell_ran_in_order(name: str) -> None:
    cells = [c for c in chapter(name).cells if c.cell_type == "code"]
    assert [c.execution_count for c in cells] == list(range(1, len(cells) + 1))


@pytest.mark.parametrize("name", NAMES)
def test_pictures_have_alt_text_and_caption(name: str) -> None:
    for cell in chapter(name).cells:
        kinds = {
            kind
            for output in cell.get("outputs", [])
            for kind in output.get("data", {})
        }
        if kinds & {SVG, PNG}:
            told = cell.metadata.mystnb
            assert told.image.alt
            assert told.figure.caption


def test_a_figure_a_table_and_an_equation_have_a_name_of_their_own_in_the_whole_book() -> (
    None
):
    """One in two chapters is found late, when links to it are written, and not by its
    name.
    """
    pattern = r"[ {]name: (fig-[\w-]+)|[ (]\"(tab-[\w-]+)\"[,)]|^\$\$ \((eq-[\w-]+)\)"
    found = [
        name
        for source in SOURCES
        for names in re.findall(
            pattern, source.read_text(encoding="utf-8"), re.MULTILINE
        )
        for name in names
        if name
    ]
    assert len(found) > 100
    assert sorted(found) == sorted(set(found))


@pytest.mark.parametrize("name", NAMES)
def test_glued_numbers_are_rounded(name: str) -> None:
    """The replay compares numbers to the last digit."""
    for cell in chapter(name).cells:
        for output in cell.get("outputs", []):
            for mime, text in output.get("data", {}).items():
                if mime.startswith("application/papermill.record/text/plain"):
                    digits = (
                        re.sub(r"e[-+]?\d+$", "", text).replace(".", "").strip("-0")
                    )
                    assert not digits.isdigit() or len(digits) <= 8, (
                        f"{text} in {cell.source}"
                    )


@pytest.mark.parametrize("source", SOURCES, ids=NAMES)
def test_lines_of_code_that_shows_fit_the_page(source: Path) -> None:
    cells = [cell for cell in read_source(source).cells if cell.cell_type == "code"]
    shown = [
        cell.source
        for cell in cells
        if "hide-input" not in cell.metadata.get("tags", [])
    ]
    assert [
        line for text in shown for line in text.splitlines() if len(line) > 88
    ] == []


@pytest.mark.parametrize("name", CHAPTERS)
def test_a_chapter_has_one_parameters_cell(name: str) -> None:
    tags = [cell.metadata.get("tags", []) for cell in chapter(name).cells]
    assert sum("parameters" in own for own in tags) == 1


def test_chapters_settle_every_claim_as_the_ledger_has_it() -> None:
    settled = {row["claim"]: name for name in NAMES for row in records(chapter(name))}
    assert settled == {claim.id: claim.chapter for claim in ledger().values()}


def test_contents_list_every_page_once() -> None:
    contents = (PROJECT.root / "_toc.yml").read_text()
    listed = re.findall(r"^(?:root:|[ -]*file:) *(\S+)$", contents, re.MULTILINE)
    pages = [f"book/{path.stem}" for path in (PROJECT.root / "book").glob("*.md")]
    assert sorted(listed) == sorted(
        ["index", *pages, *(f"book/chapters/{name}" for name in NAMES)]
    )


def test_the_front_pages_picture_is_the_chapters() -> None:
    cells = chapter("02_one_more_power").cells
    (pixels,) = (
        o.data[PNG]
        for c in cells
        for o in c.get("outputs", [])
        if PNG in o.get("data", {})
    )
    committed = (PROJECT.root / "book" / "_static" / "convergence.png").read_bytes()
    assert b64encode(committed).decode() == pixels.strip()


def test_committed_files_name_no_path_of_one_machine() -> None:
    pages = (PROJECT.root / "book").glob("*.md")
    for path in [*SOURCES, *PROJECT.chapters.glob("*.ipynb"), *pages]:
        assert not re.search(
            r"(?<![\w.])/(home|root|work|tmp|Users)/\w", path.read_text()
        ), path


@pytest.mark.slow
def test_a_save_in_jupyterlab_leaves_every_source_as_it_is(tmp_path: Path) -> None:
    """Whose extension writes text from the notebook that is open, as jupytext does
    here.
    """
    shutil.copytree(PROJECT.notebooks, tmp_path / "notebooks")
    shutil.copy(PROJECT.root / "jupytext.toml", tmp_path)
    texts = {path: path.read_bytes() for path in (tmp_path / "notebooks").iterdir()}
    sync = [str(Path(sys.executable).with_name("jupytext")), "--sync", *map(str, texts)]
    subprocess.run(sync, cwd=tmp_path, check=True, capture_output=True)
    for opened in (tmp_path / "_build/lab").glob("*.ipynb"):
        os.utime(opened, (2e9, 2e9))  # saved after the text
    subprocess.run(sync, cwd=tmp_path, check=True, capture_output=True)
    assert [
        path.name for path, text in texts.items() if path.read_bytes() != text
    ] == []
