"""The rendered site in a real browser: fixtures for the tests that read it there."""

import functools
import gzip
import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from xsquared_book.project import Project
from xsquared_book.proofs import run_proofs
from xsquared_book.render import render

PROJECT = Project(Path(__file__).parents[1])
HERE = Path(__file__).parent / "book"
#: Served beside the site: a file that the browser has seen is not compiled again for each page.
AXE = HERE / "axe" / "axe.min.js"
#: What a host of pages compresses.
TEXT = ("text/", "image/svg")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")

#: What a test that opens a page is marked with.
IN_BROWSER = [
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


@functools.cache
def served(path: Path, kind: str) -> bytes:
    """A file as it goes over the line."""
    return gzip.compress(path.read_bytes(), 6) if kind.startswith(TEXT) else path.read_bytes()


class Handler(SimpleHTTPRequestHandler):
    """Serves files as a host of pages does, text compressed; without a line per request."""

    # One connection for many files: each has a port, and too many leave kernels none.
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: Any) -> None:
        pass

    def translate_path(self, path: str) -> str:
        return str(AXE) if path == f"/{AXE.name}" else super().translate_path(path)

    def do_GET(self) -> None:
        path = Path(self.translate_path(self.path))
        if not path.is_file():
            self.send_error(404)
            return
        kind = self.guess_type(path)
        if late := path.name == "tex-chtml.js":  # after the text, so that what it moves is seen
            time.sleep(0.2)
        self.send_response(200)
        body = served(path, kind)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store" if late else "max-age=600")
        if kind.startswith(TEXT):
            self.send_header("Content-Encoding", "gzip")
        self.end_headers()
        self.wfile.write(body)


@contextmanager
def serving(site: Path, handler: type[Handler] = Handler) -> Iterator[str]:
    """The address of the site on loopback."""
    with ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(handler, directory=site)
    ) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.fixture(scope="session")
def address(site: Path) -> Iterator[str]:
    """The site on loopback."""
    with serving(site) as address:
        yield address


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Chromium that looks for nothing outside, and would find nothing."""
    from playwright.sync_api import sync_playwright

    flags = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"]
    flags += ["--disable-background-networking", "--disable-component-update", "--disable-sync"]
    flags += ["--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"]
    # What axe-core looks at is garbage soon: megabytes at a time cost less than many small rounds.
    flags += ["--js-flags=--min-semi-space-size=64"]
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=flags)
        yield chromium
        chromium.close()


@dataclass
class Reader:
    """One tab that is led from page to page, with what it asked for and complained of."""

    page: Any
    address: str
    outside: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.page.context.add_init_script(path=HERE / "probes.js")
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("requestfailed", lambda request: self.complaints.append(request.url))
        self.page.on("request", self._note)
        self.page.on("console", self._listen)

    def _note(self, request: Any) -> None:
        if not request.url.startswith((self.address, "data:", "blob:", "file:")):
            self.outside.append(request.url)

    def _listen(self, message: Any) -> None:
        if message.type == "error":
            self.complaints.append(message.text)

    def open(self, name: str, width: int = 1280, theme: str = "light") -> Any:
        """Load a page and wait until its formulas are set."""
        self.page.goto("about:blank")  # what the last page was still loading fails here
        self.outside, self.complaints = [], []
        self.look(width, theme)
        self.page.goto(f"{self.address}/{name}", wait_until="load")
        self.page.evaluate("probe.ready()")
        return self.page

    def look(self, width: int, theme: str) -> None:
        """Change the window and the theme."""
        self.page.set_viewport_size({"width": width, "height": 844})
        self.page.emulate_media(color_scheme=theme, reduced_motion="reduce")

    def judge(self, rules: list[str], part: str = "html") -> list[list[str]]:
        """What axe-core finds in a part of the page: rule, place, and what is amiss."""
        self.page.evaluate("probe.ready()")
        if not self.page.evaluate("'axe' in window"):
            self.page.add_script_tag(url=f"/{AXE.name}")
        return self.page.evaluate("([rules, part]) => probe.axe(rules, part)", [rules, part])


@pytest.fixture(scope="session")
def reader(browser: Any, address: str) -> Reader:
    return Reader(browser.new_page(), address)
