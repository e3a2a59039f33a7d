"""Prose filled with numbers and links: as Sphinx writes them, or refused."""

import re
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import nbformat
import pandas as pd
import pytest
from nbformat.v4 import new_output

from tests.small_project import notebook_text
from xsquared.book.project import GLUED, NOTE, BookError, Project, read_source
from xsquared.book.prose import ROLES, Prose, fill
from xsquared.book.render import check_chapters, render
from xsquared.book.tables import Table

FRAME = pd.DataFrame(
    {"unit": ["MLP", "GLU", "SiLU", "SiLU"], "error & $e$": [1e-3, 2, 3, 3]}
)
CITED = """
See {numref}`tab-one`, {numref}`tab-two` and {numref}`fig-line`, {eq}`eq-second` before
{eq}`eq-first`, {eq}`eq-proof`, {eq}`eq-below`, {doc}`some words <chapters/01_good>`, {doc}`chapters/02_next`, {doc}`words`,
{ref}`✓ <a-label>`, {ref}`some words <a-label>`, {cite}`two2001`, {cite}`three2002,one2003`.
"""
WORKS = """
@book{one2003, author = {de Boor, Carl}, title = {One {Title}}, publisher = {P}, year = {2003}}
@book{two2001, author = {Kar, A. and Ma{\\'n}ke, B.}, title = {Two}, publisher = {P}, year = {2001}}
@book{three2002, author = {A, A. and B, B. and C, C.}, title = {3}, publisher = {P}, year = {2002}}
"""
CONTENTS = (
    """format: jb-book
root: index
parts:
  - chapters: [file: book/before]
  - numbered: 2
    chapters: [file: book/chapters/01_good]
  - numbered: 2
    chapters: [file: book/chapters/02_next]
  - numbered: 2
    style: alphaupper
    chapters: [file: book/proofs, file: book/more]
  - chapters: [file: book/words, file: book/bibliography]
""".replace("[file: ", "[{file: ")
    .replace(", file", "}, {file")
    .replace("]", "}]")
    .replace("book/more", "book/more, sections: [{file: book/below}]")
)
FIGURE = """---
mystnb:
  figure: {name: fig-line, caption: A line.}
  image: {alt: a line}
---
draw()"""
SVG = '<svg xmlns="http://www.w3.org/2000/svg"><path d="M0 0L1 1"/></svg>'


def table(name: str) -> Any:
    shown = Table(FRAME, "Errors.", name, {"error & $e$": ".1e"})._repr_mimebundle_()
    return new_output("display_data", data=shown)


def glued(**values: object) -> list[Any]:
    return [
        new_output(
            "display_data",
            data={GLUED: repr(value)},
            metadata={
                "scrapbook": {
                    "name": key,
                    "mime_prefix": GLUED.removesuffix("text/plain"),
                }
            },
        )
        for key, value in values.items()
    ]


def commit(project: Project, name: str, *outputs: list[Any], run: bool = False) -> Path:
    """Write a chapter as executed: its source, and outputs of the later code cells."""
    notebook = read_source(project.notebooks / f"{name}.md")
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    for cell, shown in zip(code[1:], outputs, strict=True):
        cell.outputs = shown
    path = project.executed(name, [name] if run else [])
    path.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(notebook, path)
    return path


def prose_of(path: Path) -> str:
    cells = nbformat.read(path, as_version=4).cells
    return "\n".join(cell.source for cell in cells if cell.cell_type == "markdown")


def chapter(project: Project, prose: str, **values: object) -> Path:
    """Make the one chapter of the small project, with such prose and glued values."""
    source = project.notebooks / "01_good.md"
    source.write_text(notebook_text("glue()") + f"\n{prose}\n")
    return commit(project, "01_good", [*glued(**values), table("tab-one")])


def test_numbers_are_filled_with_their_keys_and_follow_the_outputs(
    small_project: Project,
) -> None:
    prose = (
        "A GLU's {glue:text}`error:.1e` is {glue:text}`word` of\n"
        "{cell}`tab-one:MLP,error\n& $e$` in {numref}`tab-one`."
    )
    path = chapter(small_project, prose, error=7.8e-5, word="half [a, b]")
    with pytest.raises(
        BookError, match=r"is not what 01_good\.md says now: run `xsquared fill`"
    ):
        check_chapters(small_project)
    assert fill(small_project) == [path]
    assert prose_of(path).endswith(
        "A GLU's 7.8·10⁻⁵<!-- error:.1e --> is half [a, b]<!-- word --> of\n"
        "[1.0·10⁻³](#tab-one)<!-- tab-one:MLP,error & $e$ --> in [Table 1](#tab-one)."
    )
    assert prose_of(path).startswith(NOTE)
    assert fill(small_project) == []
    check_chapters(small_project)
    text = path.read_text()
    path.write_text(text.replace("7.8e-05", "9.1e-05"))  # as if executed again
    assert fill(small_project) == [path]
    assert path.read_text() == text.replace("7.8e-05", "9.1e-05").replace(
        "7.8·", "9.1·"
    )


