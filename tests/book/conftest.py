"""What the tests of the book share: a small project, one build, one browser."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.site_in_browser import CHROMIUM, Reader, address, site
from tests.small_project import small_project

__all__ = ["address", "site", "small_project"]


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Chromium that looks for nothing outside, and would find nothing."""
    from playwright.sync_api import sync_playwright

    flags = [
        "--no-sandbox",
        "--disable-gpu",
        "--disable-quic",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--no-first-run",
    ]
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=flags)
        yield chromium
        chromium.close()


@pytest.fixture(scope="session")
def reader(browser: Any, address: str) -> Reader:
    return Reader(browser.new_page(), address)
