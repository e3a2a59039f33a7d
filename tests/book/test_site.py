"""The rendered site in a real browser: complete with the network off, in both themes, on a
phone."""

from __future__ import annotations

import functools
import shutil
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from xsquared.book.project import Project
from xsquared.book.proofs import run_proofs
from xsquared.book.render import render

PROJECT = Project(Path(__file__).parents[2])
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
CHAPTERS = [f"chapters/{source.stem}" for source in PROJECT.sources()]
PAGES = ["index", *sorted(path.stem for path in PROJECT.book.glob("*.md") if path.stem != "index")]

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine: site not tested"),
]


def newest_input() -> float:
    """Time of the last change to what the site is made from."""
    folders = (PROJECT.book, PROJECT.root / "src")
    files = [path for folder in folders for path in folder.rglob("*") if path.suffix != ".pyc"]
    files += [PROJECT.proofs, *PROJECT.root.glob("_*.yml")]
    return max(path.stat().st_mtime for path in files if path.is_file())


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site: that of the last build, or, where anything is newer than it, a new one."""
    if not PROJECT.proofs.is_file():
        run_proofs(PROJECT)
    index = PROJECT.html / "index.html"
    if index.is_file() and index.stat().st_mtime > newest_input():
        return PROJECT.html
    return render(PROJECT, tmp_path_factory.mktemp("site"))


class QuietHandler(SimpleHTTPRequestHandler):
    """Serves files without a line per request."""

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture(scope="session")
def address(site: Path) -> Iterator[str]:
    """The site on loopback."""
    handler = functools.partial(QuietHandler, directory=str(site))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Chromium that looks for nothing outside."""
    from playwright.sync_api import sync_playwright

    flags = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"]
    flags += ["--disable-background-networking", "--disable-component-update", "--disable-sync"]
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=flags)
        yield chromium
        chromium.close()


class Visit:
    """One page in one context, with what it asked for and complained of."""

    def __init__(self, browser: Any, address: str, **context: Any) -> None:
        self.address = address
        self.outside: list[str] = []
        self.complaints: list[str] = []
        self.context = browser.new_context(**context)
        self.page = self.context.new_page()
        self.page.route("**/*", self._guard)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("console", self._listen)
        self.page.on("requestfailed", lambda request: self.complaints.append(request.url))

    def _guard(self, route: Any) -> None:
        if route.request.url.startswith((self.address, "data:", "blob:")):
            route.continue_()
        else:
            self.outside.append(route.request.url)
            route.abort()

    def _listen(self, message: Any) -> None:
        if message.type == "error":
            self.complaints.append(message.text)

    def open(self, name: str, until: str = "load") -> Any:
        """Load a page and wait until its formulas are set."""
        response = self.page.goto(f"{self.address}/{name}.html", wait_until=until)
        assert response.ok
        self.page.evaluate("() => window.MathJax?.startup?.promise")
        return self.page

    def __enter__(self) -> Visit:
        return self

    def __exit__(self, *_: object) -> None:
        self.context.close()


@pytest.mark.parametrize("name", [*CHAPTERS, *PAGES])
def test_page_is_complete_without_the_network(browser: Any, address: str, name: str) -> None:
    with Visit(browser, address) as visit:
        page = visit.open(name, until="networkidle")
        assert visit.outside == [], "requests that left the machine"
        assert visit.complaints == [], "console errors"
        raw = page.evaluate("() => [...document.querySelectorAll('.math')].length")
        rendered = page.evaluate("() => document.querySelectorAll('mjx-container').length")
        assert page.locator("mjx-merror").count() == 0
        if name in CHAPTERS:
            assert rendered > 5
        if raw:
            assert rendered >= raw
            # The first that shows: formulas of headings stand in a list for print, too.
            width = page.locator("mjx-container:visible").first.bounding_box()
            assert width is not None
            assert width["width"] > 2
        broken = page.evaluate(
            "() => [...document.images].filter(i => i.complete && !i.naturalWidth).map(i => i.src)"
        )
        assert broken == []
        missing = page.evaluate(
            "() => [...document.images].filter(i => !i.alt.trim()).map(i => i.src)"
        )
        assert missing == [], "pictures without alt text"


@pytest.mark.parametrize("name", [*CHAPTERS, *PAGES])
def test_page_fits_a_phone_in_both_themes(browser: Any, address: str, name: str) -> None:
    with Visit(browser, address, viewport={"width": 390, "height": 844}) as visit:
        page = visit.open(name)
        for theme in ("light", "dark"):
            page.emulate_media(color_scheme=theme)
            page.wait_for_function(f"() => document.documentElement.dataset.theme == '{theme}'")
            assert page.evaluate("() => document.documentElement.scrollWidth") <= 390


CONTRAST = """
() => {
  const parse = c => c.match(/[\\d.]+/g).map(Number);
  const light = c => c.slice(0, 3).map(v => v / 255)
    .map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const ground = e => {
    const c = parse(getComputedStyle(e).backgroundColor);
    return c.length === 3 || c[3] > 0 || !e.parentElement ? c : ground(e.parentElement);
  };
  return [...document.querySelectorAll('.proof, .xs-table .holds, .xs-table .fails')].map(e => {
    const [a, b] = [light(parse(getComputedStyle(e).color)), light(ground(e))];
    return [(Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05), e.textContent];
  });
}
"""


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("name", CHAPTERS)
def test_marks_and_verdicts_can_be_read(browser: Any, address: str, name: str, theme: str) -> None:
    with Visit(browser, address, color_scheme=theme) as visit:
        found = visit.open(name).evaluate(CONTRAST)
        assert found
        assert [text for contrast, text in found if contrast < 4.5] == []


def test_theme_button_changes_the_theme(browser: Any, address: str) -> None:
    with Visit(browser, address, color_scheme="light") as visit:
        page = visit.open("index")
        theme = "() => document.documentElement.dataset.theme"
        seen = [page.evaluate(theme)]
        for _ in range(3):  # automatic, light and dark, in the theme's own order
            page.locator("button.theme-switch-button").first.click()
            seen.append(page.evaluate(theme))
        assert set(seen) == {"light", "dark"}
        assert visit.complaints == []


def test_icons_are_drawn_from_a_local_font(browser: Any, address: str) -> None:
    with Visit(browser, address) as visit:
        page = visit.open("index")
        families = page.evaluate(
            "async () => { await document.fonts.ready; return [...document.fonts]"
            ".filter(f => f.status === 'loaded').map(f => f.family) }"
        )
        assert any("Font Awesome" in family for family in families)


def test_search_finds_truncation(browser: Any, address: str) -> None:
    with Visit(browser, address) as visit:
        page = visit.page
        page.goto(f"{address}/search.html?q=truncation", wait_until="networkidle")
        page.wait_for_selector("#search-results li a")
        links = page.locator("#search-results li a").evaluate_all("a => a.map(e => e.href)")
        assert any("02_truncation_errors" in link for link in links)
        assert visit.outside == []
        assert visit.complaints == []


def test_marks_stand_beside_the_equations(site: Path) -> None:
    text = (site / "chapters" / "02_truncation_errors.html").read_text()
    assert text.count('class="proof proof-') >= 10
    assert "holds as printed" in text
    assert "not as printed" in text