@pytest.mark.parametrize(
    ("role", "problem"),
    [
        ("{glue:text}`lost:.1f`", "lost"),
        ("{cell}`tab-lost:MLP,unit`", "tab-lost"),
        ("{cell}`tab-one:SiLU,unit`", "one such cell in MLP,unit; "),
        ("{ref}`words <a-lost-label>`", "a-lost-label"),
        ("{ref}`claim-gu-eq9-rate`", "words for claim-gu-eq9-rate"),
        ("{doc}`99_lost`", "book/chapters/99_lost"),
    ],
)
def test_what_is_not_there_is_named_and_a_dash_in_a_run(
    small_project: Project, role: str, problem: str
) -> None:
    chapter(small_project, role, error=2)
    with pytest.raises(BookError, match=rf"01_good\.ipynb: .*: no .*{problem}"):
        fill(small_project)
    path = commit(small_project, "01_good", [], run=True)
    assert fill(small_project, ["01_good"]) == [path]
    assert "\n–<!-- " in prose_of(path)


def test_a_run_has_its_own_numbers(small_project: Project) -> None:
    committed = chapter(small_project, "{glue:text}`twice`", twice=4)
    run = commit(small_project, "01_good", glued(twice=6), run=True)
    assert [fill(small_project), fill(small_project, ["01_good"])] == [
        [committed],
        [run],
    ]
    assert prose_of(committed).endswith("\n4<!-- twice -->")
    assert prose_of(run).endswith("\n6<!-- twice -->")


def links(page: Path, heading: str) -> list[tuple[str, str]]:
    """What a page's links below a heading say, and where they lead."""
    section = page.read_text().partition(f"{heading}<a")[2].partition("</section>")[0]
    found = re.findall(r'<a [^>]*?href="([^"]*)".*?>(.*?)</a>', section, re.DOTALL)
    return [(re.sub(r"<.*?>", "", text), urljoin(str(page), to)) for to, text in found]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_links_say_and_lead_where_sphinx_would(small_project: Project) -> None:
    root = small_project.root
    (root / "_toc.yml").write_text(CONTENTS)
    config = root / "_config.yml"
    text = config.read_text().replace(
        "sphinx: {", "sphinx: {config: {bibtex_reference_style: author_year}, "
    )
    config.write_text(f"{text}bibtex_bibfiles: [book/references.bib]\n")
    (root / "book/references.bib").write_text(WORKS)
    (root / "book/bibliography.md").write_text("# B\n\n```{bibliography}\n:all:\n```\n")
    (root / "book/before.md").write_text("# Before\n\n$$\n0\n$$ (eq-before)\n")
    (root / "book/proofs.md").write_text("# Proofs\n\n## One\n\n$$\n1\n$$ (eq-proof)\n")
    (root / "book/more.md").write_text("# More\n\n## Two\n\n$$\n2\n$$ (eq-more)\n")
    (root / "book/below.md").write_text("# Below\n\n$$\n3\n$$ (eq-below)\n")
    words = f"# Words\n\n{{glue:text}}`chapters/01_good.ipynb::n`!\n\n## Cited\n{CITED}"
    (root / "book/words.md").write_text(words)
    first = notebook_text("a()").replace("# A chapter", "# The first")
    first += (
        "\n(a-label)=\n## A heading\n\n$$\n1\n$$ (eq-first)\n\n$$\n2\n$$ (eq-second)\n"
    )
    (small_project.notebooks / "01_good.md").write_text(first)
    cited = CITED.replace("chapters/", "").replace("`words`", "`../words`")
    hidden = ":tags: [remove-output]\n\nhide()"
    second = notebook_text(hidden, FIGURE, "b()") + f"\n## Cited\n{cited}"
    (small_project.notebooks / "02_next.md").write_text(second)
    commit(small_project, "01_good", [*glued(n=7), table("tab-one")])
    line = new_output("display_data", data={"image/svg+xml": SVG})
    shown = [table("tab-zero"), table("tab-two")]
    commit(small_project, "02_next", [table("tab-hidden")], [line], shown)
    fill(small_project)
    site = render(small_project)
    by_sphinx = links(site / "book/words.html", "Cited")
    by_links = links(site / "book/chapters/02_next.html", "Cited")
    assert len(by_sphinx) == 15
    assert by_links == by_sphinx
    assert [text for text, _ in by_links][:7] == [
        "Table 1.1", "Table 2.2", "Fig. 2.1", "(1.2)", "(1.1)", "(A.1)", "(B.2)"
    ]  # fmt: skip
    below = (site / "book/below.html").read_text()
    assert re.search(r"<h1>.*B\.2\. .*Below", below)
    assert "A.1. " in (site / "book/proofs.html").read_text()
    page = (site / "book/chapters/02_next.html").read_text()
    assert "Numbers in the text" not in page
    assert (
        "<p>7<!-- chapters/01_good.ipynb::n -->!</p>"
        in (site / "book/words.html").read_text()
    )


def test_roles_that_print_no_number_and_code_stay(small_project: Project) -> None:
    chapter(small_project, "")
    text = "{term}`word` and `{x}`"
    assert Prose(small_project).fill(text, "book/a.md", ROLES) == text
