"""The rendered site in a real browser: fixtures for the tests that read it there."""

import fcntl
import functools
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from xsquared.book.project import Project

PROJECT = Project(Path(__file__).parents[1])
AXE = Path(__file__).parent / "book" / "axe" / "axe.min.js"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
#: What a test that opens a page is marked with.
IN_BROWSER = [
    pytest.mark.browser,
    pytest.mark.skipif(
        CHROMIUM is None, reason="no chromium on this machine: site not tested"
    ),
]


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the site of a checkout with an address, once for all processes."""
    folder = tmp_path_factory.getbasetemp()
    folder = folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder
    copy = folder / "checkout"
    products = shutil.ignore_patterns(".*", "_build", "build", "*.pyc")
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not copy.exists():
            shutil.copytree(PROJECT.root, copy, ignore=products)
            downloads = PROJECT.root / "_build" / "live"
            if downloads.is_dir():
                shutil.copytree(downloads, copy / "_build" / "live")
            config = copy / "_config.yml"
            address = "url: https://github.com/a/b"
            config.write_text(re.sub('url: ".*?"', address, config.read_text()))
            (copy / ".pytest_cache").mkdir()
            (copy / ".pytest_cache/README.md").write_text(
                "# What a run of the tests leaves\n"
            )
            command = [
                str(Path(sys.executable).with_name("jupyter-book")),
                "build",
                ".",
                "-Wnq",
            ]
            built = subprocess.run(
                command, cwd=copy, capture_output=True, text=True, check=False
            )
            assert built.returncode == 0, built.stderr[-3000:]
    return copy / "_build" / "html"


class Handler(SimpleHTTPRequestHandler):
    """Serves files without a line per request."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture(scope="session")
def address(site: Path) -> Iterator[str]:
    """The site on loopback."""
    handler = functools.partial(Handler, directory=site)
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@dataclass
class Reader:
    """One tab that is led from page to page; what it asked for and complained of."""

    page: Any
    address: str
    outside: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on(
            "requestfailed", lambda request: self.complaints.append(request.url)
        )
        self.page.on("request", self._note)

    def _note(self, request: Any) -> None:
        if not request.url.startswith((self.address, "data:", "blob:", "file:")):
            self.outside.append(request.url)

    def open(self, name: str, width: int = 1280, theme: str = "light") -> Any:
        """Load a page and wait until its formulas are set."""
        self.page.goto("about:blank")  # what the last page was still loading fails here
        self.outside, self.complaints = [], []
        self.look(width, theme)
        self.page.goto(f"{self.address}/{name}", wait_until="load")
        self.page.evaluate("window.MathJax?.startup?.promise.then(() => null)")
        self.page.wait_for_timeout(150)
        return self.page

    def look(self, width: int, theme: str) -> None:
        """Change the window and the theme."""
        self.page.set_viewport_size({"width": width, "height": 844})
        self.page.emulate_media(color_scheme=theme, reduced_motion="reduce")
