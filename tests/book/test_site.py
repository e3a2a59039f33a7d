"""The rendered site in a real browser: complete with the network off, legible, open to everyone."""

import tomllib

import pytest

from tests.site_in_browser import AXE, IN_BROWSER, PROJECT, Reader

pytestmark = IN_BROWSER

CHAPTERS = [f"book/chapters/{s.stem}" for s in PROJECT.sources() if s.stem[0].isdigit()]
PAGES = [f"book/{path.stem}" for path in sorted((PROJECT.root / "book").glob("*.md"))]
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]
#: Pages that axe-core looks through.
JUDGED = ["index", "figure", *PAGES[4:6], "book/verdicts", *CHAPTERS[:2], *CHAPTERS[4:8]]
#: What axe-core finds and stands, each with its reason.
EXCEPTIONS = tomllib.loads((AXE.parent / "exceptions.toml").read_text())["exception"]


@pytest.mark.parametrize("name", ["index", "figure", *CHAPTERS, *PAGES])
def test_page_is_complete_without_the_network_and_whole_on_a_phone(
    reader: Reader, name: str
) -> None:
    page = reader.open(f"{name}.html", 390)
    assert reader.outside == [], "requests that left the machine"
    theirs = "Identifier 'THEBE_JS_URL' has already been declared"  # Jupyter Book writes it twice
    assert {*reader.complaints} <= {theirs}, "script errors and failed requests"
    assert page.locator("mjx-merror").count() == 0
    assert page.locator(".math:not(:has(mjx-container))").count() == 0, "formulas that are not set"
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    broken = "[...document.images].filter(i => i.complete && !i.naturalWidth).map(i => i.src)"
    assert page.evaluate(broken) == []


@pytest.mark.parametrize("name", CHAPTERS)
def test_letters_of_figures_can_be_read_on_a_phone(reader: Reader, name: str) -> None:
    page = reader.open(f"{name}.html", 390)
    # Letters have 9 points at least, 12 pixels of a figure at its own width; pixels are finer.
    images = "[...document.querySelectorAll('.cell_output img')]"
    shares = f"{images}.map(i => i.width / Math.min(i.naturalWidth, 800))"
    assert min(page.evaluate(shares), default=1) >= 9 / 12


@pytest.mark.parametrize(("theme", "width"), [("light", 1280), ("dark", 390)])
@pytest.mark.parametrize("name", JUDGED)
def test_page_is_open_to_everyone(reader: Reader, name: str, theme: str, width: int) -> None:
    page = reader.open(f"{name}.html", width, theme)
    page.wait_for_timeout(300)
    page.add_script_tag(path=AXE)
    found = page.evaluate(
        "rules => axe.run('html', { runOnly: rules, resultTypes: ['violations'] }).then(found => "
        "found.violations.flatMap(rule => rule.nodes.map(n => [rule.id, n.target.join(' ')])))",
        RULES,
    )
    assert [what for what in found if what[0] not in {one["rule"] for one in EXCEPTIONS}] == []
