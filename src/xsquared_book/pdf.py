"""The book as one document for print: the site's pages bound in their order, printed by Chromium.

Numbers, formulas and figures are those of the site. The reference to functions stays there: it is
for searching, and as long as all else.
"""

from __future__ import annotations

import os
import posixpath
import re
import shutil
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from urllib.parse import urldefrag

import yaml
from bs4 import BeautifulSoup, Tag
from jinja2 import Environment, FileSystemLoader

from xsquared_book.metadata import citation, revision
from xsquared_book.project import BookError, Project

#: The documents' names beside ``index.html``, and what ``extra-footer.html`` keeps for their links.
NAME, SUMMARY, PLACE = "xsquared.pdf", "summary.pdf", "<!-- pdf -->"
#: What of which page stands on the summary's one sheet, by the name its template has for it.
_SUMMED = {
    "idea": ("index", "figure.xs-idea"),
    "found": ("index", "#index--what-was-found"),
    "bar": ("index", ".xs-bar"),
    "legend": ("index", ".xs-legend"),
    "choice": ("chapters/13_which_unit", "table#chapters-13_which_unit--tab-decide"),
}
#: What only a screen can use, and code and notes of its making that the site hides at first.
_FOR_SCREENS = "a.headerlink, script, button, form, details:has(.xs-graph)"
_HIDDEN_CODE = "details:is(.hide, .xs-made)"
#: What paper has of a verdict: the rest is for who opens one of a hundred.
_PRINTED = ("Quantity", "Measured", "Why it fails")


def bound_pages(project: Project) -> list[tuple[str, list[str]]]:
    """The parts of the book with the pages that are printed, in the order of ``_toc.yml``."""
    toc = yaml.safe_load((project.root / "_toc.yml").read_text(encoding="utf-8"))
    parts = [("", [toc["root"]])]
    for part in toc.get("parts", []):
        files = [chapter["file"] for chapter in part["chapters"]]
        parts.append((part["caption"], [name for name in files if not name.startswith("api")]))
    return parts


def _anchor(page: str, place: str = "") -> str:
    return "--".join(filter(None, (page.replace("/", "-"), place)))


def bind_page(page: str, text: str, bound: Iterable[str], code: bool = False) -> Tag:
    """The article of one page, fit to stand in one document with others.

    Args:
        page: its name, such as ``"chapters/01_function_space"``.
        text: its HTML.
        bound: every page of the document: links to them lead to their place in it, links to other
            pages of the site become text.
        code: whether code that the site hides at first is printed.
    """
    article = BeautifulSoup(text, "html.parser").select_one("article")
    if article is None:
        raise BookError(f"{page}.html has no article")
    for idle in article.select(_FOR_SCREENS + ("" if code else f", {_HIDDEN_CODE}")):
        idle.decompose()
    for told in article.select("details.xs-verdict li"):
        if not told.get_text().strip().startswith(_PRINTED):
            told.decompose()
    folder, known = posixpath.dirname(page), set(bound)
    for element in article.find_all(id=True):
        element["id"] = _anchor(page, str(element["id"]))
    for link in article.find_all("a", href=True):
        path, place = urldefrag(str(link["href"]))
        if ":" in path.partition("/")[0]:
            continue
        path = path.partition("?")[0]  # paper shows all that a page can be asked for
        goal = posixpath.normpath(posixpath.join(folder, path)).removesuffix(".html")
        if (goal := goal if path else page) in known:
            link["href"] = f"#{_anchor(goal, place)}"
        else:
            link.unwrap()
    for image in article.find_all("img"):
        image["src"] = posixpath.normpath(posixpath.join(folder, str(image["src"])))
        image["loading"] = "eager"
    for folded in article.find_all("details"):
        folded["open"] = ""
    article["id"] = _anchor(page)
    return article


def bind(project: Project, html: Path, code: bool = False) -> str:
    """The HTML of the whole book: title, contents, and every page after the other."""
    parts = bound_pages(project)
    names = [name for _, pages in parts for name in pages]
    texts = {name: (html / f"{name}.html").read_text(encoding="utf-8") for name in names}
    articles = {name: bind_page(name, text, names, code) for name, text in texts.items()}
    shown = [(part, [articles[name] for name in pages]) for part, pages in parts]
    return _rendered(project, html, "print.html", parts=shown)


