"""The committed book: every chapter executed, every page in its place."""

import re
from base64 import b64encode
from pathlib import Path

import jupytext
import nbformat
import pytest
from jupytext.config import load_jupytext_config

from xsquared.book.papers.ledger import ledger
from xsquared.book.pictures import PNG
from xsquared.book.project import Project, read_source, records
from xsquared.book.render import check_chapters

#: What JupyterLab writes into a notebook that it saves, whatever stood there.
SAVED = {
    "kernelspec": {
        "name": "python3",
        "display_name": "Python 3 (ipykernel)",
        "language": "python",
    },
    "language_info": {
        "codemirror_mode": {"name": "ipython", "version": 3},
        "file_extension": ".py",
        "mimetype": "text/x-python",
        "name": "python",
        "nbconvert_exporter": "python",
        "pygments_lexer": "ipython3",
        "version": "3.11.7",
    },
}
PROJECT = Project(Path(__file__).parents[2])
SOURCES = PROJECT.sources()
NAMES = [source.stem for source in SOURCES]


def chapter(name: str) -> nbformat.NotebookNode:
    return nbformat.read(PROJECT.chapters / f"{name}.ipynb", as_version=4)


def test_chapters_are_executed_from_their_present_sources() -> None:
    assert sorted(path.stem for path in PROJECT.chapters.glob("*.ipynb")) == NAMES
    check_chapters(PROJECT)


@pytest.mark.parametrize("source", SOURCES, ids=NAMES)
def test_lines_of_code_that_shows_fit_the_page(source: Path) -> None:
    cells = [cell for cell in read_source(source).cells if cell.cell_type == "code"]
    for cell in cells:
        if "hide-input" not in cell.metadata.get("tags", []):
            assert all(len(line) <= 88 for line in cell.source.splitlines())


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
    (pixels,) = (
        output.data[PNG]
        for cell in chapter("02_one_more_power").cells
        for output in cell.get("outputs", [])
        if PNG in output.get("data", {})
    )
    committed = (PROJECT.root / "book" / "_static" / "convergence.png").read_bytes()
    assert b64encode(committed).decode() == pixels.strip()


def test_committed_files_name_no_path_of_one_machine() -> None:
    pages = (PROJECT.root / "book").glob("*.md")
    for path in [*SOURCES, *PROJECT.chapters.glob("*.ipynb"), *pages]:
        assert not re.search(
            r"(?<![\w.])/(home|root|work|tmp|Users)/\w", path.read_text()
        ), path


@pytest.mark.parametrize("source", SOURCES, ids=NAMES)
def test_a_save_in_jupyterlab_leaves_a_source_as_it_is(source: Path) -> None:
    """Its extension writes text from the open notebook by jupytext, as here."""
    opened = jupytext.read(source)
    opened.metadata.update(SAVED)
    config = load_jupytext_config(source)
    assert jupytext.writes(opened, "md:myst", config=config) == source.read_text()
