"""The rendered site in a real browser: complete offline, legible, open to everyone."""

import tomllib

import pytest

from tests.site_in_browser import AXE, IN_BROWSER, PROJECT, Reader

pytestmark = IN_BROWSER

CHAPTERS = [f"book/chapters/{s.stem}" for s in PROJECT.sources()]
PAGES = [f"book/{path.stem}" for path in sorted((PROJECT.root / "book").glob("*.md"))]
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]
#: Pages that axe-core looks through.
JUDGED = [
    "index",
    "figure",
    "book/ledger",
    "book/bibliography",
    CHAPTERS[0],
    *CHAPTERS[4:15:3],
]
#: What axe-core finds and stands, each with its reason.
EXCEPTIONS = tomllib.loads((AXE.parent / "exceptions.toml").read_text())["exception"]

BROKEN_IMAGES = """
[...document.images].filter(i => i.complete && !i.naturalWidth).map(i => i.src)
"""
#: Formulas that scroll, or that a script has set smaller.
WIDE_FORMULAS = """
[...document.querySelectorAll('span.math, div.math mjx-container')]
  .filter(f => parseFloat(f.style.fontSize) < 99 || f.scrollWidth > f.clientWidth + 1)
  .map(f => f.textContent)
"""
WIDTHS_OF_FIGURES = """
[...document.images].filter(i => i.checkVisibility())
  .map(i => [i.width, Math.min(i.naturalWidth, 472)])
"""
RUN_AXE = """
rules => axe.run('html', { runOnly: rules, resultTypes: ['violations'] })
  .then(found => found.violations.flatMap(
    rule => rule.nodes.map(n => [rule.id, n.target.join(' ')])))
"""


@pytest.mark.parametrize("name", ["index", "figure", *CHAPTERS, *PAGES])
def test_page_is_complete_without_the_network_and_whole_on_a_phone(
    reader: Reader, name: str
) -> None:
    page = reader.open(f"{name}.html", 390)
    assert reader.outside == [], "requests that left the machine"
    assert reader.complaints == [], "script errors and failed requests"
    assert page.locator("mjx-merror").count() == 0
    assert page.locator(".math:not(:has(mjx-container))").count() == 0, (
        "formulas that are not set"
    )
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert page.evaluate(BROKEN_IMAGES) == []
    assert page.evaluate(WIDE_FORMULAS) == [], "formulas beyond their column"
    # Letters of 9 points, 12 pixels at a figure's own width, keep 9; the least, of 7,
    # keep 7.
    for shown, natural in page.evaluate(WIDTHS_OF_FIGURES):
        assert 9 / 12 * natural <= shown <= 358, "figures cut, or letters too small"


def test_a_fold_of_code_is_named_for_what_it_holds(reader: Reader) -> None:
    page = reader.open("book/chapters/03_order.html")
    fold = page.locator("details.hide > summary").first
    assert "Code that loads what this chapter needs" in fold.aria_snapshot()


@pytest.mark.parametrize(("theme", "width"), [("light", 1280), ("dark", 390)])
@pytest.mark.parametrize("name", JUDGED)
def test_page_is_open_to_everyone(
    reader: Reader, name: str, theme: str, width: int
) -> None:
    page = reader.open(f"{name}.html", width, theme)
    page.wait_for_timeout(300)
    page.add_script_tag(path=AXE)
    known = {exception["rule"] for exception in EXCEPTIONS}
    violations = page.evaluate(RUN_AXE, RULES)
    assert [(rule, node) for rule, node in violations if rule not in known] == []
