"""Previews of what links lead to, in a browser: by pointer and by keys, put away at will."""

from pathlib import Path
from typing import Any

import pytest

from tests.site_in_browser import IN_BROWSER, Reader

pytestmark = IN_BROWSER
PAGE = "chapters/12_order_and_constants.html"
#: A fifth of that page, where what is in it matters less than that it has links of every kind.
SHORT = "chapters/02_truncation_errors.html"
LOOKS = [("light", 1280), ("dark", 390)]
#: A link to a formula, to a figure and to a table, and what its preview holds.
LINKS = {"equation": "mjx-container", "fig": "figure img", "tab": "table caption"}


def link_to(page: Any, kind: str) -> Any:
    return page.locator(f"article a.reference.internal[href^='#{kind}-']").first


def preview(page: Any) -> Any:
    return page.locator("#preview[role=tooltip]")


@pytest.mark.parametrize(("theme", "width"), LOOKS)
def test_the_focus_shows_what_a_link_leads_to(reader: Reader, theme: str, width: int) -> None:
    page = reader.open(PAGE, width, theme)
    for kind in LINKS:
        shown_by_focus(page, kind, width)
    assert reader.complaints == reader.outside == []


def shown_by_focus(page: Any, kind: str, width: int) -> None:
    """The focus goes to a link and leaves it, and what is shown is judged."""
    link = link_to(page, kind)
    assert not preview(page).is_visible()
    link.evaluate("link => link.focus({ focusVisible: true })")
    assert preview(page).locator(LINKS[kind]).first.is_visible()
    assert link.get_attribute("aria-describedby") == "preview"
    box, at = preview(page).bounding_box(), link.bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= width
    assert box["height"] > 20
    assert box["y"] >= at["y"] + at["height"] or box["y"] + box["height"] <= at["y"] + at["height"]
    cut = "box => [box.scrollWidth - box.clientWidth, box.scrollHeight - box.clientHeight]"
    across, down = preview(page).evaluate(cut)
    assert down <= 1, "all of it is seen"
    assert across <= 1 or (kind, width) == ("tab", 390)
    if kind == "equation":
        left = preview(page).locator("mjx-math").bounding_box()["x"]
        assert left >= box["x"]
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    places = "[...document.querySelectorAll('[id]')].map(e => e.id)"
    assert len(page.evaluate(places)) == len(set(page.evaluate(places))), "places stay unique"
    stops = preview(page).locator("a, button, [tabindex], summary").count()
    assert stops == 0, "nothing in it can have the focus"
    page.keyboard.press("Escape")
    assert not preview(page).is_visible()
    assert link.evaluate("link => link === document.activeElement"), "the focus stays"
    assert link.get_attribute("aria-describedby") is None
    link.evaluate("link => { link.blur(); link.focus({ focusVisible: true }) }")
    assert preview(page).is_visible()
    link.evaluate("link => link.blur()")
    assert not preview(page).is_visible()


@pytest.mark.parametrize(("theme", "width"), LOOKS)
def test_a_preview_is_open_to_everyone(reader: Reader, theme: str, width: int) -> None:
    page = reader.open(SHORT, width, theme)
    for kind in LINKS:
        link = link_to(page, kind)
        link.evaluate("link => link.focus({ focusVisible: true })")
        assert preview(page).locator(LINKS[kind]).first.is_visible()
        assert reader.judge(["wcag2a", "wcag2aa", "wcag22aa"], "#preview") == []
        link.evaluate("link => link.blur()")


@pytest.mark.parametrize("kind", LINKS)
def test_the_pointer_shows_it_and_may_move_onto_it(reader: Reader, kind: str) -> None:
    page = reader.open(SHORT)
    link = link_to(page, kind)
    link.hover()
    preview(page).wait_for(state="visible", timeout=2000)
    preview(page).hover(position={"x": 10, "y": 10})
    page.wait_for_timeout(700)
    assert preview(page).is_visible(), "it stays while the pointer is on it"
    page.keyboard.press("Escape")
    assert not preview(page).is_visible()
    link.hover()
    preview(page).wait_for(state="visible", timeout=2000)
    page.wait_for_timeout(700)
    assert preview(page).is_visible(), "it stays while the pointer is on the link"
    page.mouse.move(2, 2)
    preview(page).wait_for(state="hidden", timeout=2000)
    link.hover()
    preview(page).wait_for(state="visible", timeout=2000)
    link.click()
    assert not preview(page).is_visible()
    assert page.url.endswith(link.get_attribute("href"))


def test_a_long_table_is_cut_and_says_so(reader: Reader) -> None:
    page = reader.open(PAGE)
    link = page.locator("article a.reference[href='#tab-law']").first
    link.evaluate("link => link.focus({ focusVisible: true })")
    assert preview(page).locator("tbody tr").count() == 8
    assert preview(page).locator("p").last.inner_text() == "… and 13 more rows."
    assert page.locator("#tab-law tbody tr").count() == 21


def test_it_works_from_a_disk(site: Path, browser: Any) -> None:
    page = browser.new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto((site / SHORT).as_uri())
    link_to(page, "fig").hover()
    preview(page).wait_for(state="visible", timeout=5000)
    assert all(url.startswith(("file:", "data:")) for url in asked)
    page.emulate_media(media="print")
    assert not preview(page).is_visible()
    page.close()
