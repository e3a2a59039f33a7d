"""One document out of many pages: places and links stay one's own, and nothing is left folded."""

import re
import shutil
from concurrent.futures import ThreadPoolExecutor

import pytest
from bs4 import BeautifulSoup

from tests.site_in_browser import CHROMIUM, PROJECT
from xsquared_book import pdf
from xsquared_book.project import BookError, Project

PAGE = """<html><head><link rel="stylesheet" href="_static/a.css"/></head><body>
<article class="bd-article"><section id="top">
<h1>{title}<a class="headerlink" href="#top">#</a></h1>
<form><select><option>all</option></select></form>
<p><a href="#far">here</a> <a href="{other}?asked=1#far">there</a> <a href="{api}">f</a>
<a href="https://example.org">out</a></p>
<section id="what-was-found"><h2>Found</h2></section><figure class="xs-idea"></figure>
<table id="tab-decide"><tr><td>use</td></tr></table>
<p class="xs-bar"></p><ul class="xs-legend"></ul>
<section id="far"><h2>Far</h2><img src="{image}" loading="lazy" alt="a"/></section>
<details class="hide above-input"><summary>Code</summary>secret</details>
<details class="xs-claim"><summary>Claim</summary>verdict</details>
<details class="xs-claim xs-verdict"><ul><li>Measured: 2.3</li><li>Since: 2026</li></ul></details>
<details class="xs-claim"><svg class="xs-graph"></svg>edges</details>
<script>alert()</script></section></article></body></html>"""


@pytest.fixture
def printable(small_project: Project) -> Project:
    """Two rendered pages, a front page and a chapter, and the template that binds them."""
    toc = "root: index\nparts:\n- caption: Part\n  chapters:\n"
    toc += "  - file: chapters/13_which_unit\n  - file: api\n"
    (small_project.root / "_toc.yml").write_text(toc)
    shutil.copy(PROJECT.root / "CITATION.cff", small_project.root)
    shutil.copytree(PROJECT.book / "_templates", small_project.book / "_templates")
    (small_project.html / "chapters").mkdir(parents=True)
    places = {"other": "chapters/13_which_unit.html", "api": "api.html", "image": "_images/a.png"}
    (small_project.html / "index.html").write_text(PAGE.format(title="Front", **places) + pdf.PLACE)
    up = {"other": "../index.html", "api": "../api.html", "image": "../_images/a.png"}
    chapter = small_project.html / "chapters" / "13_which_unit.html"
    chapter.write_text(PAGE.format(title="1. A", **up) + pdf.PLACE)
    (small_project.html / "_images").mkdir()
    shutil.copy(PROJECT.readme_figure, small_project.html / "_images" / "a.png")
    return small_project


def test_the_order_is_that_of_the_contents_without_the_reference(printable: Project) -> None:
    assert pdf.bound_pages(printable) == [("", ["index"]), ("Part", ["chapters/13_which_unit"])]
    parts = pdf.bound_pages(PROJECT)
    names = [name for _, pages in parts for name in pages]
    assert names[:2] == ["index", "chapters/01_function_space"]
    assert {"verdicts", "errata", "bibliography"} < set(names)
    assert not any(name.startswith("api") for name in names)


def test_places_and_links_of_a_page_are_its_own(printable: Project) -> None:
    text = (printable.html / "chapters" / "13_which_unit.html").read_text()
    article = pdf.bind_page("chapters/13_which_unit", text, ["index", "chapters/13_which_unit"])
    assert article["id"] == "chapters-13_which_unit"
    assert [link["href"] for link in article.find_all("a")] == [
        "#chapters-13_which_unit--far", "#index--far", "https://example.org",
    ]  # fmt: skip
    own = {f"chapters-13_which_unit--{place}" for place in ("top", "far", "tab-decide")}
    assert {one["id"] for one in article.find_all(id=True)} >= own
    assert article.img["src"] == "_images/a.png"
    assert article.find(["script", "form"]) is None
    assert "secret" not in str(article)
    assert all(folded.has_attr("open") for folded in article.find_all("details"))
    assert "verdict" in str(article)
    assert "Measured: 2.3" in str(article)
    assert not re.search("Since|edges", str(article)), "for screens"
    assert "secret" in str(pdf.bind_page("chapters/13_which_unit", text, ["index"], code=True))
    with pytest.raises(BookError, match=r"a\.html has no article"):
        pdf.bind_page("a", "<p>", [])


def test_every_link_leads_somewhere_in_the_document(printable: Project) -> None:
    soup = BeautifulSoup(pdf.bind(printable, printable.html), "html.parser")
    places = [str(one["id"]) for one in soup.find_all(id=True)]
    assert len(places) == len(set(places))
    links = {str(a["href"]) for a in soup.find_all("a") if str(a["href"])[0] == "#"}
    assert {link[1:] for link in links} <= set(places)
    assert {"#index", "#chapters-13_which_unit", "#chapters-13_which_unit--far"} <= links
    assert soup.html["data-theme"] == "light"


def test_the_summary_holds_what_is_named_for_it_and_says_what_is_missing(
    printable: Project,
) -> None:
    soup = BeautifulSoup(pdf.sum_up(printable, printable.html), "html.parser")
    for place in (".question p", "figure.xs-idea", ".xs-bar", ".xs-legend", "table"):
        assert soup.select_one(place), place
    assert not soup.select("a[href^='#']"), "places that are not on the sheet"
    index = printable.html / "index.html"
    index.write_text(index.read_text().replace("xs-bar", ""))
    with pytest.raises(BookError, match=r"index\.html has no \.xs-bar for the summary"):
        pdf.sum_up(printable, printable.html)


def test_printing_takes_a_browser(printable: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(BookError, match=r"printing takes playwright .* and chromium"):
        pdf.print_book(printable, printable.html)


@pytest.mark.browser
@pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine: nothing printed")
def test_the_document_is_tagged_has_an_outline_and_is_linked(printable: Project) -> None:
    # In a thread of its own, as one thread has room for one playwright.
    with ThreadPoolExecutor(1) as thread:
        out = thread.submit(pdf.print_book, printable, printable.html).result()
    data = out.read_bytes()
    assert b"/Marked true" in data
    assert b"/StructTreeRoot" in data
    assert data.count(b"/Title (Far)") == 2, "the outline"
    pages = pdf.pages_of(data)  # title, contents, front page, chapter
    assert (
        pages["index"],
        pages["chapters-13_which_unit"],
        pages["chapters-13_which_unit--far"],
    ) == (3, 4, 4)
    links = {name.decode() for name in re.findall(rb"/Dest /(\S+)", data)}
    assert links == set(pages)
    assert (printable.html / pdf.SUMMARY).read_bytes().count(b"<</Type /Page\n") == 1
    assert 'href="summary.pdf"' in (printable.html / "index.html").read_text()
    assert 'href="xsquared.pdf"' in (printable.html / "index.html").read_text()
    assert (
        'href="../xsquared.pdf"' in (printable.html / "chapters" / "13_which_unit.html").read_text()
    )
    assert not (printable.html / "print.html").exists()


@pytest.mark.browser
@pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine: nothing printed")
def test_a_page_that_styles_keep_from_the_paper_is_told(printable: Project) -> None:
    template = printable.book / "_templates" / "print.html"
    hidden = "#chapters-13_which_unit { display: none; } </style>"
    template.write_text(template.read_text().replace("</style>", hidden, 1))
    with ThreadPoolExecutor(1) as thread, pytest.raises(BookError, match=r"printed.*13_which"):
        thread.submit(pdf.print_book, printable, printable.html).result()
