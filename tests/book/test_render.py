"""What is refused before Sphinx sees it."""

import re
from pathlib import Path
from unittest.mock import Mock

import nbformat
import pytest
from docutils import nodes
from docutils.utils import new_document
from nbformat.v4 import new_output
from sphinx.errors import ExtensionError

from xsquared.book.papers.ledger import ledger
from xsquared.book.project import BookError, Project, read_source
from xsquared.book.render import check_chapters
from xsquared.book.sphinx_ext import check_alt_texts, link_repository

STREAM = new_output("stream", name="stdout", text="4\n")
TRACEBACK = new_output(
    "error", ename="KeyError", evalue="'x'", traceback=["KeyError: 'x'"]
)


def commit(project: Project, *outputs: list[nbformat.NotebookNode]) -> None:
    """Write chapter 01 as its source is, its first code cells with these outputs."""
    notebook = read_source(project.notebooks / "01_good.md")
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    for cell, shown in zip(code, outputs, strict=False):
        cell.outputs = shown
    nbformat.write(notebook, project.chapters / "01_good.ipynb")


def test_unfit_chapters_are_named(small_project: Project) -> None:
    with pytest.raises(
        BookError, match=r"01_good\.ipynb is missing: run `xsquared book --only"
    ):
        check_chapters(small_project)
    commit(small_project)
    with pytest.raises(BookError, match=r"01_good\.ipynb has no outputs"):
        check_chapters(small_project)
    commit(small_project, [STREAM], [TRACEBACK])
    with pytest.raises(BookError, match=r"01_good\.ipynb holds a traceback"):
        check_chapters(small_project)
    commit(small_project, [STREAM])
    check_chapters(small_project)
    source = small_project.notebooks / "01_good.md"
    source.write_text(source.read_text().replace("n + 1", "n + 2"))
    with pytest.raises(
        BookError, match=r"01_good\.ipynb is not what 01_good\.md runs now"
    ):
        check_chapters(small_project)


def test_a_chapter_that_no_page_shows_is_named(small_project: Project) -> None:
    commit(small_project, [STREAM])
    (small_project.root / "_toc.yml").write_text("root: index\nchapters: []\n")
    with pytest.raises(BookError, match=r"01_good is not in _toc\.yml"):
        check_chapters(small_project)


def test_an_address_alone_gives_links_and_a_cell_that_installs(
    small_project: Project,
) -> None:
    for url in ("", "https://github.com/a/b"):
        (small_project.root / "_config.yml").write_text(f"repository: {{url: '{url}'}}")
        assert (f"git+{url}" in str(read_source(small_project.sources()[0]))) == bool(
            url
        )
        link_repository(
            Mock(), Mock(html_theme_options=(options := {"repository_url": url}))
        )
        assert ("launch_buttons" in options) == bool(url)


def test_a_picture_without_a_text_is_refused() -> None:
    page = new_document("01_good")
    page += nodes.image(uri="a.svg", alt="a line")
    check_alt_texts(Mock(), page, "01_good")
    page += nodes.image(uri="b.svg", alt=" ")
    with pytest.raises(ExtensionError, match=r"01_good: the image b\.svg"):
        check_alt_texts(Mock(), page, "01_good")


@pytest.mark.slow
def test_the_standard_tool_builds_a_checkout_with_its_address_without_a_warning(
    site: Path,
) -> None:
    page = (site / "book/chapters/08_transformer.html").read_text()
    assert "google.com/github/a/b/blob/main/book/chapters/08_transformer.ipynb" in page
    assert "github.com/a/b/blob/main/notebooks/08_transformer.md" in page


@pytest.mark.slow
def test_claims_lead_to_the_cells_that_settle_them_inside_their_folds(
    site: Path,
) -> None:
    page = (site / "book/ledger.html").read_text()
    cells = set(re.findall(r'href="(chapters/\w+\.html)#settled"', page))
    assert cells == {f"chapters/{claim.chapter}.html" for claim in ledger().values()}
    for cell in cells:
        fold = (site / "book" / cell).read_text().partition(' id="settled"')
        assert fold[0].rpartition("<details")[2].find("</details>") == -1
        assert "settle" in fold[2].partition("</details>")[0]


@pytest.mark.slow
def test_links_to_tables_and_figures_say_the_numbers_of_their_captions(
    site: Path,
) -> None:
    link = (
        r'href="([^"#]*)#((?:tab|fig)-[^"]*)">(?:<span[^>]*>)?((?:Table|Fig.) [\w.]+)<'
    )
    links = [
        ((page.parent / path if path else page).resolve(), label, text)
        for page in (site / "book" / "chapters").glob("*.html")
        for path, label, text in re.findall(link, page.read_text())
    ]
    pages = {page: page.read_text() for page, _, _ in links}
    assert len(links) > 100
    for page, label, text in links:
        caption = rf' id="{label}".*?class="caption-number">([^<]*?) *<'
        assert re.search(caption, pages[page], re.DOTALL)[1] == text, label