def sum_up(project: Project, html: Path) -> str:
    """The HTML of one sheet: question, picture, findings, choice of a unit, bar of verdicts."""
    found: dict[str, Tag] = {}
    for name, (page, place) in _SUMMED.items():
        article = bind_page(page, (html / f"{page}.html").read_text(encoding="utf-8"), ())
        part = article.select_one(place)
        if part is None:
            raise BookError(f"{page}.html has no {place} for the summary")
        found[name] = part
        if page == "index":
            found |= dict(zip(("question", "opening"), article.select("h1 ~ p"), strict=False))
    return _rendered(project, html, "summary.html", **found)


def _rendered(project: Project, html: Path, template: str, **parts: object) -> str:
    """A template with the site's styles and MathJax."""
    front = BeautifulSoup((html / "index.html").read_text(encoding="utf-8"), "html.parser")
    scripts = (one for one in front.find_all("script") if "mathjax" in str(one).lower())
    return (
        Environment(loader=FileSystemLoader(project.book / "_templates"), autoescape=True)
        .get_template(template)
        .render(
            said=citation(project),
            revision=revision(project.root),
            heads=[*front.find_all("link", rel="stylesheet"), *scripts],
            **parts,
        )
    )


def pages_of(pdf: bytes) -> dict[str, int]:
    """The page on which each place that is linked stands, as Chromium's PDF says it."""
    order = re.findall(rb"\n(\d+) 0 obj\n<</Type /Page\n", pdf)
    places = re.findall(rb"/(?!Dest )([^ /\[\]]+) \[(\d+) 0 R /XYZ", pdf)
    return {name.decode(): order.index(page) + 1 for name, page in places}


def print_book(project: Project, html: Path, code: bool = False) -> Path:
    """Print the rendered site and link the document from every page.

    Args:
        html: the folder that holds ``index.html``.
        code: whether code that the site hides at first is printed.
    """
    browser = shutil.which("chromium") or shutil.which("chromium-browser")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        browser = None
    if browser is None:
        raise BookError("printing takes playwright (pip install './xsquared[test]') and chromium")
    bound, out = html / "print.html", html / NAME
    try:
        with sync_playwright() as playwright:
            chromium = playwright.chromium.launch(
                executable_path=browser, args=["--no-sandbox", "--disable-gpu"]
            )
            # As wide as A4 less its margins.
            page = chromium.new_page(viewport={"width": 660, "height": 900})
            made = partial(page.pdf, prefer_css_page_size=True, tagged=True, outline=True)

            def opened(text: str) -> list[str]:
                bound.write_text(text, encoding="utf-8")
                page.goto(bound.as_uri(), wait_until="load", timeout=300_000)
                return list(page.evaluate("fitted()"))

            wide = opened(sum_up(project, html))
            sheets = made(path=html / SUMMARY).count(b"<</Type /Page\n")
            wide += opened(bind(project, html, code))
            pages = pages_of(made())
            page.evaluate("numbered", pages)
            made(path=out)
            chromium.close()
    finally:
        bound.unlink(missing_ok=True)
    if sheets != 1:
        raise BookError(f"the summary takes {sheets} sheets: shorten what it shows, or its type")
    if wide:
        raise BookError(f"wider than the paper: {wide}")
    names = [name for _, part in bound_pages(project) for name in part]
    if missing := [name for name in names if _anchor(name) not in pages]:
        raise BookError(f"listed and not printed: {missing}")
    for path in html.rglob("*.html"):
        text = path.read_text(encoding="utf-8")
        book, sheet = (os.path.relpath(html / name, path.parent) for name in (NAME, SUMMARY))
        link = (
            f'<a href="{book}">The book as a PDF</a>, <a href="{sheet}">its findings on a page</a>.'
        )
        if PLACE in text:
            path.write_text(text.replace(PLACE, link), encoding="utf-8")
    return out
