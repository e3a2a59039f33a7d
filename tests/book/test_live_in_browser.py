"""Derivations in a browser: the page of 120 and 945/2 runs, and is changed."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.site_in_browser import AXE, IN_BROWSER

pytestmark = [*IN_BROWSER, pytest.mark.slow]

PAGE = "book/chapters/A_derivations_gated.html"
#: Python starts, or a page runs to its end, in milliseconds.
PATIENCE = 500_000
ENDED = "text => document.querySelector('[role=status]').innerText.includes(text)"
CHANGE = "(input, [old, new_]) => input.textContent = "
CHANGE += "input.textContent.replace(old, new_)"


@pytest.fixture
def page(site: Path, browser: Any) -> Iterator[Any]:
    if not (site / "live").is_dir():
        pytest.skip("without npm or the network pages have no button")
    opened = browser.new_page(viewport={"width": 390, "height": 844})
    yield opened
    opened.close()


@pytest.mark.timeout(1200)
def test_a_page_runs_to_its_end_and_a_changed_line_is_marked(
    page: Any, address: str
) -> None:
    asked = list[str]()
    page.on("request", lambda request: asked.append(request.url))
    page.goto(f"{address}/{PAGE}")
    assert not any("pyodide" in url for url in asked), "sent before the click"
    page.get_by_role("button", name="Run this page").click()
    page.wait_for_function(ENDED, arg=" as committed", timeout=PATIENCE)
    assert "All 60 outputs as committed" in page.get_by_role("status").inner_text()
    assert any("pyodide" in url for url in asked)
    own = (address, f"blob:{address}")
    assert [url for url in asked if not url.startswith(own)] == []

    cell = page.locator(".cell", has_text="limit = sp.limit(rms.subs(h, 3 / (P - 1))")
    cell.get_by_role("textbox").press("Home")
    cell.get_by_role("textbox").press("/")
    assert cell.get_by_role("textbox").inner_text().startswith("/")
    cell.get_by_role("textbox").press("Backspace")
    cell.get_by_role("textbox").evaluate(CHANGE, ["sqrt(120)", "sqrt(121)"])
    cell.get_by_role("textbox").press("Shift+Enter")
    page.wait_for_function(ENDED, arg="not as committed", timeout=PATIENCE)
    assert "1 of 62 cells" in page.get_by_role("status").inner_text()
    assert "ValueError: expected zeros" in cell.locator(".live-output").inner_text()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.add_script_tag(path=AXE)
    for theme in ("light", "dark"):
        page.emulate_media(color_scheme=theme)
        page.wait_for_timeout(300)
        broken = page.evaluate("axe.run('.bd-article').then(f => f.violations)")
        assert [rule["id"] for rule in broken] == []


def test_a_page_on_a_disk_has_no_button(site: Path, page: Any) -> None:
    page.goto((site / PAGE).as_uri())
    assert page.get_by_role("button", name="Run this page").count() == 0
